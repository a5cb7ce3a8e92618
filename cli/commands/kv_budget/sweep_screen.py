"""Bytes over context as a plot of characters: a mark for each model, axes logarithmic or linear."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log2

from glasscli.budget.sweep import Curve
from glasscli.cli.page.cells import cells, pad
from glasscli.cli.page.page import Line, Page
from glasscli.units import format_bytes, short_bytes

MARKS = "●○▲△■□◆◇"
PLAIN = "*o+x#@%&"
STYLES = ("cyan", "yellow", "magenta", "green", "red", "bold", "dim", "cyan")
STEPS = (*(Fraction(1, n) for n in (4, 3, 2)), *map(Fraction, range(1, 100)))  # doublings a row
MOST = len(PLAIN)


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

    def label(self, level: int) -> str:
        """The size at a row; nothing on rows without a label."""
        if level % self.every:
            return ""
        steps = int(self.step * level)
        return format_bytes(self.low << steps if self.log else steps)


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


def n_columns(page: Page) -> int:
    """How many columns a plot has on this page; each is one context."""
    return max(8, page.width - 12)


def sweep_screen(page: Page, curves: Sequence[Curve], log: bool, budget: int | None) -> list[Line]:
    """The plot, its axes, and a line for each curve."""
    marks = MARKS if page.unicode else PLAIN
    sizes = [size for curve in curves for size in curve.sizes if size] + ([budget] if budget else [])
    if not sizes:
        return page.say("these models keep nothing that grows: there is no curve to draw")
    height = logarithmic(min(sizes), max(sizes)) if log else linear(max(sizes))
    n = len(curves[0].tokens)
    lines: list[Line] = []
    for level, row in reversed(list(enumerate(draw(curves, marks, height, budget)))):
        tick = height.label(level)
        axis = [(f"{tick:>9} {'┤' if tick else '│'}", "")]
        lines.append(axis + [(c, style_of(c, marks) if c != " " else "") for c in row])
    lines.append([(" " * 10 + "└" + "─" * n, "")])
    lines.append([(" " * 11 + ticks(curves[0].tokens, n, log), "")])
    lines += [*_knees(page, curves, n), []]
    widest = max(cells(curve.name) for curve in curves)
    for mark, curve in zip(marks, curves, strict=False):
        lines += _legend(page, mark, curve, widest if page.width >= widest + 40 else 0)
    return [*lines, *(page.flow("- ", [f"budget {short_bytes(budget)}"]) if budget is not None else [])]


def draw(curves: Sequence[Curve], marks: str, height: Height, budget: int | None) -> list[list[str]]:
    """Rows of characters, the lowest first. Where two curves meet, the first one shows."""
    n_columns = len(curves[0].tokens)
    grid = [[" "] * n_columns for _ in range(height.rows)]
    if budget is not None:
        grid[height.level(budget)] = ["-"] * n_columns
    for mark, curve in reversed(list(zip(marks, curves, strict=False))):
        for x, size in enumerate(curve.sizes):
            if size:
                grid[height.level(size)][x] = mark
    return grid


def ticks(tokens: Sequence[int], n_columns: int, log: bool) -> str:
    """Contexts under the axis: round numbers, as many as have room, and where the axis ends."""
    last = short_count(tokens[-1])
    room = n_columns - len(last)
    text = ""
    for value in round_numbers(tokens[0], tokens[-1], log):
        x = next(i for i, n in enumerate(tokens) if n >= value)
        name = short_count(value)
        if (not text or x >= len(text) + 2) and x + len(name) <= room - 2:
            text = text.ljust(x) + name
    return text.ljust(room) + last


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


def _knees(page: Page, curves: Sequence[Curve], n_columns: int) -> list[Line]:
    """A row that points at the lengths where windows are full."""
    lengths = sorted({knee for curve in curves for knee in curve.knees})
    if not lengths:
        return []
    tokens = curves[0].tokens
    row = [" "] * n_columns
    for length in lengths:
        x = next(i for i, n in enumerate(tokens) if n >= length)
        row[x] = "^"
    says = page.flow(" " * 11, ["^ windows are full at", *(f"{length:,}" for length in lengths)], gap=1)
    return [[(" " * 11 + "".join(row), "")], *says]


def _legend(page: Page, mark: str, curve: Curve, widest: int) -> list[Line]:
    """What a mark stands for, and where its curve ends."""
    dtypes = curve.k_dtype if curve.k_dtype == curve.v_dtype else f"K {curve.k_dtype} V {curve.v_dtype}"
    name = pad(curve.name, max(widest, cells(curve.name)))
    return page.flow(f"{mark} ", [name, dtypes, f"{short_bytes(curve.sizes[-1])} at {curve.tokens[-1]:,}"], gap=3)


def style_of(c: str, marks: str) -> str:
    """The colour of a mark."""
    return STYLES[marks.index(c)] if c in marks else "dim"
