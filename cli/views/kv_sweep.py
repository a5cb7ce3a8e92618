"""Bytes over context as a plot of characters: a mark for each model, axes logarithmic or linear."""

from collections.abc import Sequence
from math import log2

from glasscli.budget.sizes import format_bytes, short_bytes
from glasscli.budget.sweep import Curve
from glasscli.cli.views.kv_screen import Screen

MARKS = "●○▲△■□◆◇"
PLAIN = "*o+x#@%&"
STYLES = ("cyan", "yellow", "magenta", "green", "red", "bold", "dim", "cyan")
HEIGHT = 16
MOST = len(PLAIN)


def columns(screen: Screen) -> int:
    """How many columns a plot has on this screen; each is one context."""
    return max(10, screen.width - 12)


def show(curves: Sequence[Curve], log: bool, budget: int | None, screen: Screen) -> None:
    """The plot, its axes, and a line for each curve."""
    marks = MARKS if screen.unicode else PLAIN
    top = max(curve.sizes[-1] for curve in curves)
    low = min(min(size for size in curve.sizes if size) for curve in curves)
    top = max(top, budget or 0)
    grid = draw(curves, marks, low, top, log, budget)
    for i, row in enumerate(grid):
        tick = axis_label(i, low, top, log)
        body = "".join(screen.paint(c, style_of(c, marks)) if c != " " else c for c in row).rstrip()
        screen.lines.append(
            f"{tick:>9} {'┤' if screen.unicode and tick.strip() else '│' if screen.unicode else '|'}{body}"
        )
    corner = "└" if screen.unicode else "+"
    line = "─" if screen.unicode else "-"
    n_columns = len(grid[0])
    screen.lines.append(" " * 10 + corner + line * n_columns)
    screen.lines.append(" " * 11 + ticks(curves[0].tokens, n_columns, log))
    knees(curves, n_columns, screen)
    screen.blank()
    for mark, curve in zip(marks, curves, strict=False):
        legend(mark, curve, screen)
    if budget is not None:
        screen.flow("- ", [f"budget {short_bytes(budget)}"])


def draw(curves: Sequence[Curve], marks: str, low: int, top: int, log: bool, budget: int | None) -> list[list[str]]:
    """Rows of characters, the highest first. Where two curves meet, the first one shows."""
    n_columns = len(curves[0].tokens)
    grid = [[" "] * n_columns for _ in range(HEIGHT)]
    if budget is not None:
        y = HEIGHT - 1 - level(budget, low, top, log)
        grid[y] = ["-"] * n_columns
    for mark, curve in reversed(list(zip(marks, curves, strict=False))):
        for x, size in enumerate(curve.sizes):
            if size:
                grid[HEIGHT - 1 - level(size, low, top, log)][x] = mark
    return grid


def level(size: int, low: int, top: int, log: bool) -> int:
    """Which row above the axis `size` belongs to."""
    if top <= low:
        return HEIGHT // 2
    if log:
        share = (log2(max(size, low)) - log2(low)) / (log2(top) - log2(low))
    else:
        share = size / top
    return min(HEIGHT - 1, max(0, round(share * (HEIGHT - 1))))


def axis_label(row: int, low: int, top: int, log: bool) -> str:
    """The size at the height of `row`, on every third row."""
    up = HEIGHT - 1 - row
    if up % 3:
        return ""
    share = up / (HEIGHT - 1)
    size = round(2 ** (log2(low) + (log2(top) - log2(low)) * share)) if log else round(top * share)
    return format_bytes(size)


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


def knees(curves: Sequence[Curve], n_columns: int, screen: Screen) -> None:
    """A row that points at the lengths where windows are full."""
    lengths = sorted({knee for curve in curves for knee in curve.knees})
    if not lengths:
        return
    tokens = curves[0].tokens
    row = [" "] * n_columns
    for length in lengths:
        x = next(i for i, n in enumerate(tokens) if n >= length)
        row[x] = "^"
    screen.lines.append(" " * 11 + "".join(row).rstrip())
    screen.flow(" " * 11, ["^ windows are full at", *(f"{length:,}" for length in lengths)], gap=1)


def legend(mark: str, curve: Curve, screen: Screen) -> None:
    """What a mark stands for, and where its curve ends."""
    dtypes = curve.k_dtype if curve.k_dtype == curve.v_dtype else f"K {curve.k_dtype} V {curve.v_dtype}"
    pieces = [curve.name, dtypes, f"{short_bytes(curve.sizes[-1])} at {curve.tokens[-1]:,}"]
    screen.flow(f"{mark} ", pieces, gap=3, style="")


def style_of(c: str, marks: str) -> str:
    """The colour of a mark."""
    return STYLES[marks.index(c)] if c in marks else "dim"
