"""The numbers of one step, with the tokens they belong to."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glasscli.cli.page.cells import cells, crop, pad
from glasscli.cli.page.page import Line, Page, add
from glasscli.cli.page.style import ACCENT, DIM, HEAD, tint
from glasscli.inspect.dump import Dump
from glasscli.inspect.steps import find_step, layer_steps, step_array
from glasscli.inspect.trace import LayerTrace

_WRITTEN = 10**5  # larger numbers are shown with an exponent


def step_numbers(page: Page, dump: Dump, trace: LayerTrace, name: str, heads: Sequence[int]) -> list[Line]:
    """Every number of step `name`: a block a head. `heads` count key/value heads where the step has those."""
    step, values = layer_steps(dump.config, trace.layer)[name], step_array(trace, name)
    shape = " × ".join(str(n) for n in values.shape)
    title = f"{name} = {step.equation(dump.config)} · {shape} ({', '.join(step.axes)})"
    title += " · before the mask" if name in ("scores", "softcap") else ""
    lines = page.wrap(title, "  ", HEAD, first="")
    for heading, kv_head, block in _blocks(dump, name, values, heads):
        lines.append([])
        if heading:
            lines.append([(heading, "" if kv_head is None else tint(kv_head))])
        first = 0 if name == "cache" else trace.start
        labels = [(first + i, page.label(dump.tokens[first + i].raw)) for i in range(len(block))]
        keys = [page.label(token.raw) for token in dump.tokens] if step.is_square else None
        masked = trace.mask_TS.shape == block.shape and name in ("scores", "softcap", "softmax")
        hidden = ~trace.mask_TS if masked else None
        lines += matrix(
            page, labels, block, keys, hidden if step.is_square else None, digits=3 if name == "softmax" else 2
        )
    return lines


def _blocks(
    dump: Dump, name: str, values: NDArray[np.generic], heads: Sequence[int]
) -> list[tuple[str, int | None, NDArray[np.generic]]]:
    """The matrices of a step, each with a heading and the key/value head it belongs to."""
    axes, group = find_step(name).axes, dump.config.group_size
    if axes[0] == "head":
        return [(f"head {head} · kv {head // group}", head // group, values[head]) for head in heads]
    if axes[0] == "kv_head":
        return [(f"kv head {head}{_readers(head, group)}", head, values[head]) for head in heads]
    if name == "cache":
        sides = (("keys, turned", 0), ("values", 1))
        return [(f"kv head {head} · {side}", head, values[i, head]) for head in heads for side, i in sides]
    return [("", None, values)]


def _readers(kv_head: int, group: int) -> str:
    if group == 1:
        return ""
    return f" · read by query heads {kv_head * group}–{kv_head * group + group - 1}"


def matrix(
    page: Page,
    rows: Sequence[tuple[int, str]],
    values: NDArray[np.generic],
    columns: Sequence[str] | None = None,
    hidden: NDArray[np.bool] | None = None,
    digits: int = 2,
    blank: bool = True,
) -> list[Line]:
    """A matrix with labelled rows.

    On a terminal, columns that don't fit are counted at the end of the line (`…+24`); in a pipe nothing is left
    out, and further columns follow in blocks below.

    Args:
        rows: position and token of each row.
        columns: tokens above the columns; without them their numbers alone.
        hidden: true where a query may not look: a number there is dimmed, a zero is left out if `blank`.
    """
    n_columns = values.shape[1]
    width = max(4, _widest(values, digits), len(str(n_columns - 1)))
    n_digits = len(str(max(position for position, _ in rows)))
    label = min(max(cells(name) for _, name in rows), 14, max(4, page.width // 5))
    room = page.width - label - n_digits - 3
    fit = max(1, room // (width + 1))
    if page.terminal and fit < n_columns:
        fit = max(1, (room - len(f"…+{n_columns}") - 1) // (width + 1))
    lines: list[Line] = []
    for first in range(0, n_columns, fit):
        span = range(first, min(first + fit, n_columns))
        left = n_columns - span.stop if page.terminal else 0
        rest = f" …+{left}" if left else ""
        lines += _head(columns, span, width, label + n_digits + 2, rest)
        for i, (position, name) in enumerate(rows):
            line: Line = [(f" {pad(name, label, right=True)} {position:>{n_digits}}", ACCENT)]
            numbers = values[i, span.start : span.stop].tolist()
            for j, value in zip(span, numbers, strict=True):
                masked = hidden is not None and hidden[i, j]
                text = "" if blank and masked and value == 0 else page.safe(_cell(value, digits))
                add(line, f" {text:>{width}}", DIM if masked else "")
            lines.append([*line, (rest, DIM)])
        if left:
            break
        if span.stop < n_columns:
            lines.append([])
    return lines


def _head(columns: Sequence[str] | None, span: range, width: int, indent: int, rest: str) -> list[Line]:
    numbers = [(" " * indent + "".join(f" {j:>{width}}" for j in span) + rest, DIM)]
    if columns is None:
        return [numbers]
    names = "".join(f" {pad(crop(columns[j], width), width, right=True)}" for j in span)
    return [numbers, [(" " * indent + names, ACCENT)]]


def _widest(values: NDArray[np.generic], digits: int) -> int:
    """Cells that the longest number takes: that of the ends, of those written out and of those with an exponent."""
    numbers = values.astype(np.float64)
    written = np.abs(numbers) < _WRITTEN
    ends = (end(part) for part in (numbers[written], numbers[~written]) if part.size for end in (np.min, np.max))
    return max((len(_cell(float(end), digits)) for end in ends), default=0)


def _cell(number: float, digits: int) -> str:
    if not np.isfinite(number):
        return "−∞" if number < 0 else str(number)
    if abs(number) >= _WRITTEN:
        return f"{number:.1e}"
    return f"{round(number, digits) + 0.0:.{digits}f}"  # + 0.0: what rounds to zero has no sign
