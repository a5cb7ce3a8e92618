"""GGUF files by hand, byte for byte, for tests: what a converter writes, and what none would."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, LIST, U64, I64, F64 = range(13)
_CODES = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q", I64: "q", F64: "d"}
TYPE_NUMBERS = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 8, "BF16": 30}


# What every header of a Llama says; a test adds to it or takes away.
LLAMA = {
    "general.architecture": "llama", "llama.block_count": 2, "llama.context_length": 64, "llama.embedding_length": 8,
    "llama.feed_forward_length": 12, "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2,
    "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.vocab_size": 10,
}  # fmt: skip


@dataclass(frozen=True)
class As:
    """A value with the type that the file shall give it; `items` makes it a list of that type."""

    kind: int
    value: Any
    items: bool = False


@dataclass(frozen=True)
class Stored:
    """A tensor as it shall stand in the file: any bytes, called any shape and type."""

    data: bytes
    shape: Sequence[int]
    kind: int
    offset: int | None = None


def text(value: str | bytes) -> bytes:
    """A length in eight bytes, then the bytes."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def typed(value: Any) -> As:
    """What a Python value is usually written as."""
    if isinstance(value, As):
        return value
    if isinstance(value, list | tuple):
        return As(typed(value[0]).kind if value else I32, value, items=True)
    return As({bool: BOOL, int: U32, float: F32, str: TEXT, bytes: TEXT}[type(value)], value)


def as_written(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata whose types of tokens have the type of number that converters give them."""
    kinds = metadata.get("tokenizer.ggml.token_type")
    return {**metadata, "tokenizer.ggml.token_type": As(I32, kinds, items=True)} if kinds else dict(metadata)


def packed(value: Any) -> bytes:
    """A value with its type before it."""
    found = typed(value)
    if not found.items:
        return struct.pack("<I", found.kind) + _one(found.kind, found.value)
    items = b"".join(_one(found.kind, item) for item in found.value)
    return struct.pack("<IIQ", LIST, found.kind, len(found.value)) + items


def gguf_bytes(
    metadata: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any] | Stored] | None = None,
    version: int = 3,
    alignment: int = 32,
) -> bytes:
    """A whole file. Arrays of float32 and float16 are stored as they are."""
    stored = {name: _stored(tensor) for name, tensor in (tensors or {}).items()}
    head = b"GGUF" + struct.pack("<IQQ", version, len(stored), len(metadata))
    for key, value in metadata.items():
        head += text(key) + packed(value)
    data = b""
    for name, tensor in stored.items():
        data += b"\0" * (-len(data) % alignment)
        sizes = tuple(tensor.shape)[::-1]
        offset = len(data) if tensor.offset is None else tensor.offset
        head += text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, tensor.kind, offset)
        data += tensor.data
    return head + b"\0" * (-len(head) % alignment) + data if stored else head


def write_gguf(path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, Any] | None = None, **how: int) -> Path:
    """`gguf_bytes` into a file; its path."""
    path.write_bytes(gguf_bytes(metadata, tensors, **how))
    return path


def _one(kind: int, value: Any) -> bytes:
    return text(value) if kind == TEXT else struct.pack(f"<{_CODES[kind]}", value)


def _stored(tensor: NDArray[Any] | Stored) -> Stored:
    if isinstance(tensor, Stored):
        return tensor
    kind = {np.dtype(np.float32): 0, np.dtype(np.float16): 1}[tensor.dtype]
    return Stored(np.ascontiguousarray(tensor).tobytes(), tensor.shape, kind)
