"""2 and 4 bits: the levels are optimum-quanto's, the grouping is KIVI's formula."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.numbers_to_pack import bell, digest, whole

from glasscli.cache.formats.bits import join_bits, split_bits
from glasscli.cache.formats.kivi import quantise
from glasscli.cache.formats.registry import FORMATS

STORED = json.loads((Path(__file__).parent / "kivi_groups.json").read_text())["sha256"]


@pytest.mark.parametrize("bits", [2, 4])
def test_levels_are_optimum_quantos(bits: int) -> None:
    cases = {f"bell {scale:g}": bell(131_072, scale) for scale in (1e-3, 1.0, 100.0)}
    cases["ties"] = whole(131_072, -16, 16, 0.5)
    assert set(cases) == set(STORED[str(bits)])
    for case, x in cases.items():
        levels, step, floor = quantise(x.reshape(-1, 32), bits)
        stored = STORED[str(bits)][case]
        assert digest(levels.astype(np.uint8)) == stored["levels"], case
        assert digest(step) == stored["scale"], case
        assert digest(step * levels + floor) == stored["read"], case


@pytest.mark.parametrize("bits", [2, 4])
def test_values_are_grouped_by_channels_of_a_token(bits: int) -> None:
    """Written out: every 32 channels of every token, scale and zero rounded to halves for keeping."""
    fmt = FORMATS[f"kivi{bits}"]
    v = bell(7 * 64, 1.0).reshape(7, 64)
    read = fmt.unpack(fmt.pack(v))
    for token in range(7):
        for start in (0, 32):
            group = v[token, start : start + 32]
            np.testing.assert_array_equal(read[token, start : start + 32], by_formula(group, bits))


@pytest.mark.parametrize("bits", [2, 4])
def test_keys_are_grouped_by_tokens_of_a_channel(bits: int) -> None:
    """Two groups of 32 tokens, packed as rows of tokens. A channel that is large for all tokens harms no other."""
    fmt = FORMATS[f"kivi{bits}"]
    k_SE = bell(64 * 48, 1.0).reshape(64, 48)
    k_SE[:, 5] += 100
    packed = fmt.pack(k_SE.T)
    assert packed.shape == (48, 2)
    read = fmt.unpack(packed).T
    for channel in range(48):
        for start in (0, 32):
            group = k_SE[start : start + 32, channel]
            np.testing.assert_array_equal(read[start : start + 32, channel], by_formula(group, bits))
    others = np.delete(np.arange(48), 5)
    assert np.abs(read - k_SE)[:, others].max() < 4 / (2**bits - 1)

    q_GE = bell(3 * 48, 1.0, seed=8).reshape(3, 48)
    np.testing.assert_allclose(fmt.mix(q_GE, packed), q_GE @ read.T.astype(np.float64), rtol=0, atol=2e-3)


def by_formula(group: np.ndarray, bits: int) -> np.ndarray:
    """KIVI, equation 1, for one group, in float32 with scale and zero kept as halves."""
    zero = group.min()
    scale = (group.max() - zero) / np.float32(2**bits - 1)
    levels = np.rint((group - zero) / scale)
    return levels * np.float32(np.float16(scale)) + np.float32(np.float16(zero))


@pytest.mark.parametrize("bits", [2, 4])
def test_equal_numbers_come_back(bits: int) -> None:
    x = np.full(32, -1.5, np.float32)
    np.testing.assert_array_equal(FORMATS[f"kivi{bits}"].unpack(FORMATS[f"kivi{bits}"].pack(x)), x)


@pytest.mark.parametrize("bits", [2, 4])
def test_bits_are_joined_and_split(bits: int) -> None:
    levels = np.random.default_rng(0).integers(0, 2**bits, (3, 5, 32), np.uint8)
    joined = join_bits(levels, bits)
    assert joined.shape == (3, 5, 4 * bits)
    back = np.empty_like(levels)
    split_bits(joined, bits, back)
    np.testing.assert_array_equal(back, levels)
    span = 32 * bits // 8
    assert joined[0, 0, 1] == sum(int(levels[0, 0, 1 + part * span]) << part * bits for part in range(8 // bits))
