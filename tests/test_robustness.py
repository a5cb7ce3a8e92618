"""A small round of `make robustness`, so that its script keeps working and finds nothing."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "robustness.py"


def test_a_small_round_finds_nothing(tmp_path: Path) -> None:
    counts = ["--files", "60", "--headers", "20", "--arguments", "80", "--signals", "8", "--together", "0"]
    done = subprocess.run([sys.executable, SCRIPT, *counts], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = dict(line.rsplit(maxsplit=2)[::2] for line in done.stdout.splitlines() if line[:1].isalpha())
    assert figures["changed model folders"] == "0"
