"""Sizes over context as a plot of characters: a mark for each model, axes logarithmic or linear."""

from collections.abc import Sequence

from glasscli.budget.sweep import Curve, same_as
from glasscli.budget.sweep_axes import BYTES, Height, Unit, linear, logarithmic, round_numbers, short_count
from glasscli.cli.page.cells import cells, pad
from glasscli.cli.page.page import Line, Page

MARKS = "●○▲△■□◆◇"
PLAIN = "*o+x#@%&"
STYLES = ("cyan", "yellow", "magenta", "green", "red", "34", "95", "bold")  # 34: blue, 95: bright magenta
MOST = len(PLAIN)


def n_columns(page: Page) -> int:
    """How many columns a plot has on this page; each is one context."""
    return max(8, page.width - 12)


def sweep_screen(page: Page, curves: Sequence[Curve], log: bool, budget: int | None, of: Unit = BYTES) -> list[Line]:
    """The plot, its axes, and a line for each curve."""
    marks = MARKS if page.unicode else PLAIN
    sizes = [size for curve in curves for size in curve.sizes if size] + ([budget] if budget else [])
    if not sizes:
        return page.say("these models keep nothing that grows: there is no curve to draw")
    height = logarithmic(min(sizes), max(sizes)) if log else linear(max(sizes))
    n = len(curves[0].tokens)
    lines: list[Line] = []
    for level, row in reversed(list(enumerate(draw(curves, marks, height, budget)))):
        tick = height.label(level, of.tick)
        axis = [(f"{tick:>9} {'┤' if tick else '│'}", "")]
        lines.append(axis + [(c, style_of(c, marks) if c != " " else "") for c in row])
    lines.append([(" " * 10 + "└" + "─" * n, "")])
    lines.append([(" " * 11 + ticks(curves[0].tokens, n, log), "")])
    lines += [*_knees(page, curves, n), *_ends(page, curves, n), []]
    widest = max(cells(curve.name) for curve in curves)
    for i, curve in enumerate(curves):
        under = [marks[j] for j in same_as(curves, i)]
        lines += _legend(page, (marks[i], STYLES[i]), curve, widest if page.width >= widest + 40 else 0, under, of)
    for text in dict.fromkeys(curve.constant_says for curve in curves if curve.constant_says):
        lines += page.flow("  ", [text], style="dim", gap=1)
    return [*lines, *(page.flow("- ", [f"{of.across} {of.say(budget)}"]) if budget is not None else [])]


def draw(curves: Sequence[Curve], marks: str, height: Height, budget: int | None) -> list[list[str]]:
    """Rows of characters, the lowest first. Where curves meet they take turns, column by column: none is hidden."""
    n_columns = len(curves[0].tokens)
    grid = [[" "] * n_columns for _ in range(height.rows)]
    if budget is not None:
        grid[height.level(budget)] = ["-"] * n_columns
    for x in range(n_columns):
        there: dict[int, list[str]] = {}
        for mark, curve in zip(marks, curves, strict=False):
            if curve.sizes[x]:
                there.setdefault(height.level(curve.sizes[x]), []).append(mark)
        for level, found in there.items():
            grid[level][x] = found[x % len(found)]
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


def _ends(page: Page, curves: Sequence[Curve], n_columns: int) -> list[Line]:
    """A row that points at the lengths past which a model was not made for."""
    lengths = sorted({curve.made_for for curve in curves if curve.made_for is not None and curve.beyond})
    if not lengths:
        return []
    tokens, row = curves[0].tokens, [" "] * n_columns
    for length in lengths:
        row[next(i for i, n in enumerate(tokens) if n > length)] = ">"
    says = [
        f"{' and '.join(curve.name for curve in curves if curve.made_for == length)} past {length:,}"
        for length in lengths
    ]
    return [[(" " * 11 + "".join(row), "")], *page.flow(" " * 11, ["> longer than it was made for:", *says], gap=1)]


def _legend(page: Page, mark: tuple[str, str], curve: Curve, widest: int, under: Sequence[str], of: Unit) -> list[Line]:
    """What a mark stands for, in its colour, where its curve ends, and which others it is the same as."""
    dtypes = curve.k_dtype if curve.k_dtype == curve.v_dtype else f"K {curve.k_dtype} V {curve.v_dtype}"
    name = pad(curve.name, max(widest, cells(curve.name)))
    pieces = [name, dtypes, f"{of.say(curve.sizes[-1])} at {curve.tokens[-1]:,}"]
    pieces += [f"the same as {' and '.join(under)}"] if under else []
    lines = page.flow("  ", pieces, gap=3)
    first = "".join(text for text, _ in lines[0]).removeprefix("  ")
    return [[(mark[0], mark[1]), (f" {first}", "")], *lines[1:]]


def style_of(c: str, marks: str) -> str:
    """The colour of a mark."""
    return STYLES[marks.index(c)] if c in marks else "dim"
