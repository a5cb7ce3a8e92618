"""What a screen of its own tells, as a file: the document that `--json` prints, or its arrays by name.

A document is nested dicts and lists that may hold arrays. JSON gets each as its shape and its numbers; .npz and
.safetensors hold them as they are, the rest beside them as metadata. Those of an entry of `layers` are called
`L2.NAME`, of one head there `L2.H1.NAME`; a table of heads becomes a column a measure.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glasscli.csv_cell import cell
from glasscli.errors import UsageError
from glasscli.export.arrays import save_safetensors
from glasscli.export.document import as_json
from glasscli.export.target import check_target, replacing

Document = Mapping[str, Any]


def encoded(value: Any) -> Any:
    """A document for JSON: arrays as `document.as_json` writes them."""
    if isinstance(value, np.ndarray):
        return as_json(value)
    if isinstance(value, Mapping):
        return {name: encoded(part) for name, part in value.items()}
    return [encoded(part) for part in value] if isinstance(value, list) else value


def export_view(document: Document, path: Path) -> int:
    """Write a document to `path` and return the bytes written.

    Raises:
        UsageError: a kind of file that does not hold it.
        OutputError: as `check_target`.
    """
    if path.suffix not in _WRITERS:
        raise UsageError(f"{path}: this goes into {' '.join(_WRITERS)}")
    check_target(path)
    with replacing(path) as temporary:
        _WRITERS[path.suffix](document, temporary)
    return path.stat().st_size


def arrays_of(document: Document) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays of a document by name, and what is left of it."""
    arrays: dict[str, NDArray[Any]] = {}
    rest = dict(document)
    if "heads" in rest:
        rows = list(rows_of(rest.pop("heads")))
        arrays = {name: _column(name, [row[name] for row in rows]) for name in rows[0]}
    if "layers" in rest:
        rest["layers"] = [_without_arrays(entry, arrays) for entry in rest["layers"]]
    return arrays, rest


def rows_of(heads: Sequence[Document]) -> Iterator[dict[str, Any]]:
    """Each head's entry as one flat row: `text.prev` is `prev` of its `text`."""
    for entry in heads:
        yield dict(_flat(entry, ""))


def _flat(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _flat(part, f"{name}.{key}" if name else key)
    else:
        yield name, value


def _column(name: str, values: Sequence[Any]) -> NDArray[Any]:
    """One measure of all heads; what a text could not tell is NaN, a role that is none an empty text."""
    if name == "role":
        return np.array([value or "" for value in values])
    return np.array([np.nan if value is None else value for value in values])


def _without_arrays(entry: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """An entry of `layers` without its arrays, which go to `arrays`."""
    if not isinstance(entry, Mapping):
        return entry
    head = f"H{entry['head']}." if "head" in entry else ""
    found = {name: value for name, value in entry.items() if isinstance(value, np.ndarray)}
    arrays |= {f"L{entry['layer']}.{head}{name}": np.ascontiguousarray(value) for name, value in found.items()}
    return {name: value for name, value in entry.items() if name not in found}


def _write_json(document: Document, path: Path) -> None:
    with path.open("w", encoding="ascii") as file:
        json.dump(encoded(document), file, allow_nan=False)
        file.write("\n")


def _write_npz(document: Document, path: Path) -> None:
    arrays, rest = arrays_of(document)
    named: dict[str, Any] = {"metadata": np.array(json.dumps(rest)), **arrays}
    with path.open("wb") as file:
        np.savez(file, **named)


def _write_safetensors(document: Document, path: Path) -> None:
    arrays, rest = arrays_of(document)
    save_safetensors(arrays, rest, path)


def _write_csv(document: Document, path: Path) -> None:
    if "heads" not in document:
        raise UsageError(f"{path}: only a table of heads goes into .csv")
    rows = list(rows_of(document["heads"]))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: cell(value) if isinstance(value, str) else value for name, value in row.items()})


_WRITERS: dict[str, Callable[[Document, Path], None]] = {
    ".json": _write_json, ".npz": _write_npz, ".safetensors": _write_safetensors, ".csv": _write_csv,
}  # fmt: skip
