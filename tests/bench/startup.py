"""How long until a whole process has shown something?

The best of several runs, which is the one that other programs disturbed least: on the clock, and in CPU time. A
child may write bytecode, as it may on any user's machine, so that only the first run, which does not count, compiles.
"""

import os
import resource
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from machine import ONE_THREAD
from tables import grid

ROUNDS = 15
GLASS = str(Path(sys.executable).parent / "glass")
NUMPY, TOKEN = 'python -c "import numpy"', 'glass generate "Once upon a time" -n 1'
TYPER, HELP = 'python -c "import typer"', "glass --help"
TAB = "glass kv-budget --engine <Tab>"
PROCESSES = {
    "python -c pass": [sys.executable, "-c", "pass"],
    NUMPY: [sys.executable, "-c", "import numpy"],
    TOKEN: [GLASS, "generate", "Once upon a time", "-n", "1"],
    TYPER: [sys.executable, "-c", "import typer"],
    HELP: [GLASS, "--help"],
    TAB: ["env", "_GLASS_COMPLETE=zsh", GLASS, "kv-budget", "--engine", ""],
}


def startup() -> str:
    """Milliseconds of each process, from its start to its end."""
    best = dict.fromkeys(PROCESSES, (float("inf"), float("inf")))
    for turn in range(ROUNDS + 1):
        for name, words in PROCESSES.items():
            clock, cpu = run(words)
            if turn:
                best[name] = min(best[name][0], clock), min(best[name][1], cpu)
    rows = [("", "ms", "CPU ms", "on the clock", "aim")]
    said = {
        TOKEN: (f"import numpy {(best[TOKEN][0] - best[NUMPY][0]) * 1e3:+.0f} ms", "≤ +60 ms"),
        HELP: (f"{best[HELP][0] / best[TYPER][0]:.2f} × import typer", "≤ 1.3 ×"),
        TAB: ("", "≤ 150 ms"),
    }
    for name, (clock, cpu) in best.items():
        rows.append((name, f"{clock * 1e3:.0f}", f"{cpu * 1e3:.0f}", *said.get(name, ("", ""))))
    return grid(f"whole processes: the best of {ROUNDS} interleaved runs", rows)


def run(words: list[str]) -> tuple[float, float]:
    """Seconds from start to end of one process, on the clock and of CPU, its output read through a pipe."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = cpu_of_children()
    started = perf_counter()
    subprocess.run(words, check=True, capture_output=True, stdin=subprocess.DEVNULL, env=environment | ONE_THREAD)
    return perf_counter() - started, cpu_of_children() - before


def cpu_of_children() -> float:
    """CPU seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
