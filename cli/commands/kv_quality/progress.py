"""Which cache is being tried, on one line of stderr that is gone when the answer comes."""

from glasscli.cli.console import write_in_place
from glasscli.cli.page.cells import crop
from glasscli.cli.page.page import Page


class Progress:
    """Shown on a terminal only."""

    def __init__(self, total: int, quiet: bool) -> None:
        self.total, self.done, self.page = total, 0, Page.of_stderr()
        self.shown = self.page.terminal and not quiet
        self.text = ""

    def at(self, text: str) -> None:
        """The next cache is tried."""
        self.done += 1
        self.text = f"{self.done} of {self.total}  {text}"
        self._write(self.text)

    def part(self, done: int, total: int) -> None:
        """So many of its parts are done."""
        self._write(f"{self.text}  part {done} of {total}")

    def clear(self) -> None:
        """Take the line away."""
        self._write("")

    def _write(self, text: str) -> None:
        if self.shown:
            write_in_place(crop(self.page.safe(text), self.page.width - 1))
