"""A dump as CSV in long form: one number a line, for a spreadsheet or a data frame."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from glasscli.csv_cell import cell
from glasscli.export.document import count_numbers
from glasscli.inspect.dump import Dump, SizeError
from glasscli.inspect.steps import EVERY_STEP, step_array
from glasscli.inspect.stream_steps import OUTSIDE
from glasscli.inspect.trace import LayerTrace

COLUMNS = ("layer", "head", "kv_head", "step", "query", "key", "query_token", "key_token", "value")
DEFAULT_STEPS = ("scores", "softmax")
MAX_CSV_ROWS = 10_000_000


def write_csv(dump: Dump, path: Path, steps: Sequence[str] | None) -> None:
    """One line for each number of `steps` (default: scores and softmax).

    Hidden cells are left out. A step of vectors adds a column `dim` before the value; what does not apply to
    a step is empty, and `cache` appears as the steps `cache_k` and `cache_v`.

    Raises:
        SizeError: more than ten million lines.
    """
    chosen = tuple(steps or DEFAULT_STEPS)
    n_rows = count_numbers(dump.config, dump.n_queries, len(dump.tokens), len(dump.layers), chosen)
    if n_rows > MAX_CSV_ROWS:
        raise SizeError(f"up to {n_rows:,} lines of CSV; the limit is {MAX_CSV_ROWS:,}")
    vectors = any(not EVERY_STEP[step].is_square for step in chosen)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*COLUMNS[:-1], "dim", "value") if vectors else COLUMNS)
        for lines in _blocks(dump, chosen):
            writer.writerows((*line[:-2], line[-2], line[-1]) if vectors else (*line[:-2], line[-1]) for line in lines)


def _blocks(dump: Dump, steps: Sequence[str]) -> Iterator[Iterator[tuple[object, ...]]]:
    """The lines of each step of each layer, then of the steps that are no layer's."""
    for trace in dump.layers:
        for step in steps:
            if step not in OUTSIDE:
                yield _cells(dump, trace, step) if EVERY_STEP[step].is_square else _vectors(dump, trace, step)
    for name, values in dump.outside.items():
        yield _rows(dump, "", name, values[None], dump.start, "")


def _cells(dump: Dump, trace: LayerTrace, step: str) -> Iterator[tuple[object, ...]]:
    values = step_array(trace, step)
    labels = [cell(token.label) for token in dump.tokens]
    shared = values.ndim == 2  # the mask is the same for all heads
    for head, cells in enumerate([values] if shared else values):
        who = ("", "") if shared else (head, head // dump.config.group_size)
        for i, row in enumerate(cells.tolist()):
            query = trace.start + i
            for key, value in enumerate(row):
                if shared or trace.mask_TS[i, key]:
                    number = int(value) if shared else f"{value:.9g}"
                    yield (trace.layer, *who, step, query, key, labels[query], labels[key], "", number)


def _vectors(dump: Dump, trace: LayerTrace, step: str) -> Iterator[tuple[object, ...]]:
    values = step_array(trace, step)
    if step == "cache":
        for name, side in zip(("cache_k", "cache_v"), values, strict=True):
            yield from _rows(dump, trace.layer, name, side, 0, "kv_head")
    elif values.ndim == 2:
        yield from _rows(dump, trace.layer, step, values[None], trace.start, "")
    else:
        yield from _rows(dump, trace.layer, step, values, trace.start, EVERY_STEP[step].axes[0])


def _rows(
    dump: Dump, layer: int | str, name: str, values: object, first: int, axis: str
) -> Iterator[tuple[object, ...]]:
    """Lines of an array [heads, positions, dims]; keys and values stand in the columns of the key."""
    for head, vectors in enumerate(values):  # type: ignore[var-annotated, arg-type]
        who = {"head": (head, head // dump.config.group_size), "kv_head": ("", head)}.get(axis, ("", ""))
        for i, vector in enumerate(vectors.tolist()):
            position, label = first + i, cell(dump.tokens[first + i].label)
            where = ("", position, "", label) if axis == "kv_head" else (position, "", label, "")
            for dim, value in enumerate(vector):
                yield (layer, *who, name, *where, dim, f"{value:.9g}")
