"""One setting of an engine, and those that several engines have."""

from collections.abc import Callable
from typing import Any, NamedTuple

from glasscli.errors import UsageError


class Option(NamedTuple):
    """One setting of an engine: its type, what the engine does when nobody sets it, and one line of help.

    A number is at least `least` and a multiple of `step`, a word one of `choices`. `flag` gives the words that tell
    the engine's command line of a value; None: that command line can't be told.
    """

    type: type
    default: Any
    says: str
    least: int = 1
    choices: tuple[str, ...] = ()
    flag: Callable[[Any], list[str]] | None = None
    step: int = 1

    def check(self, name: str, value: Any) -> None:
        """Raises UsageError if `value` is none that `name` can have."""
        if type(value) is not self.type:
            expected = {bool: "true or false", int: "a whole number"}.get(self.type, "a word")
            raise UsageError(f"{name} is {value!r}; it is {expected}")
        if isinstance(value, int) and self.type is int and value < self.least:
            raise UsageError(f"{name} is {value}; it is at least {self.least}")
        if isinstance(value, int) and self.type is int and value % self.step:
            raise UsageError(f"{name} is {value}; it is a multiple of {self.step}")
        if self.choices and value not in self.choices:
            raise UsageError(f"{name} is {value!r}; known are {' and '.join(self.choices)}")


DRAFT = Option(int, 0, "layers of a draft or multi-token-prediction head, each like the model's last full layer", 0)
BLOCK_SAYS = "tokens a page holds; what is held is rounded up to whole pages"
