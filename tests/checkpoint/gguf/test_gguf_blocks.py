"""Packed numbers made float32: equal to the bit to what the `gguf` package makes, and to blocks by hand."""

import struct
from pathlib import Path

import numpy as np
import pytest

from glasscli.checkpoint.gguf.blocks import DEQUANTISE
from glasscli.checkpoint.gguf.tensor_types import BLOCKS, READABLE, TYPES

VECTORS = np.load(Path(__file__).parents[2] / "data" / "gguf" / "blocks.npz")  # made by make_blocks.py beside it


def half(value: float) -> bytes:
    return struct.pack("<e", value)


def numbers(name: str, block: bytes) -> list[float]:
    assert len(block) == BLOCKS[name][1]
    found = DEQUANTISE[name](np.frombuffer(block, np.uint8)[None])
    assert found.dtype == np.float32
    assert found.shape == (1, BLOCKS[name][0])
    return found[0].tolist()


@pytest.mark.parametrize("name", [name for name in VECTORS.files if not name.endswith(" is")])
def test_random_blocks_are_those_of_the_gguf_package(name: str) -> None:
    found, expected = DEQUANTISE[name](VECTORS[name]), VECTORS[f"{name} is"]
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))


def test_every_quantised_type_that_is_read_has_a_vector() -> None:
    quantised = {name for name in READABLE if BLOCKS[name][0] > 1}
    assert quantised == {name for name in VECTORS.files if not name.endswith(" is")}
    assert set(READABLE) == set(DEQUANTISE)
    assert len({name for name, _, _ in TYPES.values()}) == len(TYPES)


def test_blocks_of_32_by_hand() -> None:
    nibbles = bytes([0xF0, 0x21] + [0x88] * 14)  # numbers 0 and 1: 0, 1; numbers 16 and 17: 15, 2; else 8
    first, second = [0, 1] + [8] * 14, [15, 2] + [8] * 14
    assert numbers("Q4_0", half(0.5) + nibbles) == [0.5 * (q - 8) for q in first + second]
    assert numbers("Q4_1", half(0.5) + half(-3) + nibbles) == [0.5 * q - 3 for q in first + second]
    fifth = struct.pack("<I", 1 | 1 << 17)  # numbers 0 and 17 have 16 more
    more = [q + 16 * (i in (0, 17)) for i, q in enumerate(first + second)]
    assert numbers("Q5_0", half(2) + fifth + nibbles) == [2 * (q - 16) for q in more]
    assert numbers("Q5_1", half(2) + half(0.25) + fifth + nibbles) == [2 * q + 0.25 for q in more]
    assert numbers("Q8_0", half(-0.25) + bytes([255, 128, 127] + [0] * 29)) == [0.25, 32, -31.75] + [0] * 29
    assert numbers("IQ4_NL", half(1) + nibbles)[:2] == [-127, -104]


def test_numbers_that_are_not_packed() -> None:
    assert numbers("F32", struct.pack("<f", 0.1)) == [struct.unpack("<f", struct.pack("<f", 0.1))[0]]
    assert numbers("F16", half(-0.5)) == [-0.5]
    assert numbers("BF16", struct.pack("<f", 1.0)[2:]) == [1.0]
    assert numbers("F64", struct.pack("<d", 1.5)) == [1.5]
    assert numbers("F64", struct.pack("<d", 1e300)) == [float("inf")]
