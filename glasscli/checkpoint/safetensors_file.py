"""One safetensors file: which tensors it says it holds, and their numbers as float32.

The header is parsed here, not by the `safetensors` package: that one accepts two tensors of one name, gives NumPy
no bfloat16 without another package, and answers most damage with one message. The tests compare the two on
damaged files: what the package refuses is refused here.

A file can't make glass take much memory: the header is at most 16 MiB, and a tensor is allocated only after its
shape has been found equal to bytes that the file really has.

The format: 8 bytes little-endian length N, N bytes of JSON {name: {dtype, shape, data_offsets}}, then the data.
Source: https://huggingface.co/docs/safetensors/index, "Format".
"""

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from glasscli.errors import CheckpointError
from glasscli.untrusted_files import JSON_LIMIT, disguise, plain, quoted, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Bits of one element, for every type that the format knows.
DTYPE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "I16": 16, "U16": 16, "I32": 32, "U32": 32, "I64": 64, "U64": 64,
    "F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64,
    "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
READABLE = ("F64", "F32", "F16", "BF16")


@dataclass(frozen=True)
class TensorInfo:
    """What a header says of one tensor. `start` counts bytes from the beginning of `file`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    n_bytes: int
    file: Path
    start: int

    @property
    def n_elements(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


def read_header(path: Path) -> dict[str, TensorInfo]:
    """The tensors of one safetensors file in the order of their bytes, without reading their data.

    Raises:
        CheckpointError: the file is something else, cut off, or contradicts itself; the message names the cause.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            start = file.read(512)
            if (found := disguise(start, size)) is not None:
                raise CheckpointError(f"{path} {found}")
            header = _header_bytes(path, file, start, size)
    except OSError as error:
        raise CheckpointError(f"{path}: can't be read ({error.strerror})") from None
    data_start = 8 + len(header)
    tensors = [_tensor(path, name, entry, data_start) for name, entry in _parse(path, header).items()]
    tensors.sort(key=lambda info: (info.start, info.n_bytes))
    _check_cover(path, tensors, data_start, size)
    return {info.name: info for info in tensors}


def read_tensor(info: TensorInfo, notes: list[str] | None = None) -> "NDArray[np.float32]":
    """The numbers of one tensor as float32, whatever of `READABLE` they are stored in. All are finite.

    Holds the result and at most the stored bytes of this one tensor.

    Args:
        notes: gets a sentence about a NaN or an infinity, which is then no error.

    Raises:
        CheckpointError: another dtype, the file ended, a NaN or an infinity, or no memory for it.
    """
    import numpy as np

    if info.dtype not in READABLE:
        raise CheckpointError(f"{info.file}: {info.name} is {info.dtype}; glass reads {', '.join(READABLE)}")
    try:
        values = np.empty(info.shape, np.float32)
        wide = np.float64 if info.dtype == "F64" else np.uint16
        stored: NDArray[Any] = values if info.dtype == "F32" else np.empty(info.shape, wide)
    except (MemoryError, ValueError):
        raise CheckpointError(f"{info.file}: no memory for {info.name} {list(info.shape)} in float32") from None
    _fill(info, stored)
    if sys.byteorder == "big":  # the file is little-endian
        stored.byteswap(inplace=True)
    if info.dtype == "F16":
        values[...] = stored.view(np.float16)
    elif info.dtype == "F64":
        with np.errstate(over="ignore"):  # what float32 can't hold is named below
            values[...] = stored
    elif info.dtype == "BF16":  # the upper half of a float32
        bits = values.view(np.uint32)
        bits[...] = stored
        bits <<= 16
    finite = np.isfinite(values)
    if not finite.all():
        n_bad = finite.size - int(np.count_nonzero(finite))
        at = [int(i) for i in np.unravel_index(int(finite.argmin()), finite.shape)]
        found = "1 value that is no finite number" if n_bad == 1 else f"{n_bad:,} values that are no finite numbers"
        complaint = f"{info.file}: {info.name} holds {found}, the first {values[tuple(at)]} at {at}"
        if notes is None:
            raise CheckpointError(complaint)
        notes.append(complaint)
    return values


def _fill(info: TensorInfo, array: "NDArray[Any]") -> None:
    """Read the stored bytes of a tensor into `array`."""
    if not info.n_bytes:
        return
    view = memoryview(array.data).cast("B")
    try:
        with info.file.open("rb", buffering=0) as file:
            file.seek(info.start)
            while len(view) and (n := file.readinto(view)):
                view = view[n:]
    except OSError as error:
        raise CheckpointError(f"{info.file}: can't be read ({error.strerror})") from None
    if len(view):
        raise CheckpointError(f"{info.file}: ended while {info.name} was read; did it change?")


def _header_bytes(path: Path, file: BinaryIO, start: bytes, size: int) -> bytes:
    if size < 8:
        raise CheckpointError(f"{path}: has {size} of the 8 bytes that a safetensors file begins with")
    length = int.from_bytes(start[:8], "little")
    if length > size - 8:
        raise CheckpointError(
            f"{path}: the header claims {length:,} bytes, but the file has {size:,} in all; "
            "it is cut off, or no safetensors file"
        )
    if length > JSON_LIMIT:
        raise CheckpointError(f"{path}: the header claims {length:,} bytes; glass reads headers up to {JSON_LIMIT:,}")
    file.seek(8)
    return file.read(length)


def _parse(path: Path, header: bytes) -> dict[str, Any]:
    """The header's JSON, names once each, without the `__metadata__` (which is checked, then dropped)."""
    try:
        document = json.loads(header.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:  # also: not UTF-8, and numbers of thousands of digits
        reason = "nested too deep" if isinstance(error, RecursionError) else plain(str(error))
        raise CheckpointError(f"{path}: the header is not valid JSON ({reason})") from None
    if not isinstance(document, dict):
        raise CheckpointError(f"{path}: the header is a {type(document).__name__}, expected an object of tensors")
    metadata = document.pop("__metadata__", None)
    if metadata is not None and not (
        isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values())
    ):
        raise CheckpointError(f"{path}: __metadata__ in the header is not an object of strings")
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for name, value in pairs:
        if name in document:
            raise ValueError(f"{quoted(name)} stands there twice")
        document[name] = value
    return document


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _tensor(path: Path, name: str, entry: Any, data_start: int) -> TensorInfo:
    where = f"{path}: tensor {quoted(name)}"
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise CheckpointError(f"{where} has no dtype, shape and data_offsets in the header")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPE_BITS:
        raise CheckpointError(f"{where} has the unknown dtype {shown(dtype)}")
    if not _are_sizes(shape):
        raise CheckpointError(f"{where} has the shape {shown(shape)}; expected whole numbers from 0 up")
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise CheckpointError(f"{where} has data_offsets {shown(offsets)}; expected [begin, end]")
    begin, end = offsets
    needed = math.prod(shape) * DTYPE_BITS[dtype]
    if needed != (end - begin) * 8:
        expected = f"{-(-needed // 8):,} bytes" if needed < 2**80 else "far more bytes than any file has"
        raise CheckpointError(
            f"{where} with shape {shown(shape)} in {dtype} needs {expected}, offsets span {end - begin:,}"
        )
    return TensorInfo(name, dtype, tuple(shape), end - begin, path, data_start + begin)


def _are_sizes(value: Any) -> bool:
    """Whether `value` is a short list of whole numbers that a file could have."""
    return isinstance(value, list) and len(value) <= 64 and all(type(n) is int and 0 <= n < 2**63 for n in value)


def _check_cover(path: Path, tensors: list[TensorInfo], data_start: int, size: int) -> None:
    """The tensors must lie one after the other and fill the file: no byte shared, none left over."""
    end, before = data_start, ""
    for info in tensors:
        if info.start < end:
            raise CheckpointError(f"{path}: tensors {quoted(before)} and {quoted(info.name)} overlap in the file")
        if info.start > end:
            raise CheckpointError(f"{path}: bytes {end:,} to {info.start - 1:,} belong to no tensor")
        end, before = info.start + info.n_bytes, info.name
    if end > size:
        raise CheckpointError(
            f"{path}: cut off: the tensors need {end:,} bytes and the file has {size:,}, {end - size:,} too few"
        )
    if end < size:
        raise CheckpointError(f"{path}: the last tensor ends at byte {end:,}, but the file has {size:,}")
