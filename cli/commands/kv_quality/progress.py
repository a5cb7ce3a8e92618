"""Which cache is being tried, on a line of stderr that is gone when the answer comes."""

from typing import Self

from glasscli.cli.models import Bar


class Tried(Bar):
    """Shown on a terminal, while its block lasts, if that is more than a second."""

    _said = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.over()

    def say(self, text: str) -> None:
        """Say this, which is ASCII, in place of what was said before."""
        self._said = text
        self.moved("caches", 0, None)

    def _line(self, width: int, blocks: bool) -> str:
        return self._said[:width]
