"""Somebody's own numbers, typed or from a file, as float64 arrays of two or three axes.

    typed   1 0; 1 1; 0 1           rows parted by ;, numbers by spaces or commas, heads by |
    .npy    one array               .npz    one of several: FILE.npz:q
    .csv    a line a row            .json   nested lists, or one of an object's: FILE.json:q

A file may be a stranger's: nothing in it is run, and nothing is allocated for numbers that it only claims to hold.
"""

import json
import math
import re
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from glasscli.arrays import Array
from glasscli.errors import UsageError

MOST = 1_000_000  # numbers; this is for tables that are read, not for models
ENDINGS = (".npy", ".npz", ".csv", ".json")
# What a file that is missing, cut short, damaged or locked by a password makes Python raise.
_BROKEN = (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
TYPED = re.compile(r"[0-9eE.,;|+\-−∞infINF\s]*[0-9∞][0-9eE.,;|+\-−∞infINF\s]*")


def read_numbers(source: str) -> Array:
    """The array that `source` is: typed numbers, or the path of a file, behind it `:` and a name.

    Raises:
        UsageError: neither; rows of different lengths; more than a million numbers; a file that can't be read.
    """
    if TYPED.fullmatch(source):
        return typed(source)
    path, _, key = source.rpartition(":")
    if not path or Path(path).suffix not in (".npz", ".json"):
        path, key = source, ""
    ending = Path(path).suffix
    if ending not in ENDINGS:
        raise UsageError(f"{source!r} is neither rows of numbers such as '1 0; 0 1' nor a file ({', '.join(ENDINGS)})")
    try:
        found = _READERS[ending](Path(path), key)
    except _BROKEN as error:
        raise UsageError(f"{path}: can't be read ({getattr(error, 'strerror', None) or error})") from None
    return found


def names_in(path: str) -> list[str]:
    """The arrays that an .npz or .json file holds by name; none of other files.

    Raises:
        UsageError: it can't be read.
    """
    try:
        if Path(path).suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        if Path(path).suffix == ".json":
            document = _document(Path(path))
            return list(document) if isinstance(document, dict) else []
    except _BROKEN as error:
        raise UsageError(f"{path}: can't be read ({getattr(error, 'strerror', None) or error})") from None
    raise UsageError(f"{path}: names no arrays; expected an .npz or .json file")


def typed(text: str) -> Array:
    """Numbers as they are typed: `1 0; 1 1`, heads parted by `|`.

    Raises:
        UsageError: something is no number, or rows differ.
    """
    text = text.replace("−", "-").replace("∞", "inf")
    heads = [
        [[_number(cell) for cell in row.replace(",", " ").split()] for row in head.strip(" ;\n").split(";")]
        for head in text.split("|")
    ]
    return _array(heads if len(heads) > 1 else heads[0], "the numbers")


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise UsageError(f"{cell!r} is no number") from None


def _array(nested: Any, where: str) -> Array:
    """Nested lists as an array; null is −∞, as in glass's own JSON.

    Raises:
        UsageError: rows differ, or something is no number.
    """
    shape = _shape_of(nested, where)
    if math.prod(shape) > MOST:
        raise UsageError(f"{where}: {math.prod(shape):,} numbers; at most {MOST:,} are read")
    flat = nested
    for _ in shape[1:]:
        flat = [each for row in flat for each in row]
    for each in flat:
        if not (each is None or (isinstance(each, int | float) and not isinstance(each, bool))):
            raise UsageError(f"{where}: {each!r} is no number")
    try:
        return np.array([-np.inf if each is None else float(each) for each in flat]).reshape(shape)
    except OverflowError:
        raise UsageError(f"{where}: a number is too large") from None


def _shape_of(nested: Any, where: str) -> tuple[int, ...]:
    if not isinstance(nested, list):
        return ()
    shapes = [_shape_of(each, where) for each in nested]
    for number, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise UsageError(f"{where}: row {number + 1} has {_count(shape)}, row 1 has {_count(shapes[0])}")
    return (len(nested), *(shapes[0] if shapes else ()))


def _count(shape: Sequence[int]) -> str:
    return f"{shape[0]} number{'s' * (shape[0] != 1)}" if len(shape) == 1 else " × ".join(map(str, shape)) or "none"


def _from_npy(path: Path, _: str) -> Array:
    with path.open("rb") as file:
        return _npy(file, str(path))


def _from_npz(path: Path, key: str) -> Array:
    with zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        if not key and len(names) == 1:
            key = names[0]
        if key not in names:
            wanted = f"no array {key!r}" if key else "several arrays: say which"
            raise UsageError(f"{path}: {wanted}. There are: {', '.join(names[:12])}{', …' if len(names) > 12 else ''}")
        with archive.open(f"{key}.npy") as file:
            return _npy(file, f"{path}:{key}")


def _npy(file: IO[bytes], where: str) -> Array:
    """An array whose header has been looked at before room is made for it."""
    try:
        version = np.lib.format.read_magic(file)
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_column, dtype = reader(file)
        if dtype.kind not in "fiu":
            raise UsageError(f"{where}: numbers of the type {dtype}; expected real numbers")
        if min(shape, default=0) < 0:
            raise ValueError(f"its shape is {shape}")
        if math.prod(shape) > MOST:
            raise UsageError(f"{where}: {math.prod(shape):,} numbers; at most {MOST:,} are read")
        data = file.read(math.prod(shape) * dtype.itemsize)
        found = np.frombuffer(data, dtype).reshape(shape[::-1] if by_column else shape)
    except (ValueError, TypeError, SyntaxError, tokenize.TokenError) as error:  # headers are Python literals
        raise UsageError(f"{where}: is no whole .npy array ({error})") from None
    return (found.T if by_column else found).astype(np.float64)


def _from_csv(path: Path, _: str) -> Array:
    rows = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        if line.strip():
            try:
                rows.append([_number(cell.strip()) for cell in line.split(",")])
            except UsageError as error:
                raise UsageError(f"{path}: line {number}: {error}") from None
    return _array(rows, str(path))


def _from_json(path: Path, key: str) -> Array:
    document = _document(path)
    if isinstance(document, dict):
        if key not in document:
            raise UsageError(f"{path}: {f'no {key!r}' if key else 'several arrays: say which'}. "
                             f"There are: {', '.join(list(document)[:12])}")  # fmt: skip
        document = document[key]
    return _array(document, f"{path}:{key}" if key else str(path))


def _document(path: Path) -> Any:
    try:
        return json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is no JSON ({error})") from None


def _text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(32 * MOST + 1)
    if len(data) > 32 * MOST:
        raise UsageError(f"{path}: is longer than {32 * MOST:,} bytes; at most {MOST:,} numbers are read")
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8 at byte {error.start:,}") from None


_READERS = {".npy": _from_npy, ".npz": _from_npz, ".csv": _from_csv, ".json": _from_json}
