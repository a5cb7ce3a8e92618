"""The values in a GGUF header: numbers, texts, and lists of them that are read when asked for.

A value's type is a number in the file; `SCALARS` gives each its layout.
"""

import array
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasscli.checkpoint.gguf.cursor import Cursor
from glasscli.errors import CheckpointError

# Type in the file: how `struct` and `array` spell it, and its bytes.
SCALARS = {
    0: ("B", 1), 1: ("b", 1), 2: ("H", 2), 3: ("h", 2), 4: ("I", 4), 5: ("i", 4), 6: ("f", 4), 7: ("?", 1),
    10: ("Q", 8), 11: ("q", 8), 12: ("d", 8),
}  # fmt: skip
TEXT, LIST = 8, 9
TEXT_LIMIT = 16 * 1024**2  # bytes of one text; chat templates have some ten thousand
LIST_LIMIT = 64 * 1024**2  # bytes of one list; the largest vocabularies in use take 8 MB


@dataclass(frozen=True)
class Listed:
    """A list in a header: what it holds and where it stands, not yet read.

    Attributes:
        kind: the type of its items, as `SCALARS` and `TEXT` number them.
    """

    path: Path
    name: str
    kind: int
    count: int
    start: int
    n_bytes: int

    def __len__(self) -> int:
        return self.count

    def read(self) -> list[Any]:
        """The items.

        Raises:
            CheckpointError: they take more than 64 MiB, a text is not UTF-8, or the file changed.
        """
        if self.n_bytes > LIST_LIMIT:
            raise CheckpointError(f"{self.path}: {self.name} has {self.n_bytes:,} bytes; glass reads {LIST_LIMIT:,}")
        try:
            with self.path.open("rb") as file:
                file.seek(self.start)
                data = file.read(self.n_bytes)
        except OSError as error:
            raise CheckpointError(f"{self.path}: can't be read ({error.strerror})") from None
        if len(data) != self.n_bytes:
            raise CheckpointError(f"{self.path}: ended while {self.name} was read; did it change?")
        return self._texts(data) if self.kind == TEXT else _numbers(data, self.kind)

    def _texts(self, data: bytes) -> list[str]:
        unpack = struct.Struct("<Q").unpack_from
        found, at = [], 0
        try:
            for _ in range(self.count):
                end = at + 8 + unpack(data, at)[0]
                found.append(data[at + 8 : end].decode())
                at = end
        except UnicodeDecodeError:
            raise CheckpointError(f"{self.path}: text {len(found):,} of {self.name} is not UTF-8") from None
        except (struct.error, OverflowError):
            at = -1
        if at != len(data):
            raise CheckpointError(f"{self.path}: ended while {self.name} was read; did it change?")
        return found


Value = int | float | bool | str | Listed


def read_value(cursor: Cursor, path: Path, name: str) -> Value:
    """The value that stands at the cursor, its type before it.

    Raises:
        CheckpointError: a type that the format does not know, a list of lists, or the file ends before.
    """
    kind = cursor.u32(f"the type of {name}")
    if kind == TEXT:
        return cursor.text(name, TEXT_LIMIT)
    if kind == LIST:
        return _listed(cursor, path, name)
    if kind not in SCALARS:
        raise CheckpointError(f"{path}: {name} has the type {kind}, which the format does not know")
    code, size = SCALARS[kind]
    value: Value = struct.unpack(f"<{code}", cursor.take(size, name))[0]
    return value


def shortest(value: float) -> float:
    """The number with the fewest digits that is this float32: 1e-05 for what a file holds as 9.999999747378752e-06."""
    try:
        stored = struct.pack("<f", value)
    except OverflowError:  # written as a float64, as is what float32 can't hold exactly
        return value
    if struct.unpack("<f", stored)[0] == value:
        for digits in range(6, 9):
            if struct.pack("<f", float(f"{value:.{digits}g}")) == stored:
                return float(f"{value:.{digits}g}")
    return value


def _listed(cursor: Cursor, path: Path, name: str) -> Listed:
    kind, count = cursor.u32(f"the type of {name}"), cursor.u64(f"the length of {name}")
    start = cursor.position
    if kind == TEXT:
        cursor.skip_texts(count, name)
    elif kind in SCALARS:
        cursor.skip(count * SCALARS[kind][1], name)
    elif kind == LIST:
        raise CheckpointError(f"{path}: {name} is a list of lists; glass reads lists of numbers and of texts")
    else:
        raise CheckpointError(f"{path}: {name} lists the type {kind}, which the format does not know")
    return Listed(path, name, kind, count, start, cursor.position - start)


def _numbers(data: bytes, kind: int) -> list[Any]:
    code = SCALARS[kind][0]
    if code == "?":
        return [byte != 0 for byte in data]
    found = array.array(code)
    found.frombytes(data)
    if sys.byteorder == "big":  # the file is little-endian
        found.byteswap()
    return found.tolist()
