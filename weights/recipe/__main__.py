"""`python -m weights.recipe CORPUS`: corpus folder in, model folder out. Stop and repeat at will."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer

from .card import write_card
from .data import Corpus, read_stories
from .evaluate import HeldOut
from .export import choose_dtype, export, rounded, try_dtypes
from .heads import measure
from .model import Shape
from .settings import Settings
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
    parser.add_argument("--decay-now", type=int, metavar="TOKENS", help="end the run over the next TOKENS tokens")
    parser.add_argument("--total", type=int, metavar="TOKENS", help="a shorter run than the shipped one")
    parser.add_argument("--export-only", action="store_true", help="export the last checkpoint, train no further")
    parser.add_argument("--no-card", action="store_true", help="write no model card")
    parser.add_argument("--threads", type=int, default=2, help="the last digits of the result depend on it")
    parser.add_argument(
        "--eager", action="store_true", help="do without a C++ compiler, at three quarters of the speed"
    )
    return parser.parse_args()


def main() -> None:
    args = parse()
    torch.set_num_threads(args.threads)
    args.run.mkdir(parents=True, exist_ok=True)
    train, val, extra = (read_stories(args.corpus / name) for name in FILES)
    shape, settings = Shape(), Settings.of_length(args.total) if args.total else Settings()
    tokenizer = load_or_train(args.run / "tokenizer.json", train, shape.vocab_size)
    held_out = HeldOut(val, tokenizer)
    run = Run(args.run, settings, shape, compiled=not args.eager)
    if args.decay_now:
        run.decay_now(args.decay_now)
    if not args.export_only:
        run.train(Corpus(train, extra, tokenizer, run.settings.batch_tokens), held_out)
    counts = (len(train), len(val), len(extra))
    finish(run, held_out, val, tokenizer, args.out, counts if not args.no_card else None)


def finish(
    run: Run,
    held_out: HeldOut,
    val: Sequence[str],
    tokenizer: Tokenizer,
    folder: Path,
    card_counts: tuple[int, int, int] | None,
) -> None:
    """Round, write, measure what was written, and describe it."""
    trials = try_dtypes(run.model, val[:50], tokenizer)
    dtype = choose_dtype(trials)
    sha256 = export(run.model, tokenizer, folder, dtype)
    shipped = rounded(run.model, dtype)
    score = held_out.score(shipped)
    print(f"{folder}: {dtype}, {score.nats_per_token:.4f} nats/token, {score.bits_per_byte:.4f} bits/byte held out")
    if card_counts is not None:
        heads = measure(shipped, val, tokenizer)
        write_card(folder, run.settings, run.progress, score, heads, trials, dtype, sha256, card_counts)


if __name__ == "__main__":
    main()
