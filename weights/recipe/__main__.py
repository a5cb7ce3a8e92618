"""`python -m weights.recipe CORPUS`: corpus folder in, model folder out. Stop and repeat at will."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer

from .average import tail_mean
from .card import Card
from .data import Corpus, read_stories
from .evaluate import HeldOut
from .export import choose_dtype, export, rounded, try_dtypes
from .heads import measure
from .model import Llama, Shape
from .settings import POINTS
from .sharing import compare_kv_heads
from .stories import write_stories
from .tokenizer import load_or_train
from .train import Run
from .two_parts import train_both

MODEL_FOLDER = Path(__file__).parents[1] / "glass-1m"


@dataclass(frozen=True)
class Texts:
    """The stories of a corpus folder: to train on, to watch the run by, and to look at once, at the end."""

    train: Sequence[str]
    val: Sequence[str]
    last: Sequence[str]

    @classmethod
    def read(cls, folder: Path) -> "Texts":
        return cls(*(read_stories(folder / name) for name in ("train.txt", "val.txt", "val2.txt")))


def parse() -> argparse.Namespace:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(prog="python -m weights.recipe", description=__doc__)
    parser.add_argument("corpus", type=Path, help="folder with train.txt, val.txt, val2.txt")
    parser.add_argument("--run", type=Path, default=cache / "glass-recipe", help="folder for checkpoints (%(default)s)")
    parser.add_argument("--out", type=Path, default=MODEL_FOLDER, help="folder for the model (%(default)s)")
    parser.add_argument(
        "--tokenizer", type=Path, default=MODEL_FOLDER / "tokenizer.json", help="learnt here if there is none yet"
    )
    parser.add_argument("--share", type=float, default=1.0, help="train on this share of the tokens, to try it out")
    parser.add_argument("--threads", type=int, default=1, help="the last digits of the result depend on it")
    parser.add_argument("--eager", action="store_true", help="do without a C++ compiler, more slowly")
    parser.add_argument("--remark", default="", help="what the card should say of this run beside its numbers")
    parser.add_argument(
        "--kv-heads", action="store_true", help="instead: what 4, 2 and 1 KV heads cost, trained alike on fewer tokens"
    )
    return parser.parse_args()


def main() -> None:
    args = parse()
    torch.set_num_threads(args.threads)
    args.run.mkdir(parents=True, exist_ok=True)
    texts = Texts.read(args.corpus)
    shape = Shape()
    tokenizer = load_or_train(args.tokenizer, texts.train, shape.vocab_size)
    tokenizer.no_padding()
    held_out = HeldOut(texts.val, tokenizer)
    corpus = Corpus(texts.train, tokenizer)
    if args.kv_heads:
        compare_kv_heads(corpus, held_out, tokenizer, args.run, compiled=not args.eager)
        return
    points = [int(tokens * args.share) for tokens in POINTS]
    constant, decay = train_both(corpus, held_out, args.run, shape, points, share=args.share, compiled=not args.eager)
    mean = tail_mean(shape, [decay.point(tokens) for tokens in points], decay.path)
    finish(mean, constant, decay, texts, held_out, tokenizer, args.out, args.remark)


def finish(
    mean: Llama,
    constant: Run,
    decay: Run,
    texts: Texts,
    held_out: HeldOut,
    tokenizer: Tokenizer,
    folder: Path,
    remark: str,
) -> None:
    """Round, write, measure what was written, and describe it."""
    trials = try_dtypes(mean, texts.val[:50], tokenizer)
    dtype = choose_dtype(trials)
    sha256 = export(mean, tokenizer, folder, dtype)
    shipped = rounded(mean, dtype)
    card = Card(
        constant=constant.settings,
        decay=decay.settings,
        progress=decay.progress,
        decayed=held_out.score(decay.model),
        watched=held_out.score(shipped),
        last=HeldOut(texts.last, tokenizer).score(shipped),
        n_stories=(len(texts.train), len(texts.val), len(texts.last)),
        heads=measure(shipped, texts.val, tokenizer),
        trials=trials,
        dtype=dtype,
        sha256=sha256,
        stories=write_stories(folder, texts.train),
        remark=remark,
    )
    card.write(folder)
    for name, score in (("val.txt", card.watched), ("val2.txt", card.last)):
        print(f"{folder}: {dtype}, {name} {score.nats_per_token:.4f} nats/token, {score.bits_per_byte:.4f} bits/byte")


if __name__ == "__main__":
    main()
