"""How long until a whole process has shown something?"""

import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from machine import ONE_THREAD
from tables import grid
from timing import take_turns

ROUNDS = 15
GLASS = str(Path(sys.executable).parent / "glass")
PROCESSES = {
    "python -c pass": [sys.executable, "-c", "pass"],
    'python -c "import numpy"': [sys.executable, "-c", "import numpy"],
    'glass generate "Once upon a time" -n 1': [GLASS, "generate", "Once upon a time", "-n", "1"],
    'python -c "import typer"': [sys.executable, "-c", "import typer"],
    "glass --help": [GLASS, "--help"],
    "glass kv-budget": [GLASS, "kv-budget"],
}


def startup() -> str:
    """The best of interleaved runs of each process, from its start to its end."""
    given = take_turns({name: lambda words=words: run(words) for name, words in PROCESSES.items()}, ROUNDS)
    best = {name: min(values) for name, values in given.items()}
    _, numpy, token, typer, help_, _ = best.values()
    notes = ["", "", f"import numpy {(token - numpy) * 1e3:+.0f} ms", "", f"{help_ / typer:.2f} × import typer", ""]
    aims = ["", "", "≤ +60 ms", "", "≤ 1.3 ×", ""]
    rows = [("", "ms", "that is", "aim")]
    rows += [
        (name, f"{s * 1e3:.0f}", said, aim) for (name, s), said, aim in zip(best.items(), notes, aims, strict=True)
    ]
    return grid(f"whole processes: the best of {ROUNDS} interleaved runs", rows)


def run(words: list[str]) -> float:
    """Seconds from start to end of one process, its output read through a pipe."""
    started = perf_counter()
    subprocess.run(words, check=True, capture_output=True, stdin=subprocess.DEVNULL, env={**os.environ, **ONE_THREAD})
    return perf_counter() - started
