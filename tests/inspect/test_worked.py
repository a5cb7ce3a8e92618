"""Attention worked by hand: against loops written here, and against the tables of lectures."""

import math

import numpy as np
import pytest

from glasscli.arrays import Array
from glasscli.errors import UsageError
from glasscli.inspect.worked import Worked, work, work_scores

Q = np.array([[1, 0], [1, 1], [0, 1]])
V = np.array([[2, 0], [0, 2], [2, 2]])


def by_loops(q: Array, k: Array, v: Array, start: int | None, scale: float) -> tuple[Array, Array]:
    """Pattern and mixed values, number by number; `start` None for no mask."""
    (n_heads, n_new, _), (n_kv, n_seen, _) = q.shape, k.shape
    pattern, mixed = np.zeros((n_heads, n_new, n_seen)), np.zeros((n_heads, n_new, v.shape[2]))
    for h in range(n_heads):
        kv = h // (n_heads // n_kv)
        for i in range(n_new):
            seen = [j for j in range(n_seen) if start is None or j <= start + i]
            grown = {j: math.exp(sum(a * b for a, b in zip(q[h, i], k[kv, j], strict=True)) * scale) for j in seen}
            for j in seen:
                pattern[h, i, j] = grown[j] / sum(grown.values())
                mixed[h, i] += pattern[h, i, j] * v[kv, j]
    return pattern, mixed


def test_the_worked_head() -> None:
    found = work(Q, Q, V)
    assert found.pattern_HTS[0].round(6).tolist() == [
        [1, 0, 0],
        [0.330238, 0.669762, 0],
        [0.197776, 0.401112, 0.401112],
    ]
    assert found.mixed_HTE is not None
    assert found.mixed_HTE[0].round(6).tolist() == [[2, 0], [0.660477, 1.339523], [1.197776, 1.604448]]
    np.testing.assert_allclose(found.raw_HTS[0], Q @ Q.T / math.sqrt(2))
    assert np.isneginf(found.masked_HTS[0][np.triu_indices(3, 1)]).all()
    assert found.pattern_HTS.dtype == np.float64


def test_the_worked_scores() -> None:
    scores = np.array([[2.1, 0.8, -0.4, 1.2], [0.9, 2.5, 1.1, 0.3], [0.2, 1.8, 2.0, -0.5], [0.1, 0.9, 1.7, 2.2]])
    found = work_scores(scores)
    assert found.pattern_HTS[0].round(4).tolist() == [
        [1, 0, 0, 0],
        [0.1680, 0.8320, 0, 0],
        [0.0833, 0.4127, 0.5040, 0],
        [0.0612, 0.1362, 0.3030, 0.4996],
    ]
    np.testing.assert_array_equal(found.raw_HTS[0], scores)
    assert found.mixed_HTE is None


@pytest.mark.parametrize(("heads", "kv"), [(1, 1), (4, 4), (4, 2), (6, 1)])
@pytest.mark.parametrize(("n_new", "n_seen"), [(5, 5), (1, 6), (3, 7)])
@pytest.mark.parametrize("causal", [True, False])
def test_against_loops(heads: int, kv: int, n_new: int, n_seen: int, causal: bool) -> None:
    rng = np.random.default_rng(heads + n_seen)
    q, k, v = (rng.normal(size=(n, t, 3)) for n, t in ((heads, n_new), (kv, n_seen), (kv, n_seen)))
    for scale in (None, 0.25):
        found = work(q, k, v, causal=causal, scale=scale)
        start = n_seen - n_new if causal else None
        pattern, mixed = by_loops(q, k, v, start, 1 / math.sqrt(3) if scale is None else scale)
        np.testing.assert_allclose(found.pattern_HTS, pattern, atol=1e-14)
        np.testing.assert_allclose(found.mixed_HTE, mixed, atol=1e-14)
        assert found.sum_gap < 1e-14
        assert (found.n_kv_heads, found.start) == (kv, n_seen - n_new)
        again = work_scores(found.raw_HTS, v, causal=causal)
        np.testing.assert_allclose(again.pattern_HTS, pattern, atol=1e-14)
        np.testing.assert_allclose(again.mixed_HTE, mixed, atol=1e-14)


def test_where_the_first_query_stands() -> None:
    rows: list[Worked] = [work(Q[:2], Q, V, start=start) for start in (0, 1)]
    assert [found.mask_TS.sum(axis=1).tolist() for found in rows] == [[1, 2], [2, 3]]


def test_a_key_hidden_by_its_score() -> None:
    found = work_scores(np.array([[1.0, -np.inf, 1.0]]), causal=False)
    assert found.pattern_HTS.tolist() == [[[0.5, 0.0, 0.5]]]


def test_scores_past_what_exp_can_hold() -> None:
    found = work_scores(np.array([[1e4, 1e4 - math.log(3)]]), causal=False)
    np.testing.assert_allclose(found.pattern_HTS, [[[0.75, 0.25]]])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: work(Q, Q[:, :1], V), "queries are 2 wide and keys 1"),
        (lambda: work(Q, Q, V[:2]), "keys have 1 heads × 3 tokens and values 1 heads × 2 tokens"),
        (lambda: work(np.zeros((3, 2, 2)), np.zeros((2, 2, 2)), np.zeros((2, 2, 2))), "can't be shared evenly"),
        (lambda: work(np.zeros(3), Q, V), r"q has the shape \[3\]"),
        (lambda: work(np.zeros((0, 2)), Q, V), r"q has the shape \[1, 0, 2\]"),
        (lambda: work(Q * np.nan, Q, V), "q holds a number that is not finite"),
        (lambda: work(Q, Q, V, start=-1), "can't stand at position -1"),
        (lambda: work_scores(np.array([[np.nan]])), "scores hold a number that is NaN"),
        (lambda: work_scores(np.array([[1.0, 2.0], [-np.inf, -np.inf]])), "query 1 sees no key"),
        (lambda: work_scores(np.ones((2, 2)), V), "scores have 1 heads × 2 keys and values 1 heads × 3 tokens"),
    ],
)
def test_refusals(made: object, message: str) -> None:
    assert callable(made)
    with pytest.raises(UsageError, match=message):
        made()
