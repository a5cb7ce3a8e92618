"""What is being tried, on one line of stderr that is gone when the answer comes."""

from typing import Self

from glasscli.cli.console import write_in_place
from glasscli.cli.page.cells import crop
from glasscli.cli.page.page import Page


class Progress:
    """Shown on a terminal only, while its block lasts."""

    def __init__(self, quiet: bool) -> None:
        self.page = Page.of_stderr()
        self.shown = self.page.terminal and not quiet

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.say("")

    def say(self, text: str) -> None:
        """Say this in place of what was said before."""
        if self.shown:
            write_in_place(crop(self.page.safe(text), self.page.width - 1))
