"""Bytes over context: where to sample, and where a curve bends."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from glasscli.budget.questions import Settings
from glasscli.budget.sizer import Sizer
from glasscli.budget.subjects import Subject
from glasscli.specs.attention_specs import each_part


@dataclass(frozen=True)
class Curve:
    """Bytes of one model at each of `tokens`; `knees` are the lengths where a window is full.

    `made_for` is the longest context that the model was made for, where that is known; `constant_says` what a dtype
    keeps for every sequence however long, in words.
    """

    name: str
    tokens: tuple[int, ...]
    sizes: tuple[int, ...]
    knees: tuple[int, ...]
    k_dtype: str
    v_dtype: str
    made_for: int | None = None
    constant_says: str = ""

    @property
    def beyond(self) -> bool:
        """Whether it goes on past what the model was made for."""
        return self.made_for is not None and self.tokens[-1] > self.made_for


def curve(subject: Subject, settings: Settings, tokens: tuple[int, ...]) -> Curve:
    """The total bytes of `subject` at each of `tokens`, in ascending order."""
    sizer = Sizer(settings.request(subject, tokens[-1]))
    dtypes = sizer.engine.dtypes
    sizes = tuple(sizer.total(n, settings.batch) for n in tokens)
    windows = {part.window for part in each_part(subject.logical.layers) if part.window is not None}
    knees = tuple(sorted(window for window in windows if tokens[0] <= window <= tokens[-1]))
    most, says = subject.logical.max_positions, sizer.engine.constant_says()
    return Curve(subject.name, tokens, sizes, knees, dtypes.k, dtypes.v, most, says)


def same_as(curves: Sequence[Curve], i: int) -> list[int]:
    """The other curves that go through the same points as curve `i`: in a plot, one lies on the other."""
    return [j for j, other in enumerate(curves) if j != i and other.sizes == curves[i].sizes]


def spaced(first: int, last: int, count: int, log: bool) -> tuple[int, ...]:
    """`count` lengths from `first` to `last`, evenly apart on a linear or a logarithmic axis."""
    if count < 2 or first >= last:
        return (last,)
    steps = [i / (count - 1) for i in range(count)]
    if log:
        low, high = log2(first), log2(last)
        inner = [round(2 ** (low + (high - low) * step)) for step in steps[1:-1]]
    else:
        inner = [first + round((last - first) * step) for step in steps[1:-1]]
    return (first, *inner, last)
