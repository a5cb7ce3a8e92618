"""Attention over somebody's own numbers as a page: the steps side by side, a block a head."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasscli.arrays import Array, Mask
from glasscli.cli.page.cells import cells, crop, pad
from glasscli.cli.page.page import Line, Page, line_width
from glasscli.cli.page.style import ACCENT, BAD, DIM, HEAD, tint
from glasscli.inspect.checks import tiny
from glasscli.inspect.worked import Worked

GAP = 3
MAX_LABEL = 12


@dataclass(frozen=True)
class Panel:
    """One step of a head: its title, the names of its columns, and its numbers as they are written."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def worked_screen(page: Page, found: Worked, labels: Sequence[str], digits: int, k_is_q: bool = False) -> list[Line]:
    """The whole page; panels that do not fit beside each other stand below each other."""
    lines = page.listed(_title(found, k_is_q), "  ", HEAD)
    n_heads = len(found.raw_HTS)
    group = n_heads // found.n_kv_heads
    named = [page.safe(label) for label in labels] or [str(at) for at in range(found.mask_TS.shape[1])]
    positions = range(found.start, found.start + found.raw_HTS.shape[1])
    left = [named[at] if at < len(named) else str(at) for at in positions]
    for head in range(n_heads):
        lines.append([])
        if n_heads > 1:
            lines.append([(f"head {head} → kv {head // group}", tint(head // group))])
        lines += _side_by_side(page, _panels(page, found, head, named, digits), left)
    ok = found.sum_gap < 1e-12
    check = f"each row of softmax sums to 1, Δ {'< 1e-12' if ok else tiny(found.sum_gap)}"
    return [*lines, [], *page.wrap(check, " ", DIM if ok else BAD)]


def _title(found: Worked, k_is_q: bool) -> list[str]:
    n_heads, n_new, n_seen = found.raw_HTS.shape
    parts = [f"{n_new} quer{'y' if n_new == 1 else 'ies'} × {n_seen} key{'s' * (n_seen != 1)}"]
    if n_heads > 1:
        parts.insert(0, f"{n_heads} query heads → {found.n_kv_heads} KV")
    if found.q_HTE is not None and found.scale is not None:
        parts.append(f"width {found.q_HTE.shape[-1]}" + (", k = q" if k_is_q else ""))
        parts.append(f"scale {found.scale:.6g}")
    else:
        parts.append("scores as given")
    hidden = int((~found.mask_TS).sum())
    where = f" from position {found.start}" if found.start else ""
    parts.append(f"causal{where}" if hidden else "every query sees every key")
    return [*parts, "float64"]


def _panels(page: Page, found: Worked, head: int, named: Sequence[str], digits: int) -> list[Panel]:
    given = found.q_HTE is None
    keys = [crop(name, min(MAX_LABEL, page.width // 4)) for name in named]
    panels = [
        Panel("raw scores" if given else "raw q·k × scale", keys, _written(page, found.raw_HTS[head], digits)),
        *([Panel("masked", keys, _written(page, found.masked_HTS[head], digits))] if not found.mask_TS.all() else []),
        Panel("softmax", keys, _written(page, found.pattern_HTS[head], digits, found.mask_TS)),
    ]
    if found.mixed_HTE is not None:
        columns = [str(i) for i in range(found.mixed_HTE.shape[-1])]
        panels.append(Panel("mixed softmax·v", columns, _written(page, found.mixed_HTE[head], digits)))
    return panels


def _written(page: Page, array: Array, digits: int, mask: Mask | None = None) -> list[list[str]]:
    """Numbers with as many digits, none before the point where that is 0; blank where a softmax is masked."""

    def one(value: float, shown: bool) -> str:
        if not shown:
            return ""
        if not np.isfinite(value):
            return page.safe("−∞") if page.unicode else "-inf"
        text = f"{value + 0.0:.{digits}f}"
        text = text.lstrip("-") if float(text) == 0 else text
        return text.replace("0.", ".", 1) if text.removeprefix("-").startswith("0.") else text

    seen = np.ones(array.shape, bool) if mask is None else mask
    return [
        [one(value, shown) for value, shown in zip(row, there, strict=True)]
        for row, there in zip(array.tolist(), seen.tolist(), strict=True)
    ]


def _side_by_side(page: Page, panels: Sequence[Panel], labels: Sequence[str]) -> list[Line]:
    """Bands of as many panels as fit; one that is too wide by itself is broken into bands of columns."""
    label = min(MAX_LABEL, page.width // 4, max(map(cells, labels)))
    drawn = [part for panel in panels for part in _drawn(panel, page.width - label - 2)]
    bands: list[list[list[Line]]] = [[]]
    used = label + 2
    for block in drawn:
        width = max(line_width(line) for line in block)
        if bands[-1] and used + GAP + width > page.width:
            bands.append([])
            used = label + 2
        used += (GAP if bands[-1] else 0) + width
        bands[-1].append(block)
    lines: list[Line] = []
    for band in bands:
        lines += [[]] if lines else []
        for i in range(len(labels) + 2):
            name = labels[i - 2] if i >= 2 else ""
            line: Line = [(f" {pad(crop(name, label), label, right=True)} ", ACCENT)]
            for number, block in enumerate(band):
                line += [*([(" " * GAP, "")] if number else []), *block[i]]
            lines.append(line)
    return lines


def _drawn(panel: Panel, room: int) -> list[list[Line]]:
    """A panel as lines of one width: title, names of columns, rows; in several where its columns do not fit."""
    width = max(cells(text) for text in (*panel.columns, *(cell for row in panel.rows for cell in row)))
    at_once = max(1, (room + 1) // (width + 1))
    parts = []
    for first in range(0, len(panel.columns), at_once):
        columns = slice(first, first + at_once)
        names = panel.columns[columns]
        total = max(len(names) * (width + 1) - 1, cells(panel.title) if first == 0 else 0)
        total = min(total, max(room, 1))
        title = panel.title if first == 0 else "…"
        block: list[Line] = [[(pad(title, total), HEAD)]]
        block.append([(pad(" ".join(pad(name, width, right=True) for name in names), total), DIM)])
        block += [
            [(pad(" ".join(pad(cell, width, right=True) for cell in row[columns]), total), "")] for row in panel.rows
        ]
        parts.append(block)
    return parts
