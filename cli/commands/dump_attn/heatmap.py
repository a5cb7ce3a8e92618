"""Patterns as maps of shaded cells: rows read, columns are read, blank is masked.

Shading carries the information; colour repeats it, see `page.scale`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasscli.arrays import Array, Mask
from glasscli.cli.page.cells import cells, crop, pad
from glasscli.cli.page.page import Line, Page, Span, add, line_width
from glasscli.cli.page.scale import ASCII_SHADES, LOG_WEIGHT, SHADES, WEIGHT, Scale
from glasscli.cli.page.style import DIM, HEAD, tint
from glasscli.inspect.pool import max_pool

GAP = 3
MAX_ROWS = 48  # of a map; more are pooled
MAX_WIDE = 24  # columns; up to here a column may take two cells
SHORT_LABEL = 8  # cells that a token's label keeps at least


@dataclass(frozen=True)
class Map:
    """One head's pattern and what stands above it: the first of `titles` that fits."""

    titles: Sequence[str]
    pattern_TS: Array
    mask_TS: Mask
    kv_head: int = 0


@dataclass(frozen=True)
class _Plan:
    """How maps are laid out: cells a column, maps side by side, and how many rows and columns become one."""

    cell: int
    across: int
    pool_rows: int
    pool_columns: int
    label: int


def heatmaps(
    page: Page, maps: Sequence[Map], labels: Sequence[str], start: int, log: bool = False, name: str = "softmax"
) -> list[Line]:
    """All `maps`, side by side as far as they fit, under a legend.

    Args:
        labels: tokens of the keys; query i is key `start + i`.
        log: shade by powers of ten, to see weights that a strong one hides.
        name: what is shaded.
    """
    n_rows, n_columns = maps[0].pattern_TS.shape
    plan = _plan(page, len(maps), n_rows, n_columns, max((cells(label) for label in labels[start:]), default=0))
    scale = LOG_WEIGHT if log else WEIGHT
    lines = _legend(page, plan, scale, labels, name)
    pooled = [max_pool(m.pattern_TS, m.mask_TS, plan.pool_rows, plan.pool_columns) for m in maps]
    for first in range(0, len(maps), plan.across):
        if first:
            lines.append([])
        band = slice(first, first + plan.across)
        lines += _band(page, maps[band], pooled[band], labels, start, plan, scale)
    return lines


def _plan(page: Page, n_maps: int, n_rows: int, n_columns: int, longest: int) -> _Plan:
    """The largest cells and the fewest bands that fit; a map that fits in no way is pooled."""
    digits = len(str(n_columns - 1)) + 2
    label = min(longest, max(5, page.width // 7), 16) + digits
    short = min(longest, SHORT_LABEL) + digits
    if n_columns <= MAX_WIDE and n_rows <= MAX_ROWS:
        one_band = [room for room in (label, short) if _across(page, room, 2 * n_columns, n_maps) == n_maps]
        if one_band:  # labels cut short rather than maps in two bands
            return _Plan(2, n_maps, 1, 1, one_band[0])
        wide, narrow = (_across(page, label, cell * n_columns, n_maps) for cell in (2, 1))
        if wide and -(-n_maps // wide) == -(-n_maps // narrow):  # wide cells cost no further band
            return _Plan(2, _even(n_maps, wide), 1, 1, label)
    fewest = min(2 if page.width >= 60 else 1, n_maps)
    pool_rows, pool_columns = -(-n_rows // MAX_ROWS), 1
    while _across(page, label, -(-n_columns // pool_columns), n_maps) < fewest:
        pool_columns += 1
    if n_rows == n_columns:
        pool_rows = pool_columns = max(pool_rows, pool_columns)
    across = _across(page, label, -(-n_columns // pool_columns), n_maps)
    return _Plan(1, _even(n_maps, max(1, across)), pool_rows, pool_columns, label)


def _across(page: Page, label: int, span: int, n_maps: int) -> int:
    """How many maps of `span` cells fit beside the labels."""
    return min(n_maps, (page.width - 1 - label + GAP) // (span + GAP))


def _even(n_maps: int, across: int) -> int:
    """Maps a band, so that all bands hold about as many."""
    n_bands = -(-n_maps // across)
    return -(-n_maps // n_bands)


def _legend(page: Page, plan: _Plan, scale: Scale, labels: Sequence[str], name: str) -> list[Line]:
    bounds = [f"{bound:g}".lstrip("0") for bound in scale.bounds]
    names = [f"<{bounds[0]}", *bounds]
    pieces: list[Line] = [[(page.safe(name), HEAD)]]
    pieces += [
        [(shade, color), (f" {bound}", "")]
        for shade, color, bound in zip(_shades(page), scale.styles, names, strict=True)
    ]
    notes = ["rows read, columns are read", "blank = masked"]
    if plan.pool_rows > 1 or plan.pool_columns > 1:
        notes.insert(0, f"each cell = max of {plan.pool_rows}×{plan.pool_columns}")
    if scale is LOG_WEIGHT:
        notes.insert(0, "log scale")
    space = "·" if page.unicode else "_"
    spaces = [f"{space} = space"] * any(label.startswith(space) for label in labels)
    pieces += [[(note, DIM)] for note in (*map(page.safe, notes), *spaces)]
    lines: list[Line] = [[(" ", "")]]
    for piece in pieces:
        if line_width(lines[-1]) + line_width(piece) > page.width:
            lines.append([(" ", "")])
        lines[-1] += [*piece, ("  ", "")]
    return [line[:-1] for line in lines]


def _shades(page: Page) -> str:
    return SHADES if page.unicode else ASCII_SHADES


def _band(
    page: Page,
    maps: Sequence[Map],
    pooled: Sequence[tuple[Array, Mask]],
    labels: Sequence[str],
    start: int,
    plan: _Plan,
    scale: Scale,
) -> list[Line]:
    n_rows, n_columns = pooled[0][0].shape
    span = max(plan.cell * n_columns, 1)
    titles, widest = _titles(page, maps, span, plan)
    left: Span = (" " * (plan.label + 1), "")
    heads: Line = [left]
    ticks: Line = [left]
    for m, title in zip(maps, titles, strict=True):
        heads += [(pad(title, widest), tint(m.kv_head)), (" " * GAP, "")]
        ticks += [(pad(_ticks(n_columns, plan), widest), DIM), (" " * GAP, "")]
    lines = [heads[:-1], ticks[:-1]]
    for i in range(n_rows):
        position = start + i * plan.pool_rows
        line: Line = [(f" {_row_label(page, labels, position, plan)}", "")]
        for (values, mask), _ in zip(pooled, maps, strict=True):
            line += _cells(page, values[i], mask[i], plan.cell, scale)
            line.append((" " * (widest - span + GAP), ""))
        lines.append(line[:-1])
    return lines


def _titles(page: Page, maps: Sequence[Map], span: int, plan: _Plan) -> tuple[list[str], int]:
    """The longest titles that fit all maps of a band, and the cells each map takes with them."""
    most = (page.width - 1 - plan.label + GAP) // len(maps) - GAP
    for titles in zip(*(m.titles for m in maps), strict=True):
        safe = [page.safe(title) for title in titles]
        widest = max(span, *(cells(title) for title in safe))
        if widest <= most:
            return safe, widest
    return [crop(title, most) for title in safe], max(span, most)


def _row_label(page: Page, labels: Sequence[str], position: int, plan: _Plan) -> str:
    digits = len(str(len(labels) - 1))
    room = plan.label - digits - 2
    name = pad(crop(labels[position], room), room, right=True)
    return f"{name} {position:>{digits}} "


def _ticks(n_columns: int, plan: _Plan) -> str:
    """Positions above the columns: each where there is room, else every fifth cell."""
    if plan.cell == 2 and n_columns <= 10:
        return " ".join(str(i) for i in range(n_columns))
    if plan.pool_columns == 1 and n_columns <= 10:
        return "".join(str(i) for i in range(n_columns))
    last = (n_columns - 1) * plan.pool_columns
    every = max(5, len(str(last)) + 2) if plan.cell == 1 else 5
    text = ""
    for i in range(0, n_columns, every):
        mark = str(i * plan.pool_columns)
        if len(text) <= i * plan.cell and i * plan.cell + len(mark) <= n_columns * plan.cell:
            text = text.ljust(i * plan.cell) + mark
    return text


def _cells(page: Page, values: Array, mask: Mask, cell: int, scale: Scale) -> Line:
    """One row of a map; neighbours of the same shade become one piece."""
    shades = _shades(page)
    levels = np.where(mask, np.searchsorted(scale.bounds, values, side="right"), -1).tolist()
    line: Line = []
    for level in levels:
        if level < 0:
            add(line, " " * cell, "")
        elif level == 0:
            add(line, shades[0] + " " * (cell - 1), scale.styles[0])
        else:
            add(line, shades[level] * cell, scale.styles[level])
    return line
