"""`python -m weights.recipe CORPUS`: corpus folder in, model folder out. Stop and repeat at will."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer

from .average import average, begin_branch
from .card import Card
from .data import Corpus, read_stories
from .evaluate import HeldOut
from .export import choose_dtype, export, rounded, try_dtypes
from .heads import measure
from .model import Llama, Shape
from .settings import FIRST, SECOND, SHARES
from .tokenizer import load_or_train
from .train import BRANCH, Run

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

    first = Run(args.run / "first", FIRST.scaled(args.share), shape, compiled=not args.eager)
    first.train(corpus, held_out)
    begin_branch(args.run / "first", args.run / "second", SECOND.scaled(args.share))
    second = Run(args.run / "second", SECOND.scaled(args.share), shape, compiled=not args.eager)
    second.train(corpus, held_out)

    at = {"branch": first.path.with_name(BRANCH), "first": first.path, "second": second.path}
    model = average(shape, {at[name]: share for name, share in SHARES.items()})
    card = Card([first, second], [len(some) for some in stories])
    finish(model, card, held_out, val, tokenizer, args.out)


def finish(model: Llama, card: Card, held_out: HeldOut, val: Sequence[str], tokenizer: Tokenizer, folder: Path) -> None:
    """Round, write, measure what was written, and describe it."""
    trials = try_dtypes(model, val[:50], tokenizer)
    dtype = choose_dtype(trials)
    sha256 = export(model, tokenizer, folder, dtype)
    shipped = rounded(model, dtype)
    score = held_out.score(shipped)
    print(f"{folder}: {dtype}, {score.nats_per_token:.4f} nats/token, {score.bits_per_byte:.4f} bits/byte held out")
    card.write(folder, score, measure(shipped, val, tokenizer), trials, dtype, sha256)


if __name__ == "__main__":
    main()
