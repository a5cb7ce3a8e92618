"""Blocks equal libggml's, byte for byte; `make_ggml.py` wrote down what those are."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.numbers_to_pack import blocks, digest, extremes

from glasscli.cache.formats.registry import FORMATS

STORED = json.loads((Path(__file__).parent / "ggml_blocks.json").read_text())
NAMES = list(STORED["sha256"])


@pytest.mark.parametrize("name", NAMES)
def test_many_blocks_are_libggmls(name: str) -> None:
    """131,072 values each at three scales, on ties, at whole numbers, near the least and the largest half."""
    fmt = FORMATS[name]
    assert len(blocks()) == 7
    for case, x in blocks().items():
        packed = fmt.pack(x)
        stored = STORED["sha256"][name][case]
        assert digest(packed) == stored["packed"], case
        assert digest(fmt.unpack(packed)) == stored["read"], case


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", extremes())
def test_single_blocks_are_libggmls(name: str, case: str) -> None:
    fmt, stored = FORMATS[name], STORED["extremes"][name][case]
    packed = fmt.pack(extremes()[case])
    assert packed.tobytes().hex() == stored["packed"]
    np.testing.assert_array_equal(fmt.unpack(packed), np.frombuffer(bytes.fromhex(stored["read"]), "<f4"))


def test_q8_0_by_hand() -> None:
    """amax = 254: one level is worth 2, 63 rounds from 31.5 to 32 and −63 to −32, away from zero."""
    x = np.zeros(32, np.float32)
    x[:4] = 254, 63, -63, 62.9
    cell = FORMATS["q8_0"].pack(x)[0]
    assert cell["d"] == 2
    assert cell["levels"][:5].tolist() == [127, 32, -32, 31, 0]


def test_q4_0_by_hand() -> None:
    """The first of the largest magnitudes, 8, becomes level −8: a step of −1. Byte j holds values j and j + 16."""
    x = np.zeros(32, np.float32)
    x[0], x[1], x[16] = 8, -8, 3
    cell = FORMATS["q4_0"].pack(x)[0]
    assert cell["d"] == -1
    assert cell["low"][:3].tolist() == [0 | (-3 + 8) << 4, 15 | 8 << 4, 8 | 8 << 4]
    assert FORMATS["q4_0"].unpack(FORMATS["q4_0"].pack(x))[[0, 1, 16]].tolist() == [8, -7, 3]


def test_q5_1_by_hand() -> None:
    """From −1 to 30: a step of 1, level = x + 1; the fifth bit of value j is bit j of the four bytes."""
    x = np.full(32, -1, np.float32)
    x[3], x[20] = 30, 16
    cell = FORMATS["q5_1"].pack(x)[0]
    assert (cell["d"], cell["min"]) == (1, -1)
    assert int.from_bytes(cell["high"].tobytes(), "little") == 1 << 3 | 1 << 20
    assert cell["low"][3] == 15
    assert cell["low"][4] == 1 << 4


def test_a_step_below_the_least_float_with_a_reciprocal_reads_as_its_minimum() -> None:
    """C leaves the levels open there; the scale is 0 as a half, so that nothing depends on them."""
    x = (np.arange(32, dtype=np.float32) - 15) * np.float32(1e-43)
    for name in NAMES:
        np.testing.assert_array_equal(FORMATS[name].unpack(FORMATS[name].pack(x)), 0)
