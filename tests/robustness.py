"""Try to break the program, at random: `make robustness`, or `python tests/robustness.py --help`.

Changed model folders and GGUF files, odd arguments, signals at random moments, many runs at once. What must hold each
time is in `robust/judge.py`. Prints a table; the exit code is 1 if anything was found. The same seed tries the same
things, except for the moments of signals. Should the program take this process down with it, the file `last` in the
folder that is printed first holds what it was asked.
"""

import argparse
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from random import Random

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

from robust.arguments import try_arguments
from robust.files import try_files
from robust.headers import try_headers
from robust.inside import Inside
from robust.signals import try_signals
from robust.tally import table
from robust.together import try_together

MOST_BYTES = 3 * 1024**3  # of address space: none of the models or texts here needs near that much


def main() -> int:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="what is tried [1]")
    parser.add_argument("--files", type=int, default=2000, help="changed model folders [2000]")
    parser.add_argument("--headers", type=int, default=2000, help="changed GGUF files [2000]")
    parser.add_argument("--arguments", type=int, default=2000, help="odd command lines [2000]")
    parser.add_argument("--signals", type=int, default=200, help="runs that get a signal [200]")
    parser.add_argument("--together", type=int, default=4, help="rounds of eight runs at once, of each kind [4]")
    asked = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGHUP):  # a shell may have started this with them ignored
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    began = time.monotonic()
    base = Path(tempfile.mkdtemp(prefix="glass-robustness-"))
    (base / "in").mkdir()
    print(f"working in {base}", file=sys.stderr)
    with closing(Inside(base / "in")) as inside:
        tallies = [
            try_files(inside, Random(f"files {asked.seed}"), asked.files),
            try_headers(base, Random(f"headers {asked.seed}"), asked.headers),
            try_arguments(inside, Random(f"arguments {asked.seed}"), asked.arguments),
            try_signals(base, Random(f"signals {asked.seed}"), asked.signals),
            try_together(base, asked.together),
        ]
    print(table(tallies))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nseed {asked.seed}, {time.monotonic() - began:.0f} s, at most {peak:,.0f} MiB of memory in this process")
    if any(tally.found for tally in tallies):
        print(f"What was found is in {base}/found, if it was a model folder.")
        return 1
    shutil.rmtree(base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
