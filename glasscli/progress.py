"""How long work tells how far it is. Nothing here shows anything: a program or a notebook does."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Progress:
    """Gets told how far long work is. This one keeps it to itself: override what is wanted."""

    def moved(self, what: str, done: int, total: int | None) -> None:
        """`done` bytes of `what` are there; `total` is None where nobody knows how many there will be."""

    def counted(self, what: str, done: int, total: int) -> None:
        """`done` of `total` pieces of work on `what` are done."""

    def over(self) -> None:
        """What was last told of has ended, well or not."""

    def note(self, text: str) -> None:
        """Something worth telling that is no error."""


def told(items: Sequence[Item], what: str, progress: Progress | None) -> Iterator[Item]:
    """The items, one after the other; `progress` hears how many are done."""
    progress = progress or Progress()
    for done, item in enumerate(items):
        progress.counted(what, done, len(items))
        yield item
    progress.over()
