"""How long work tells how far it is. Nothing here shows anything: a program or a notebook does."""


class Progress:
    """Gets told how far a download or a load is. This one keeps it to itself: override what is wanted."""

    def moved(self, what: str, done: int, total: int | None) -> None:
        """`done` bytes of `what` are there; `total` is None where nobody knows how many there will be."""

    def over(self) -> None:
        """What was last told of has ended, well or not."""

    def note(self, text: str) -> None:
        """Something worth telling that is no error."""
