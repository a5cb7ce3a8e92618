"""What a GGUF header says, against bytes written by hand after the format's description."""

import os
import struct
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.gguf_files import (
    BOOL,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    LIST,
    TEXT,
    U8,
    U16,
    U32,
    U64,
    As,
    Stored,
    gguf_bytes,
    text,
)

from glasscli.checkpoint.gguf.header import Header, is_gguf, read_header
from glasscli.checkpoint.gguf.values import Listed, shortest
from glasscli.errors import CheckpointError

VALUES: dict[str, tuple[Any, Any]] = {
    "u8": (As(U8, 200), 200), "i8": (As(I8, -3), -3), "u16": (As(U16, 60_000), 60_000), "i16": (As(I16, -9), -9),
    "u32": (As(U32, 2**32 - 1), 2**32 - 1), "i32": (As(I32, -(2**31)), -(2**31)),
    "u64": (As(U64, 2**64 - 1), 2**64 - 1), "i64": (As(I64, -(2**63)), -(2**63)),
    "f32": (As(F32, 1.5), 1.5), "f64": (As(F64, 0.1), 0.1),
    "yes": (As(BOOL, True), True), "no": (As(BOOL, False), False),
    "text": ("héllo\n", "héllo\n"), "empty": ("", ""),
    "texts": (["a", "", "日本"], ["a", "", "日本"]), "none": (As(TEXT, [], items=True), []),
    "numbers": (As(I32, [1, -2, 3], items=True), [1, -2, 3]), "bytes": (As(U8, [0, 255], items=True), [0, 255]),
    "wide": (As(U64, [2**64 - 1], items=True), [2**64 - 1]), "flags": ([True, False, True], [True, False, True]),
    "floats": ([0.5, -2.0], [0.5, -2.0]), "doubles": (As(F64, [0.1], items=True), [0.1]),
}  # fmt: skip


def header_of(tmp_path: Path, data: bytes) -> Header:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    return read_header(path)


def refused(tmp_path: Path, data: bytes) -> str:
    with pytest.raises(CheckpointError) as found:
        header_of(tmp_path, data)
    return str(found.value)


@pytest.mark.parametrize("version", [2, 3])
def test_every_type_of_value(tmp_path: Path, version: int) -> None:
    header = header_of(tmp_path, gguf_bytes({key: written for key, (written, _) in VALUES.items()}, version=version))
    assert header.version == version
    for key, (_, expected) in VALUES.items():
        found = header.metadata[key]
        assert (found.read() if isinstance(found, Listed) else found) == expected, key
        assert type(found) is Listed or type(found) is type(expected), key


def test_tensors_lie_where_the_offsets_say(tmp_path: Path) -> None:
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(5, dtype=np.float16)
    packed = Stored(bytes(range(34)) * 2, (1, 64), 8)
    for alignment in (32, 8, 256):
        metadata = {} if alignment == 32 else {"general.alignment": alignment}
        data = gguf_bytes(metadata, {"a": a, "q": packed, "b": b}, alignment=alignment)
        tensors = header_of(tmp_path, data).tensors
        assert {name: (t.dtype, t.shape, t.n_bytes) for name, t in tensors.items()} == {
            "a": ("F32", (2, 3), 24), "q": ("Q8_0", (1, 64), 68), "b": ("F16", (5,), 10)}  # fmt: skip
        for name, stored in (("a", a.tobytes()), ("q", packed.data), ("b", b.tobytes())):
            start = tensors[name].start
            assert start % alignment == 0
            assert data[start : start + len(stored)] == stored


def test_a_header_that_reading_in_blocks_cuts_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = {key: value for key, (value, _) in VALUES.items()}
    data = gguf_bytes(written, {"a": np.ones(3, np.float32)})
    whole = header_of(tmp_path, data)
    for block in (1, 7, 64):
        monkeypatch.setattr("glasscli.checkpoint.gguf.cursor.BLOCK", block)
        assert header_of(tmp_path, data) == whole


def test_what_begins_otherwise_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is no such file"):
        read_header(tmp_path / "none.gguf")
    with pytest.raises(CheckpointError, match="not a regular file"):
        read_header(tmp_path)
    assert "is empty" in refused(tmp_path, b"")
    assert "Git LFS pointer" in refused(tmp_path, b"version https://git-lfs.github.com/spec/v1\noid")
    assert "web page" in refused(tmp_path, b"<!DOCTYPE html>")
    assert "begins with b'NOPE'" in refused(tmp_path, b"NOPE" + bytes(60))


def test_what_is_read_as_a_gguf(tmp_path: Path) -> None:
    (tmp_path / "named").write_bytes(b"GGUF")
    (tmp_path / "other").write_bytes(b"GGU")
    (tmp_path / "folder.gguf").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert is_gguf(tmp_path / "named")
    assert is_gguf(tmp_path / "absent.gguf")
    for name in ("other", "absent", "folder.gguf", "pipe", "\0"):
        assert not is_gguf(tmp_path / name)


def test_other_versions_and_orders_of_bytes_are_named(tmp_path: Path) -> None:
    assert "version 1; glass reads versions 2 and 3 (it dates from 2023" in refused(tmp_path, gguf_bytes({}, version=1))
    assert "version 4" in refused(tmp_path, gguf_bytes({}, version=4))
    for version in (1, 2, 3):
        assert "big-endian" in refused(tmp_path, b"GGUF" + version.to_bytes(4, "big") + bytes(16))


def counts(n_tensors: int, n_keys: int, rest: bytes = b"") -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, n_tensors, n_keys) + rest


KEY = text("k")
HOSTILE = {
    "keys beyond the file": (counts(0, 2**40), "claims 1,099,511,627,776 keys"),
    "tensors beyond the file": (counts(2**63, 0), "tensors; a file of its size has at most 0"),
    "keys beyond reason": (counts(0, 20_000, bytes(400_000)), "claims 20,000 keys"),
    "an endless key": (counts(0, 1, struct.pack("<Q", 2**60) + bytes(30)), "key 1 claims"),
    "an endless text": (counts(0, 1, KEY + struct.pack("<IQ", TEXT, 2**64 - 1)), "'k' claims"),
    "a text past the end": (counts(0, 1, KEY + struct.pack("<IQ", TEXT, 500)), "needs 500 bytes and the file has 0"),
    "texts beyond the file": (counts(0, 1, KEY + struct.pack("<IIQ", LIST, TEXT, 2**61)), "than the file has room"),
    "numbers beyond the file": (counts(0, 1, KEY + struct.pack("<IIQ", LIST, U64, 2**61)), "cut off"),
    "a text of a list past the end": (
        counts(0, 1, KEY + struct.pack("<IIQQQ", LIST, TEXT, 2, 2**64 - 1, 0)), "cut off: 'k'"),
    "a list of lists": (counts(0, 1, KEY + struct.pack("<IIQ", LIST, LIST, 1)), "list of lists"),
    "an unknown type": (counts(0, 1, KEY + struct.pack("<IQ", 13, 0)), "has the type 13"),
    "a list of an unknown type": (counts(0, 1, KEY + struct.pack("<IIQ", LIST, 77, 0)), "lists the type 77"),
    "a key twice": (gguf_bytes({"a": 1})[:16] + struct.pack("<Q", 2) + (text("a") + struct.pack("<II", U32, 1)) * 2,
                    "key 2 is given twice"),
    "an empty key": (counts(0, 1, text("") + struct.pack("<II", U32, 1)), "key 1 is empty"),
    "a key that is no UTF-8": (counts(0, 1, text(b"\xff\xfe") + struct.pack("<II", U32, 1)), "key 1 is not UTF-8"),
    "a text that is no UTF-8": (gguf_bytes({"k": b"\xc3("}), "'k' is not UTF-8"),
    "an alignment of 0": (gguf_bytes({"general.alignment": 0}), "expected a power of two"),
    "an alignment of 24": (gguf_bytes({"general.alignment": 24}), "general.alignment is 24"),
    "an alignment in words": (gguf_bytes({"general.alignment": "32"}), "general.alignment is '32'"),
    "five dimensions": (gguf_bytes({}, {"t": Stored(b"", (1,) * 5, 0)}), "has 5 dimensions"),
    "elements beyond any file": (gguf_bytes({}, {"t": Stored(b"", (2**62, 2**62), 0)}), "more elements"),
    "a size below zero": (gguf_bytes({}, {"t": Stored(b"", (2**64 - 1, 0), 0)}), "more elements"),
    "an unknown tensor type": (gguf_bytes({}, {"t": Stored(b"", (1,), 999)}), "has the type 999"),
    "a type that is no more": (gguf_bytes({}, {"t": Stored(b"", (32,), 31)}), "is Q4_0_4_4, which llama.cpp gave up"),
    "rows that are no blocks": (gguf_bytes({}, {"t": Stored(bytes(34), (2, 16), 8)}), "packs 32 numbers at a time"),
    "data cut off": (gguf_bytes({}, {"t": np.ones(8, np.float32)})[:-1], "ends 1 bytes past the file's end"),
    "a tensor over another": (
        gguf_bytes({}, {"t": np.ones(64, np.float32), "u": Stored(bytes(4), (1,), 0, offset=32)}),
        "begin at byte 32 of the data; expected 256"),
    "a gap": (gguf_bytes({}, {"t": Stored(bytes(4), (1,), 0, offset=32)}), "expected 0"),
    "an offset beyond any file": (gguf_bytes({}, {"t": Stored(bytes(4), (1,), 0, offset=2**64 - 32)}), "expected 0"),
    "an endless name": (gguf_bytes({}, {"t" * 300: np.ones(1, np.float32)}), "claims 300 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers_are_refused(tmp_path: Path, name: str) -> None:
    data, words = HOSTILE[name]
    message = refused(tmp_path, data)
    assert words in message
    assert len(message) < 300


def test_a_tensor_twice(tmp_path: Path) -> None:
    data = gguf_bytes({}, {"t": np.ones(8, np.float32), "u": np.ones(8, np.float32)})
    assert "two tensors are called 't'" in refused(tmp_path, data.replace(text("u"), text("t")))


def test_a_list_whose_texts_are_no_utf8_is_named_when_read(tmp_path: Path) -> None:
    found = header_of(tmp_path, gguf_bytes({"k": As(TEXT, ["a", b"\xff"], items=True)})).metadata["k"]
    assert isinstance(found, Listed)
    with pytest.raises(CheckpointError, match="text 1 of 'k' is not UTF-8"):
        found.read()


def test_a_list_that_changed_after_the_header_was_read(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    data = gguf_bytes({"texts": ["one", "two"], "numbers": [1, 2, 3]})
    found = header_of(tmp_path, data).metadata
    path.write_bytes(data[:-5])
    with pytest.raises(CheckpointError, match="did it change"):
        found["numbers"].read()
    path.write_bytes(data.replace(text("one"), text(b"one")[:7] + b"\x01one"))
    with pytest.raises(CheckpointError, match="did it change"):
        found["texts"].read()


def test_float32_is_told_in_the_fewest_digits() -> None:
    for value in (1e-5, 1e-6, 0.1, 10_000.0, 1_000_000.0, 0.0078125, 32.5, 0.0, 3.4e38):
        assert shortest(struct.unpack("<f", struct.pack("<f", value))[0]) == value
    for value in (0.1234567890123, 1e300, float("inf")):
        assert shortest(value) == value


def test_a_vocabulary_of_262144_takes_a_quarter_of_a_second_and_no_numpy(tmp_path: Path) -> None:
    tokens = [f"token{i}" for i in range(262_144)]
    data = gguf_bytes({"tokens": tokens, "scores": [0.5] * len(tokens), "after": 1})
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    took = []
    for _ in range(5):
        start = time.process_time()
        header = read_header(path)
        took.append(time.process_time() - start)
    assert header.metadata["after"] == 1
    assert header.metadata["tokens"].read() == tokens
    assert min(took) < 0.25, took


def test_the_header_needs_no_numpy() -> None:
    import subprocess

    program = "import sys; import glasscli.checkpoint.gguf.header; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"
