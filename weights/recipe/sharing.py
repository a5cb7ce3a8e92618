"""What sharing key-value heads costs: the same recipe, text, tokens and seed with 4, 2 and 1 of them.

Each is a model trained that way from its first step, which is what a paper's "costs next to nothing" is about; heads
merged in a finished model are another matter.
"""

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from glasscli import SamplingParams, generate, load_model

from .data import Corpus
from .evaluate import HeldOut
from .export import export
from .model import Shape
from .settings import DECAY
from .two_parts import train_both

TABLE = Path(__file__).parents[1] / "kv-heads.json"  # beside the weights: glass shows it
KV_HEADS = (4, 2, 1)
TOKENS = 50_000_000
GREEDY = SamplingParams(temperature=0.0)


def compare_kv_heads(corpus: Corpus, held_out: HeldOut, tokenizer: Tokenizer, folder: Path, compiled: bool) -> None:
    """Train, measure, and write `kv-heads.json`, which the card makes a table of. Goes on where it was stopped."""
    rows: list[dict[str, Any]] = []
    folders: list[Path] = []
    for n_kv_heads in KV_HEADS:
        shape = replace(Shape(), n_kv_heads=n_kv_heads)
        part = folder / f"kv-heads-{n_kv_heads}"
        share = TOKENS / DECAY.total_tokens
        _, run = train_both(corpus, held_out, part, shape, share=share, compiled=compiled)
        score = held_out.score(run.model)
        folders.append(part / "model")
        export(run.model, tokenizer, folders[-1], "float32")
        rows.append(
            {
                "n_kv_heads": n_kv_heads,
                "n_parameters": sum(param.numel() for param in run.model.parameters()),
                "tokens": run.progress.tokens,
                "nats_per_token": score.nats_per_token,
                "bits_per_byte": score.bits_per_byte,
                "cache_bytes_per_token": 2 * shape.n_layers * n_kv_heads * shape.head_dim * 2,  # float16
                "curve": [[point["tokens"], point["val_bits_per_byte"]] for point in run.progress.curve],
            }
        )
    for row, speed in zip(rows, decode_speeds(folders), strict=True):
        row["decode_tokens_per_s"] = speed
    TABLE.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def decode_speeds(folders: Sequence[Path], n_rounds: int = 25, n_tokens: int = 400) -> list[float]:
    """Tokens a second of glass, one after the other through its cache: medians over rounds that take turns."""
    models = [load_model(folder) for folder in folders]
    times: list[list[float]] = [[] for _ in models]
    for _ in range(n_rounds):
        for model, found in zip(models, times, strict=True):
            steps = generate(model, "Once upon a time", max_new_tokens=n_tokens, params=GREEDY, ignore_eos=True)
            next(steps)
            start = time.perf_counter()
            n_steps = sum(1 for _ in steps)
            found.append(n_steps / (time.perf_counter() - start))
    return [statistics.median(found) for found in times]
