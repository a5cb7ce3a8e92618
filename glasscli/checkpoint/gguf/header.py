"""The header of one GGUF file: its metadata by key and its tensors by name, without reading their numbers.

Refused is what llama.cpp refuses, so that no two programs read one file differently: a key or a name given twice, a
tensor that does not begin where the one before it ends. Nothing is allocated on the word of the file: counts, lengths
and offsets are compared with the file's size first, lists stay in the file until they are asked for.

The format, all numbers little-endian: b"GGUF", version, counts of tensors and of keys; the keys, each with a type and
a value; the tensors, each with a name, sizes, a type and an offset; zeros up to the alignment; the tensors' bytes.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from glasscli.checkpoint.gguf.cursor import Cursor
from glasscli.checkpoint.gguf.tensor_types import REMOVED, TYPES
from glasscli.checkpoint.gguf.values import Value, read_value
from glasscli.checkpoint.safetensors_file import TensorInfo
from glasscli.errors import CheckpointError
from glasscli.untrusted_files import disguise, quoted

MAGIC, SUFFIX = b"GGUF", ".gguf"
VERSIONS = (2, 3)
ALIGNMENT = 32  # where general.alignment says nothing
MOST_KEYS, MOST_TENSORS = 10_000, 100_000
NAME_LIMIT, KEY_LIMIT = 256, 65_535  # bytes
MOST_DIMENSIONS = 4
LEAST_KEY, LEAST_TENSOR = 13, 24  # bytes that an entry takes at the least


@dataclass(frozen=True)
class Header:
    """What a GGUF file says of itself.

    Attributes:
        metadata: numbers and texts as they are, lists as `Listed`.
        tensors: by GGUF's names, in the order of their bytes; shapes as NumPy has them, rows first.
    """

    path: Path
    version: int
    metadata: dict[str, Value]
    tensors: dict[str, TensorInfo]


def is_gguf(path: Path) -> bool:
    """Whether a path is to be read as a GGUF: a file that begins as one does, or anything but a folder called so."""
    if path.suffix == SUFFIX:
        return not path.is_dir()
    try:
        if not path.is_file():  # what is no file may wait for a reader for ever
            return False
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_header(path: Path) -> Header:
    """The header of one file; of a split model, of this part alone.

    Raises:
        CheckpointError: the file is something else, cut off, or contradicts itself; the message names the cause.
    """
    try:
        if not path.is_file():
            found = "is not a regular file" if path.exists() else "there is no such file"
            raise CheckpointError(f"{path}: {found}")
        with path.open("rb") as file:
            return _read(path, file)
    except OSError as error:
        raise CheckpointError(f"{path}: can't be read ({error.strerror})") from None
    except ValueError as error:  # a NUL byte in the path
        raise CheckpointError(f"{str(path)!r}: can't be read ({error})") from None


def _read(path: Path, file: BinaryIO) -> Header:
    cursor = Cursor(path, file)
    _check_magic(path, file, cursor)
    version = _version(path, cursor)
    n_tensors, n_keys = cursor.u64("the number of tensors"), cursor.u64("the number of keys")
    _check_count(path, n_tensors, "tensors", min(MOST_TENSORS, cursor.left // LEAST_TENSOR))
    _check_count(path, n_keys, "keys", min(MOST_KEYS, cursor.left // LEAST_KEY))
    metadata: dict[str, Value] = {}
    for _ in range(n_keys):
        key = cursor.text(f"key {len(metadata) + 1}", KEY_LIMIT)
        if not key or key in metadata:
            raise CheckpointError(
                f"{path}: key {len(metadata) + 1} is {'given twice' if key else 'empty'}: {quoted(key)}"
            )
        metadata[key] = read_value(cursor, path, quoted(key))
    alignment = _alignment(path, metadata)
    entries: dict[str, tuple[tuple[int, ...], int, int]] = {}
    for _ in range(n_tensors):
        name = cursor.text(f"the name of tensor {len(entries) + 1}", NAME_LIMIT)
        if name in entries:
            raise CheckpointError(f"{path}: two tensors are called {quoted(name)}")
        entries[name] = _entry(cursor, path, name)
    start = cursor.position + -cursor.position % alignment
    return Header(path, version, metadata, _placed(path, entries, start, alignment, cursor.size))


def _check_magic(path: Path, file: BinaryIO, cursor: Cursor) -> None:
    file.seek(0)
    start = file.read(512)
    if start.startswith(MAGIC):
        cursor.take(len(MAGIC), "the mark of the beginning")
        return
    if (found := disguise(start, cursor.size)) is not None:
        raise CheckpointError(f"{path} {found.replace('; glass reads safetensors', '')}")
    raise CheckpointError(f"{path}: begins with {start[:4]!r}, where a GGUF file has {MAGIC!r}")


def _version(path: Path, cursor: Cursor) -> int:
    version = cursor.u32("the version")
    if version in VERSIONS:
        return version
    if int.from_bytes(version.to_bytes(4, "big"), "little") in (1, *VERSIONS):
        raise CheckpointError(f"{path}: is a big-endian GGUF; glass reads little-endian files, which converters write")
    hint = "it dates from 2023: convert the model anew" if version == 1 else "is it damaged, or newer than glass?"
    raise CheckpointError(f"{path}: is GGUF version {version}; glass reads versions 2 and 3 ({hint})")


def _check_count(path: Path, count: int, what: str, most: int) -> None:
    if count > most:
        raise CheckpointError(f"{path}: claims {count:,} {what}; a file of its size has at most {most:,}")


def _alignment(path: Path, metadata: dict[str, Value]) -> int:
    value = metadata.get("general.alignment", ALIGNMENT)
    if type(value) is not int or value <= 0 or value & (value - 1):
        raise CheckpointError(f"{path}: general.alignment is {value!r}; expected a power of two")
    return value


def _entry(cursor: Cursor, path: Path, name: str) -> tuple[tuple[int, ...], int, int]:
    """Shape, type and offset of one tensor."""
    where = f"{path}: tensor {quoted(name)}"
    what = f"tensor {quoted(name)}"
    n_dimensions = cursor.u32(what)
    if n_dimensions > MOST_DIMENSIONS:
        raise CheckpointError(f"{where} has {n_dimensions:,} dimensions; expected at most {MOST_DIMENSIONS}")
    shape = tuple(cursor.u64(what) for _ in range(n_dimensions))[::-1]  # the file has the fastest first
    if any(n >= 2**63 for n in shape) or math.prod(shape) >= 2**63:
        raise CheckpointError(f"{where} has a shape of more elements than any file holds")
    kind, offset = cursor.u32(what), cursor.u64(what)
    if kind in REMOVED:
        raise CheckpointError(f"{where} is {REMOVED[kind]}, which llama.cpp gave up; get or make the file anew")
    if kind not in TYPES:
        raise CheckpointError(f"{where} has the type {kind:,}, which glass does not know")
    type_name, n_numbers, _ = TYPES[kind]
    if (shape[-1] if shape else 1) % n_numbers:
        raise CheckpointError(f"{where} has rows of {shape[-1:] or 1}; {type_name} packs {n_numbers} numbers at a time")
    return shape, kind, offset


def _placed(
    path: Path, entries: dict[str, tuple[tuple[int, ...], int, int]], start: int, alignment: int, size: int
) -> dict[str, TensorInfo]:
    """The tensors where they lie: each must begin at the first aligned byte after the one before it."""
    placed = {}
    expected = 0
    for name, (shape, kind, offset) in entries.items():
        dtype, n_numbers, block_bytes = TYPES[kind]
        n_bytes = math.prod(shape) // n_numbers * block_bytes
        where = f"{path}: tensor {quoted(name)}"
        if offset != expected:
            raise CheckpointError(f"{where} is said to begin at byte {offset:,} of the data; expected {expected:,}")
        if start + offset + n_bytes > size:
            missing = start + offset + n_bytes - size
            raise CheckpointError(f"{path}: cut off: tensor {quoted(name)} ends {missing:,} bytes past the file's end")
        placed[name] = TensorInfo(name, dtype, shape, n_bytes, path, start + offset)
        expected = offset + n_bytes + -n_bytes % alignment
    return placed
