"""The small functions of every layer, against their formulas worked out with Python's own floats."""

import math

import numpy as np
import pytest

from glasscli.model.ops import (
    ACTIVATIONS,
    Norm,
    fit_for_softmax,
    layer_norm,
    linear,
    norm,
    rms_norm,
    row_sums,
    silu,
    softmax,
    swiglu,
)

X = np.array([[3.0, -4.0, 0.0, 12.0], [1e-3, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]], np.float32)
WEIGHT = np.array([1.0, 2.0, 3.0, 0.5], np.float32)


def test_a_row_over_its_root_mean_square() -> None:
    """3, −4, 0, 12: their squares sum to 169, so √(169/4) = 6.5."""
    y = rms_norm(X[:1], WEIGHT, 1e-6)
    np.testing.assert_allclose(y, [[3 / 6.5, -8 / 6.5, 0, 6 / 6.5]], rtol=1e-6)
    assert y.dtype == np.float32


def test_epsilon_stands_under_the_root() -> None:
    y = rms_norm(X, np.ones(4, np.float32), 1e-5)
    assert y[1, 0] == pytest.approx(1e-3 / math.sqrt(1e-6 / 4 + 1e-5), rel=1e-5)
    assert not y[2].any()


def test_a_layer_norm_takes_the_mean_away_first() -> None:
    row = np.array([1.0, 3.0, 5.0, 7.0], np.float32)  # mean 4, variance 5
    expected = [-3 / math.sqrt(5), -2 / math.sqrt(5), 3 / math.sqrt(5), 1.5 / math.sqrt(5)]
    np.testing.assert_allclose(layer_norm(row, WEIGHT, 0.0), expected, rtol=1e-6)
    bias = np.float32([10, 20, 30, 40])
    np.testing.assert_allclose(norm(row, Norm(WEIGHT, bias, centred=True), 0.0), expected + bias, rtol=1e-6)
    np.testing.assert_allclose(norm(row, Norm(WEIGHT), 0.0), rms_norm(row, WEIGHT, 0.0))
    assert norm(row, None, 0.0) is row


def test_softmax_by_hand() -> None:
    """e^ln 3 against e^ln 1: three quarters and one; what is hidden gets exactly nothing."""
    scores = np.array([[math.log(3), 0.0, -np.inf], [1000.0, 1000.0 - math.log(4), -1000.0]], np.float32)
    np.testing.assert_allclose(softmax(scores), [[0.75, 0.25, 0], [0.8, 0.2, 0]], rtol=1e-4)
    assert softmax(scores)[0, 2] == 0
    in_place = scores.copy()
    assert softmax(in_place, out=in_place) is in_place
    np.testing.assert_array_equal(in_place, softmax(scores))


def test_the_softmax_without_its_largest_score_is_taken_only_where_it_is_as_exact() -> None:
    """The bounds of the docstring. At 1e-25 the smallest float32 is 1e-20 of the sum; to 1e25, values of a million
    have thirteen more powers of ten before they overflow."""
    for least, most in ((1.1e-25, 1.0), (1.0, 0.9e25), (1.0, 1.0)):
        assert fit_for_softmax(least, most)
    for least, most in ((0.9e-25, 1.0), (1.0, 1.1e25), (0.0, 1.0), (1.0, math.inf), (math.nan, 1.0), (1.0, math.nan)):
        assert not fit_for_softmax(least, most)


def test_activations_by_their_definitions() -> None:
    x = np.array([-100.0, -3.0, -0.5, 0.0, 0.5, 3.0, 100.0], np.float32)
    sigmoid = [t / (1 + math.exp(-t)) if t > -50 else 0.0 for t in x.tolist()]
    np.testing.assert_allclose(silu(x), sigmoid, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(swiglu(x, 2 * np.ones_like(x)), np.array(sigmoid) * 2, rtol=1e-5, atol=1e-6)
    # Φ itself; the tanh formula is within 5e-4 of it
    gelu = [t * 0.5 * (1 + math.erf(t / math.sqrt(2))) for t in x.tolist()]
    np.testing.assert_allclose(ACTIVATIONS["gelu_tanh"](x), gelu, atol=5e-4)
    assert ACTIVATIONS["gelu_tanh"](np.float32([1.0]))[0] == pytest.approx(0.841192, abs=1e-6)
    np.testing.assert_allclose(ACTIVATIONS["gelu"](x), gelu, rtol=1e-5, atol=1e-6)
    assert ACTIVATIONS["silu"] is silu


def test_linear_and_row_sums_keep_the_leading_axes() -> None:
    x = np.arange(12, dtype=np.float32).reshape(2, 1, 2, 3)
    y = linear(x, np.float32([[1, 0], [0, 1], [1, 1]]), np.float32([100, 0]))
    assert y.tolist() == [[[[102, 3], [108, 9]]], [[[114, 15], [120, 21]]]]
    assert row_sums(x).tolist() == [[[[3], [12]]], [[[21], [30]]]]
