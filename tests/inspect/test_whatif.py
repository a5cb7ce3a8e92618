"""What-ifs and the softmax Jacobian, on numbers that can be followed by hand."""

import math

import numpy as np
import pytest

from glasscli.errors import UsageError
from glasscli.inspect.trace import LayerTrace
from glasscli.inspect.whatif import jacobian_facts, sharpness, softmax_jacobian, what_if_pattern
from glasscli.model.attention import attend, causal_mask
from glasscli.model.ops import softmax

# The example of the README: Q = K, one head, E = 2.
Q = np.array([[[1, 0], [1, 1], [0, 1]]], dtype=np.float32)
V = np.array([[[2, 0], [0, 2], [2, 2]]], dtype=np.float32)


def hand_trace() -> LayerTrace:
    mask = causal_mask(3, 3, 0)
    mix, pattern = attend(Q, Q, V, mask)
    scores = (Q @ Q.transpose(0, 2, 1) / math.sqrt(2)).astype(np.float32)
    flat = np.zeros((3, 2), np.float32)
    attention = (flat, flat, Q, Q, V, Q, Q, Q, V, scores, mask, pattern, mix, flat)
    return LayerTrace(0, 0, *attention, *[flat] * 6)


def test_the_example_of_the_readme() -> None:
    mix, pattern = attend(Q, Q, V, causal_mask(3, 3, 0))
    weights = [[1, 0, 0], [0.330238, 0.669762, 0], [0.197776, 0.401112, 0.401112]]
    np.testing.assert_allclose(pattern[0], weights, atol=1e-6)
    np.testing.assert_allclose(mix[0], [[2, 0], [0.660477, 1.339523], [1.197776, 1.604448]], atol=1e-6)


def test_without_the_mask_every_query_sees_every_key() -> None:
    scores, mask, pattern = what_if_pattern(hand_trace(), "no-mask", 1 / math.sqrt(2))
    assert (pattern > 0).all()
    np.testing.assert_allclose(pattern.sum(axis=-1), 1, atol=1e-6)
    # Row 0: scores 1, 1, 0 over √2, by hand.
    e = math.exp(1 / math.sqrt(2))
    np.testing.assert_allclose(pattern[0, 0], [e / (2 * e + 1), e / (2 * e + 1), 1 / (2 * e + 1)], atol=1e-6)
    facts = sharpness(scores[0], mask, pattern[0], 0)
    ahead = 1 / (e + e * e + e)  # row 1 of scores 1, 2, 1: what key 2 gets is e / (e + e² + e)
    assert facts.ahead == pytest.approx((ahead * e + 0) / 2, abs=1e-6)


def test_without_the_scale_scores_are_plain_dot_products() -> None:
    scores, _, pattern = what_if_pattern(hand_trace(), "no-scale", 1 / math.sqrt(2))
    np.testing.assert_allclose(scores[0], Q[0] @ Q[0].T, atol=1e-6)
    e = math.e
    np.testing.assert_allclose(pattern[0, 1], [e / (e + e**2), e**2 / (e + e**2), 0], atol=1e-6)
    assert np.array_equal(pattern[0] > 0, causal_mask(3, 3, 0))


def test_what_ifs_change_nothing_in_the_trace() -> None:
    trace = hand_trace()
    before = trace.scores_HTS.copy()
    for change in ("no-mask", "no-scale"):
        what_if_pattern(trace, change, 1 / math.sqrt(2))
    assert np.array_equal(trace.scores_HTS, before)


def test_an_unknown_what_if_lists_those_there_are() -> None:
    with pytest.raises(UsageError, match="no-mask, no-scale"):
        what_if_pattern(hand_trace(), "no-softmax", 1 / math.sqrt(2))


def test_sharpness_of_a_decided_and_an_even_head() -> None:
    scores = np.zeros((2, 2), np.float32)
    mask = causal_mask(2, 2, 0)
    decided = sharpness(scores, mask, np.array([[1.0, 0], [0, 1]]), 0)
    assert (decided.entropy_bits, decided.largest, decided.saturated, decided.gradient) == (0, 1, 1, 0)
    even = sharpness(scores, mask, np.array([[1.0, 0], [0.5, 0.5]]), 0)
    assert (even.entropy_bits, even.largest, even.saturated, even.gradient) == (1, 0.5, 0, 0.5)


@pytest.mark.parametrize(("largest", "share"), [(0.5, 0), (0.9, 0), (0.989, 0), (0.991, 0.5), (1.0, 0.5)])
def test_a_row_has_decided_past_99_per_cent(largest: float, share: float) -> None:
    """The screen's column is called `> .99`. Row 0, which sees itself alone, is no decision and is left out."""
    pattern = np.array([[1, 0, 0], [0.5, 0.5, 0], [1 - largest, largest, 0]])
    facts = sharpness(np.zeros((3, 3)), causal_mask(3, 3, 0), pattern, 0)
    assert facts.saturated == share
    assert facts.largest == pytest.approx((0.5 + max(largest, 1 - largest)) / 2)


def test_scores_whose_weight_is_lost_to_rounding_count_in_their_spread() -> None:
    scores = np.array([[0, 0], [0, 200]], np.float32)
    facts = sharpness(scores, causal_mask(2, 2, 0), softmax(scores), 0)
    assert softmax(scores)[1, 0] == 0
    assert facts.score_std == 100


def test_jacobian_by_hand() -> None:
    jacobian = softmax_jacobian(np.array([0.25, 0.75], np.float32))
    assert jacobian.tolist() == [[0.1875, -0.1875], [-0.1875, 0.1875]]
    assert jacobian.dtype == np.float64


@pytest.mark.parametrize("n", [1, 2, 9, 40])
def test_jacobian_properties(n: int) -> None:
    scores = np.random.default_rng(n).normal(0, 3, n).astype(np.float32)
    jacobian, facts = jacobian_facts(scores)
    assert jacobian.shape == (n, n)
    assert facts.asymmetry == 0
    assert facts.row_sum < 1e-15
    assert facts.smallest_eigenvalue > -1e-15
    assert facts.largest_eigenvalue + 1e-15 >= 0
    assert facts.largest_eigenvalue <= 0.5 + 1e-12
    assert facts.numeric_gap < 1e-9


def test_jacobian_moves_the_weights_as_predicted() -> None:
    scores = np.array([0.3, -1.2, 2.0, 0.1])
    jacobian, _ = jacobian_facts(scores)
    push = 1e-6 * np.array([1.0, -2.0, 0.5, 0.0])

    def softmax(s: np.ndarray) -> np.ndarray:
        return np.exp(s) / np.exp(s).sum()

    np.testing.assert_allclose(softmax(scores + push) - softmax(scores), jacobian @ push, atol=1e-11)
