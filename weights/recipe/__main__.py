"""`python -m weights.recipe CORPUS`: corpus folder in, model folder out. Stop and repeat at will."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer

from .average import average, go_on
from .card import Card
from .data import Corpus, read_stories
from .evaluate import HeldOut
from .export import choose_dtype, export, rounded, try_dtypes
from .heads import measure
from .model import Llama, Shape
from .settings import CONSTANT, DECAY, EARLIER_SHARE, POLISH, POLISH_SHARE
from .tokenizer import load_or_train
from .train import Run

MODEL_FOLDER = Path(__file__).parents[1] / "glass-1m"
FILES = ("train.txt", "val.txt", "extra_fables_permissive.txt")


def parse() -> argparse.Namespace:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(prog="python -m weights.recipe", description=__doc__)
    parser.add_argument("corpus", type=Path, help=f"folder with {', '.join(FILES)}")
    parser.add_argument("--run", type=Path, default=cache / "glass-recipe", help="folder for checkpoints (%(default)s)")
    parser.add_argument("--out", type=Path, default=MODEL_FOLDER, help="folder for the model (%(default)s)")
    parser.add_argument("--share", type=float, default=1.0, help="train on this share of the tokens, to try it out")
    parser.add_argument("--threads", type=int, default=2, help="the last digits of the result depend on it")
    parser.add_argument(
        "--eager", action="store_true", help="do without a C++ compiler, at three quarters of the speed"
    )
    return parser.parse_args()


def main() -> None:
    args = parse()
    torch.set_num_threads(args.threads)
    args.run.mkdir(parents=True, exist_ok=True)
    stories = [read_stories(args.corpus / name) for name in FILES]
    train, val, extra = stories
    shape = Shape()
    tokenizer = load_or_train(args.run / "tokenizer.json", train, shape.vocab_size)
    held_out = HeldOut(val, tokenizer)
    corpus = Corpus(train, extra, tokenizer)

    before, after = args.run / "constant", args.run / "decay"
    constant = Run(before, CONSTANT.scaled(args.share), shape, compiled=not args.eager)
    constant.train(corpus, held_out)
    go_on(constant.path, after / constant.path.name, DECAY.scaled(args.share))
    decay = Run(after, DECAY.scaled(args.share), shape, compiled=not args.eager)
    decay.train(corpus, held_out)

    mean = average(shape, {constant.path: EARLIER_SHARE, decay.path: 1 - EARLIER_SHARE})
    mean_score = held_out.score(mean)
    polish = Run(args.run / "polish", POLISH.scaled(args.share), shape, compiled=not args.eager)
    if polish.progress.step == 0:
        polish.model.load_state_dict(mean.state_dict())
    polish.train(corpus, held_out)
    kept = 1 - POLISH_SHARE
    shares = {constant.path: kept * EARLIER_SHARE, decay.path: kept * (1 - EARLIER_SHARE), polish.path: POLISH_SHARE}
    card = Card(constant.settings, decay.settings, decay.progress, mean_score, [len(some) for some in stories])
    finish(average(shape, shares), card, held_out, val, tokenizer, args.out)


def finish(model: Llama, card: Card, held_out: HeldOut, val: Sequence[str], tokenizer: Tokenizer, folder: Path) -> None:
    """Round, write, measure what was written, and describe it."""
    trials = try_dtypes(model, val[:50], tokenizer)
    dtype = choose_dtype(trials)
    sha256 = export(model, tokenizer, folder, dtype)
    shipped = rounded(model, dtype)
    score = held_out.score(shipped)
    print(f"{folder}: {dtype}, {score.nats_per_token:.4f} nats/token, {score.bits_per_byte:.4f} bits/byte held out")
    other_half = HeldOut(val[1::2], tokenizer).score(shipped)
    card.write(folder, score, other_half, measure(shipped, val, tokenizer), trials, dtype, sha256)


if __name__ == "__main__":
    main()
