"""How far several prompts are: a line on a terminal's stderr, from the second second on, gone when a text is shown."""

import sys
import time

from glasscli.cli.console import is_terminal, width, write_raw_stderr
from glasscli.generation.batch import Batch

PATIENCE, BREATH = 1.0, 0.1  # seconds: before the line is shown, between two of its states


class PromptsLine:
    """Tells how many prompts are done and how many tokens there are."""

    def __init__(self, batch: Batch, quiet: bool) -> None:
        self._batch = batch
        self._silent = quiet or not is_terminal(sys.stderr)
        self._begun = self._last = time.monotonic()
        self._shown = self._n_tokens = 0

    def step(self) -> None:
        """One token more."""
        self._n_tokens += 1
        now = time.monotonic()
        if self._silent or now - self._begun < PATIENCE or now - self._last < BREATH:
            return
        self._last = now
        n_done = sum(run.finish_reason is not None for run in self._batch.runs)
        line = f"{n_done:,} of {len(self._batch.runs):,} prompts done, {self._n_tokens:,} tokens"[
            : None if self._n_tokens > 1 else -1
        ]
        line = line[: width(sys.stderr) - 1]
        write_raw_stderr("\r" + line.ljust(self._shown))
        self._shown = len(line)

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            write_raw_stderr("\r" + " " * self._shown + "\r")
            self._shown = 0
