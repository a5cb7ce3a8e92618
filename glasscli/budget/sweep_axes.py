"""The axes of a plot over context: what is plotted, rows for sizes, round numbers for contexts."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import log2
from typing import NamedTuple

from glasscli.units import format_bytes, short_bytes

STEPS = (*(Fraction(1, n) for n in (4, 3, 2)), *map(Fraction, range(1, 100)))  # doublings a row


class Unit(NamedTuple):
    """What the vertical axis counts: its title, the name of a line across, how a tick and how a sentence say one."""

    title: str
    across: str
    tick: Callable[[int], str]
    say: Callable[[int], str]


BYTES = Unit("bytes of the KV cache over the tokens of a sequence", "budget", format_bytes, short_bytes)
SEQUENCES = Unit(
    "sequences that surely fit over the tokens of each", "asked for", "{:,}".format, "{:,} side by side".format
)


@dataclass(frozen=True)
class Height:
    """The vertical axis: `rows` from `low` up, a label on each `every`-th.

    On a logarithmic axis a row is a factor of 2^`step`, on a linear one `low` is 0 and a row is `step` bytes.
    """

    low: int
    step: Fraction
    rows: int
    every: int
    log: bool

    def level(self, size: int) -> int:
        """Which row above the axis `size` belongs to."""
        up = (log2(size) - log2(self.low)) / float(self.step) if self.log else size / self.step
        return min(self.rows - 1, max(0, round(up)))

    def label(self, level: int, say: Callable[[int], str] = format_bytes) -> str:
        """The size at a row; nothing on rows without a label."""
        if level % self.every:
            return ""
        steps = int(self.step * level)
        return say(self.low << steps if self.log else steps)


def logarithmic(low: int, top: int) -> Height:
    """From the power of two below `low` to one above `top`, in at most 17 rows."""
    start = low.bit_length() - 1
    doublings = max(1, (top - 1).bit_length() - start)
    step = next(s for s in STEPS if doublings / s <= 16)
    every = step.denominator if step.denominator > 2 else 4 if step.denominator == 2 else 3
    return Height(2**start, step, int(-(-doublings // step)) + 1, every, True)


def linear(top: int) -> Height:
    """From 0 to `top` or a little more, with three or four labels at round sizes."""
    each = 2 ** max(2, (top - 1).bit_length() - 2)
    labels = max(1, -(-top // each))
    rows = 4 if labels > 3 else 5
    return Height(0, Fraction(each, rows), labels * rows + 1, rows, False)


def round_numbers(first: int, last: int, log: bool) -> list[int]:
    """Powers of two from `first` to `last`, every one, second or third; or about six equal steps."""
    if log:
        exponents = range((first - 1).bit_length(), last.bit_length())
        return [2**exponent for exponent in exponents[:: 1 + len(exponents) // 8]]
    step = 2 ** max(0, (last // 5).bit_length() - 1)
    return list(range(-(-first // step) * step, last + 1, step))


def short_count(n: int) -> str:
    """A number of tokens in at most five characters: `8k`, `1.5k`, `2M`."""
    for unit, scale in (("M", 1024**2), ("k", 1024)):
        if n >= scale:
            return f"{n / scale:.1f}".removesuffix(".0") + unit if n < 10 * scale else f"{round(n / scale)}{unit}"
    return f"{n}"
