"""The rotation: orthonormal, its own inverse, as wide as llama.cpp makes it."""

import numpy as np
import pytest
from helpers.numbers_to_pack import bell

from glasscli.cache.formats.registry import FORMATS
from glasscli.cache.formats.rotation import hadamard, rotate, rotation_size


@pytest.mark.parametrize("size", [1, 2, 32, 64, 128, 256])
def test_it_is_orthonormal_and_symmetric(size: int) -> None:
    matrix = hadamard(size)
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(matrix.astype(np.float64) @ matrix, np.eye(size), atol=1e-6)
    np.testing.assert_allclose(np.abs(matrix), size**-0.5, rtol=1e-7)


def test_signs_are_sylvesters() -> None:
    """Entry (i, j) is negative iff i and j have an odd number of bits in common."""
    odd = [[(i & j).bit_count() % 2 == 1 for j in range(64)] for i in range(64)]
    np.testing.assert_array_equal(np.signbit(hadamard(64)), odd)


@pytest.mark.parametrize(
    ("width", "keys", "values"),
    [(32, 1, 1), (48, 1, 1), (64, 64, 64), (80, 1, 1), (96, 1, 1), (128, 128, 64), (192, 64, 64), (256, 256, 64),
     (320, 64, 64), (384, 128, 64), (512, 512, 64), (576, 64, 64)],
)  # fmt: skip
def test_widths_as_in_llama_cpp(width: int, keys: int, values: int) -> None:
    """Its loop, written out: from 64, doubled while it divides the width."""
    assert (rotation_size("k", width), rotation_size("v", width)) == (keys, values)
    if width % 64 == 0:
        size = 64
        while width % (2 * size) == 0:
            size *= 2
        assert size == keys


@pytest.mark.parametrize(("width", "size"), [(64, 64), (128, 64), (192, 64), (128, 128), (32, 1)])
def test_turning_twice_gives_the_rows_back_and_scores_do_not_change(width: int, size: int) -> None:
    q, k = bell(4 * width, 1.0, 1).reshape(4, width), bell(9 * width, 1.0, 2).reshape(9, width)
    turned = rotate(k, size)
    assert turned.shape == k.shape
    assert (size == 1) == np.array_equal(turned, k)
    np.testing.assert_allclose(rotate(turned, size), k, atol=2e-6)
    np.testing.assert_allclose(rotate(q, size) @ turned.T, q @ k.T, atol=1e-4)


def test_no_rows_are_no_trouble() -> None:
    assert rotate(np.zeros((2, 0, 64), np.float32), 64).shape == (2, 0, 64)


def test_blocks_are_turned_each_by_itself() -> None:
    x = bell(128, 1.0).reshape(1, 128)
    np.testing.assert_allclose(rotate(x, 64)[:, 64:], rotate(x[:, 64:], 64), atol=1e-6)


def test_it_spares_the_others_when_one_channel_is_large() -> None:
    """What it is for: 4 bits lose less of a row with an outlier once it is turned."""
    fmt, x = FORMATS["q4_0"], bell(500 * 64, 1.0).reshape(500, 64)
    x[:, 7] *= 30
    plain = np.square(fmt.unpack(fmt.pack(x)) - x).mean()
    turned = np.square(rotate(fmt.unpack(fmt.pack(rotate(x, 64))), 64) - x).mean()
    assert turned < plain / 2
