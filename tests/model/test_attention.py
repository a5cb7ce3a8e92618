"""Attention, rotary embedding and masks, on cases small enough to check by hand."""

import math

import numpy as np
import pytest

from glasscli import UsageError, attend, attend_blocked, causal_mask
from glasscli.config.rotary import RopeScaling
from glasscli.model.rope import frequencies, half_split_order, pair_order, rotate, rotations

RNG = np.random.default_rng(0)


def random(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def test_the_example_anyone_can_check_by_hand() -> None:
    """Scores 1/√2 · [[1], [1, 2], [0, 1, 1]]; e^(1/√2) = 2.028115."""
    q = np.array([[[1, 0], [1, 1], [0, 1]]], np.float32)
    v = np.array([[[2, 0], [0, 2], [2, 2]]], np.float32)
    mixed, pattern = attend(q, q, v, causal_mask(3, 3, 0), scale=1 / math.sqrt(2))
    weights = [[1, 0, 0], [0.330238, 0.669762, 0], [0.197776, 0.401112, 0.401112]]
    np.testing.assert_allclose(pattern[0], weights, atol=1e-6)
    np.testing.assert_allclose(mixed[0], [[2, 0], [0.660477, 1.339523], [1.197776, 1.604448]], atol=1e-6)
    np.testing.assert_allclose(attend_blocked(q, q, v, 0, q_block=2, k_block=2), mixed, atol=1e-6)


def test_a_query_sees_a_key_unless_it_comes_later() -> None:
    for start in range(6):
        for n in range(1, 6):
            mask = causal_mask(n, start + n, start)
            assert mask.shape == (n, start + n)
            for i in range(n):
                for j in range(start + n):
                    assert mask[i, j] == (not j > start + i)


@pytest.mark.parametrize(("n_heads", "n_kv_heads"), [(4, 4), (4, 2), (6, 2), (4, 1)])
def test_query_head_h_reads_kv_head_h_over_group(n_heads: int, n_kv_heads: int) -> None:
    """Each key/value head's values spell its own number, and so must what its query heads mix."""
    values = np.repeat(np.arange(n_kv_heads, dtype=np.float32), 5 * 8).reshape(n_kv_heads, 5, 8)
    mixed, _ = attend(random(n_heads, 3, 8), random(n_kv_heads, 5, 8), values, causal_mask(3, 5, 2))
    for h in range(n_heads):
        np.testing.assert_allclose(mixed[h], h // (n_heads // n_kv_heads), atol=1e-6)


def test_grouped_heads_equal_repeated_keys() -> None:
    q, k, v, mask = random(6, 4, 8), random(2, 7, 8), random(2, 7, 8), causal_mask(4, 7, 3)
    grouped = attend(q, k, v, mask)
    repeated = attend(q, k.repeat(3, axis=0), v.repeat(3, axis=0), mask)
    np.testing.assert_allclose(grouped[0], repeated[0], atol=1e-6)
    np.testing.assert_allclose(grouped[1], repeated[1], atol=1e-6)


@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-13), (np.float32, 1e-5)])
@pytest.mark.parametrize("blocks", [(1, 1), (3, 2), (4, 16), (64, 64)])
@pytest.mark.parametrize("start", [0, 1, 9])
def test_blocked_attention_is_exact(blocks: tuple[int, int], start: int, dtype: type, atol: float) -> None:
    """Equal to rounding: scores reach 60 here, and float32 rounds those to 4e-6."""
    n, seen = 11, 11 + start
    q, k, v = (x.astype(dtype) for x in (random(4, n, 8) * 20, random(2, seen, 8), random(2, seen, 6)))
    plain, pattern = attend(q, k, v, causal_mask(n, seen, start))
    blocked = attend_blocked(q, k, v, start, q_block=blocks[0], k_block=blocks[1])
    np.testing.assert_allclose(blocked, plain, rtol=0, atol=atol)
    assert pattern.max() > 0.99
    assert blocked.dtype == dtype


def test_masked_cells_are_exactly_zero_and_rows_sum_to_one() -> None:
    mask = causal_mask(5, 9, 4)
    _, pattern = attend(random(4, 5, 8), random(2, 9, 8), random(2, 9, 8), mask)
    assert (pattern[:, ~mask] == 0).all()
    np.testing.assert_allclose(pattern.sum(-1), 1, atol=1e-6)


def test_rotation_by_hand() -> None:
    """E = 4, theta 100: frequencies 1 and 1/10. Pair (1, 0) at position 2 becomes (cos 2, sin 2)."""
    np.testing.assert_allclose(frequencies(RopeScaling(theta=100.0), 4), [1, 0.1], rtol=1e-6)
    head = np.array([[1, 0, 0, 1]], np.float32)  # pairs adjacent
    turned = rotate(head, rotations(np.array([1, 0.1], np.float32), 2, 3))
    np.testing.assert_allclose(turned, [[math.cos(2), math.sin(2), -math.sin(0.2), math.cos(0.2)]], atol=1e-6)


def test_rotation_keeps_norms_and_position_zero_and_sees_distances_only() -> None:
    frequency = frequencies(RopeScaling(), 8)
    q, k = random(4, 6, 8), random(4, 6, 8)
    turned = rotate(q, rotations(frequency, 0, 6))
    np.testing.assert_array_equal(turned[:, 0], q[:, 0])
    np.testing.assert_allclose(np.linalg.norm(turned, axis=-1), np.linalg.norm(q, axis=-1), rtol=1e-6)
    near = rotate(q, rotations(frequency, 0, 6)) @ rotate(k, rotations(frequency, 0, 6)).transpose(0, 2, 1)
    far = rotate(q, rotations(frequency, 90, 96)) @ rotate(k, rotations(frequency, 90, 96)).transpose(0, 2, 1)
    np.testing.assert_allclose(near, far, atol=1e-4)


def test_orders_of_a_head() -> None:
    assert pair_order(6).tolist() == [0, 3, 1, 4, 2, 5]
    assert np.arange(6)[pair_order(6)][half_split_order(6)].tolist() == list(range(6))


def test_angles_are_float32() -> None:
    """At position 2,048 a float64 angle would differ by 1e-4 and more."""
    frequency = frequencies(RopeScaling(), 32)
    assert frequency.dtype == np.float32
    position = np.float32(2047) * frequency[1]
    assert rotations(frequency, 2047, 2048)[0, 1] == np.complex64(complex(np.cos(position), np.sin(position)))


def test_attend_takes_any_further_axes_in_front() -> None:
    q, k, v = random(2, 4, 3, 8), random(2, 2, 5, 8), random(2, 2, 5, 8)
    mask = causal_mask(3, 5, 2)
    mixed, pattern = attend(q, k, v, mask)
    assert (mixed.shape, pattern.shape) == ((2, 4, 3, 8), (2, 4, 3, 5))
    for b in range(2):
        alone, shares = attend(q[b], k[b], v[b], mask)
        np.testing.assert_allclose(mixed[b], alone, rtol=0, atol=1e-6)
        np.testing.assert_allclose(pattern[b], shares, rtol=0, atol=1e-6)


def test_a_narrower_mask_speaks_of_the_last_keys() -> None:
    q, k, v = random(4, 3, 8), random(2, 7, 8), random(2, 7, 8)
    whole, _ = attend(q, k, v, causal_mask(3, 7, 4))
    np.testing.assert_allclose(attend(q, k, v, causal_mask(3, 3, 0))[0], whole, rtol=0, atol=1e-6)
    undivided, weights = attend(q, k, v, causal_mask(3, 3, 0), divide=False)
    np.testing.assert_allclose(undivided, whole, rtol=0, atol=1e-6)
    np.testing.assert_allclose(weights.max(axis=-1), 1)


@pytest.mark.parametrize(
    ("q", "k", "message"),
    [
        ((4, 3, 8), (3, 3, 8), "3 key/value heads can't be shared evenly by 4 query heads"),
        ((3, 8), (3, 8), r"queries \[3, 8\] and keys \[3, 8\] need the axes heads, tokens, head width"),
        ((4, 3, 8), (2, 3, 6), "queries are 8 wide and keys 6"),
    ],
)
def test_heads_that_do_not_go_together_are_refused(q: tuple[int, ...], k: tuple[int, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        attend(random(*q), random(*k), random(*k), None)


def test_a_cap_bends_scores() -> None:
    """Gemma 2: cap · tanh(score / cap), by hand for one query and two keys."""
    q, k = np.array([[[3.0]]], np.float32), np.array([[[2.0], [0.0]]], np.float32)
    _, pattern = attend(q, k, k, None, scale=1.0, softcap=4.0)
    first = 4 * math.tanh(6 / 4)
    np.testing.assert_allclose(pattern[0, 0, 0], math.exp(first) / (math.exp(first) + 1), rtol=1e-6)
