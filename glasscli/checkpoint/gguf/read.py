"""The numbers of a GGUF tensor as float32, in Hugging Face's layout.

They are read and made float32 a slice at a time: in memory are the result and some megabytes, never a second copy.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from glasscli.checkpoint.gguf.origins import Origin, Rows
from glasscli.checkpoint.gguf.tensor_types import BLOCKS, READABLE
from glasscli.errors import CheckpointError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SLICE = 1 << 16  # numbers made float32 at once; on the way they take some six times as many bytes as in the end


def read(source: Origin, notes: list[str] | None = None) -> "NDArray[np.float32]":
    """The tensor. All its numbers are finite.

    Args:
        notes: gets a sentence about a NaN or an infinity, which is then no error.

    Raises:
        CheckpointError: a type that glass does not read, the file ended, a NaN or an infinity, or no memory for it.
    """
    import numpy as np

    info = source.info
    for rows in source.rows:
        if rows.info.dtype not in READABLE:
            raise CheckpointError(f"{info.file}: {info.name} is {rows.info.dtype}; glass reads {', '.join(READABLE)}")
    try:
        values = np.empty(info.shape, np.float32)
    except (MemoryError, ValueError):
        raise CheckpointError(f"{info.file}: no memory for {info.name} {list(info.shape)} in float32") from None
    if not values.size:
        return values
    n_rows = sum(rows.stop - rows.start for rows in source.rows)
    target: NDArray[Any] = values.T if source.turned_over else values.reshape(n_rows, -1)
    places = source.places()
    at = 0
    complaint = ""
    for rows in source.rows:
        for first, made in _slices(rows):
            complaint = complaint or _not_finite(made, rows, first)
            if complaint and notes is None:
                raise CheckpointError(complaint)
            if source.less_one:
                made -= np.float32(1)
            stop = at + len(made)
            target[slice(at, stop) if places is None else places[at:stop]] = made
            at = stop
    if complaint and notes is not None:
        notes.append(complaint)
    return values


def _slices(rows: Rows) -> "Iterator[tuple[int, NDArray[np.float32]]]":
    """The rows in order, some at a time: the first of them, and an array [some, numbers of a row]."""
    import numpy as np

    from glasscli.checkpoint.gguf.blocks import DEQUANTISE

    info = rows.info
    n_numbers, block_bytes = BLOCKS[info.dtype]
    if len(info.shape) < 2 and n_numbers > 1:  # a vector in blocks: its rows can't be told apart before
        length = math.prod(info.shape)
        _, whole = next(_slices(Rows(_as_matrix(rows), 0, 1)))
        yield rows.start, whole.reshape(length, 1)[rows.start : rows.stop]
        return
    width = math.prod(info.shape[1:])
    row_bytes = width // n_numbers * block_bytes
    step = max(1, SLICE // width)
    try:
        with info.file.open("rb", buffering=0) as file:
            file.seek(info.start + rows.start * row_bytes)
            for first in range(rows.start, rows.stop, step):
                some = min(step, rows.stop - first)
                stored = np.empty(some * row_bytes, np.uint8)
                _fill(file, stored, rows)
                with np.errstate(invalid="ignore", over="ignore"):  # a scale that is no finite number
                    made = DEQUANTISE[info.dtype](stored.reshape(-1, block_bytes)).reshape(some, width)
                yield first, made
    except OSError as error:
        raise CheckpointError(f"{info.file}: can't be read ({error.strerror})") from None


def _as_matrix(rows: Rows) -> Any:
    from dataclasses import replace

    return replace(rows.info, shape=(1, math.prod(rows.info.shape)))


def _fill(file: Any, stored: "NDArray[np.uint8]", rows: Rows) -> None:
    view = memoryview(stored.data)
    while len(view) and (n := file.readinto(view)):
        view = view[n:]
    if len(view):
        raise CheckpointError(f"{rows.info.file}: ended while {rows.info.name} was read; did it change?")


def _not_finite(made: "NDArray[np.float32]", rows: Rows, first: int) -> str:
    """What to say of a NaN or an infinity in it; nothing if there is none."""
    import numpy as np

    finite = np.isfinite(made)
    if finite.all():
        return ""
    row, column = (int(i) for i in np.unravel_index(int(finite.argmin()), finite.shape))
    found = f"the first {made[row, column]} in row {first + row}"
    return f"{rows.info.file}: {rows.info.name} holds values that are no finite numbers, {found}"
