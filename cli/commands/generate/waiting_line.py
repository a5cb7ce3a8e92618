"""How far texts are that can't be shown yet: a line on a terminal's stderr, from the second second on, then gone."""

import sys
import time
from collections.abc import Sequence

from glasscli.cli.console import is_terminal, width, write_raw_stderr
from glasscli.generation.loop import Generation

PATIENCE, BREATH = 1.0, 0.1  # seconds: before the line is shown, between two of its states


class WaitingLine:
    """Tells how many texts are done and how many tokens there are."""

    def __init__(self, runs: Sequence[Generation], noun: str, wanted: bool) -> None:
        """`noun` is what several texts are called: prompts, samples."""
        self._runs, self._noun = runs, noun
        self._silent = not (wanted and is_terminal(sys.stderr))
        self._begun = self._last = time.monotonic()
        self._shown = self._n_tokens = 0

    def step(self) -> None:
        """One token more."""
        self._n_tokens += 1
        now = time.monotonic()
        if self._silent or now - self._begun < PATIENCE or now - self._last < BREATH:
            return
        self._last = now
        line = f"{self._n_tokens:,} token{'s' * (self._n_tokens > 1)}"
        if len(self._runs) > 1:
            n_done = sum(run.finish_reason is not None for run in self._runs)
            line = f"{n_done:,} of {len(self._runs):,} {self._noun} done, {line}"
        line = line[: width(sys.stderr) - 1]
        write_raw_stderr("\r" + line.ljust(self._shown))
        self._shown = len(line)

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            write_raw_stderr("\r" + " " * self._shown + "\r")
            self._shown = 0
