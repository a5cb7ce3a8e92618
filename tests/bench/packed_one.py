"""One process that loads a GGUF, reads a prompt and writes: `packed_one.py ENGINE FILE`, the ids as JSON on stdin.

Prints what it took as JSON: CPU seconds of loading, of reading all ids, and of a step behind them; peak memory.
"""

import json
import resource
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from timing import seconds

N_TOKENS = 32


def main() -> None:
    """Measure."""
    make = import_module(f"engines.{sys.argv[1]}").SINGLE[0]
    path, ids = Path(sys.argv[2]), json.load(sys.stdin)
    made: dict[str, Any] = {}
    load_s = seconds(lambda: made.update(engine=make(path, len(ids) + N_TOKENS)))
    engine = made["engine"]
    engine.step(engine.prefill(ids[:16]))  # the first use of every weight does not count
    tokens: list[int] = []
    prefill_s = seconds(lambda: tokens.append(engine.prefill(ids)))

    def write() -> None:
        while len(tokens) < N_TOKENS:
            tokens.append(engine.step(tokens[-1]))

    step_s = seconds(write) / (N_TOKENS - 1)
    found = {"name": engine.name, "load_s": load_s, "prefill_s": prefill_s, "step_s": step_s, "tokens": tokens}
    print(json.dumps(found | {"peak_bytes": peak_bytes()}))


def peak_bytes() -> int:
    """The most memory this process has held, files that it has mapped and read included."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:  # what a process was started from counts here
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024


if __name__ == "__main__":
    main()
