"""Measures against patterns made by hand, where every number can be worked out with a pencil."""

import math

import numpy as np
import pytest

from glasscli.inspect.measures import measure_heads, row_entropy_bits, uniform_measures, uniform_pattern

# a b c a b: position 3 repeats 0, position 4 repeats 1
REPEAT = [7, 8, 9, 7, 8]


def heads(*patterns: list[list[float]]) -> np.ndarray:
    return np.array(patterns, dtype=np.float32)


def one_hot(keys: list[int], n_keys: int | None = None) -> list[list[float]]:
    n = len(keys) if n_keys is None else n_keys
    return [[1.0 if j == key else 0.0 for j in range(n)] for key in keys]


def test_a_head_that_looks_at_the_previous_token() -> None:
    (m,) = measure_heads(heads(one_hot([0, 0, 1, 2, 3])), 0, REPEAT, 1)
    assert m.prev == 1.0
    assert m.self_weight == 0.0
    assert m.entropy_bits == 0.0
    assert m.entropy_share == 0.0
    assert m.reach == 1.0
    assert m.sink == 0.25  # rows 1 to 4, of which row 1 looks at position 0
    assert m.dup == 0.0


def test_a_head_that_looks_at_the_sink() -> None:
    (m,) = measure_heads(heads(one_hot([0, 0, 0, 0, 0])), 0, REPEAT, 1)
    assert m.sink == 1.0
    assert m.reach == (1 + 2 + 3 + 4) / 4
    assert m.dup == 0.5  # position 3 looks at 0, where its token stood; position 4 looks past it


def test_duplicate_and_induction_heads() -> None:
    duplicate, induction = one_hot([0, 1, 2, 0, 1]), one_hot([0, 1, 2, 1, 2])
    dup, ind = measure_heads(heads(duplicate, induction), 0, REPEAT, 1)
    assert (dup.dup, dup.induct) == (1.0, 0.0)
    assert (ind.dup, ind.induct) == (0.0, 1.0)


def test_all_earlier_places_count_together() -> None:
    # a a a: the row of position 2 puts .25 and .25 on the earlier two, .5 on itself
    pattern = [[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]]
    (m,) = measure_heads(heads(pattern), 0, [4, 4, 4], 1)
    assert m.dup == (0.5 + 0.5) / 2
    assert m.induct == (0.5 + 0.75) / 2  # places 1 (row 1), then 1 and 2 (row 2)


def test_no_repeat_is_none_not_zero() -> None:
    (m,) = measure_heads(heads(one_hot([0, 0, 1])), 0, [1, 2, 3], 1)
    assert m.dup is None
    assert m.induct is None
    assert m.as_dict()["induct"] is None


def test_one_token_says_nothing() -> None:
    (m,) = measure_heads(heads([[1.0]]), 0, [5], 1)
    assert all(value is None for value in m.as_dict().values())
    assert m.strongest is None


def test_row_zero_is_left_out_only_at_position_zero() -> None:
    (m,) = measure_heads(heads([[0.1, 0.2, 0.7]]), 2, [1, 2, 3], 1)  # a decode step: 1 query, 3 keys
    assert m.sink == pytest.approx(0.1)
    assert m.prev == pytest.approx(0.2)
    assert m.self_weight == pytest.approx(0.7)
    assert m.reach == pytest.approx(2 * 0.1 + 0.2)
    assert m.strongest is not None
    assert (m.strongest.query, m.strongest.key) == (2, 2)


def test_entropy_by_hand() -> None:
    rows = np.array([[0.5, 0.5, 0, 0], [0.5, 0.25, 0.25, 0], [0.25] * 4, [1.0, 0, 0, 0]])
    assert row_entropy_bits(rows).tolist() == [1.0, 1.5, 2.0, 0.0]
    assert not np.signbit(row_entropy_bits(rows)).any()


def test_entropy_share_is_of_what_the_row_could_have() -> None:
    pattern = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [1, 0, 0, 0], [0.5, 0.5, 0, 0]]
    (m,) = measure_heads(heads(pattern), 0, [1, 2, 3, 4], 1)
    assert m.entropy_bits == pytest.approx(2 / 3)
    assert m.entropy_share == pytest.approx((1 + 0 + 1 / 2) / 3)  # log2 2, log2 3, log2 4


def test_uniform_baseline_by_hand() -> None:
    m = uniform_measures(0, 5, REPEAT)
    rows = [1 / 2, 1 / 3, 1 / 4, 1 / 5]
    assert m.entropy_share == pytest.approx(1.0)
    assert m.entropy_bits == pytest.approx(sum(math.log2(n) for n in (2, 3, 4, 5)) / 4)
    assert m.sink == m.prev == m.self_weight == pytest.approx(sum(rows) / 4)
    assert m.dup == m.induct == pytest.approx((1 / 4 + 1 / 5) / 2)
    assert m.reach == pytest.approx((0.5 + 1 + 1.5 + 2) / 4)


def test_uniform_pattern_of_a_decode_step() -> None:
    assert uniform_pattern(2, 1, 3).tolist() == [[1 / 3, 1 / 3, 1 / 3]]
    assert uniform_pattern(0, 3, 3).sum(axis=1).tolist() == [1.0, 1.0, 1.0]


def test_heads_know_their_kv_head() -> None:
    measures = measure_heads(heads(*[one_hot([0, 0])] * 6), 0, [1, 2], 2)
    assert [m.kv_head for m in measures] == [0, 0, 0, 1, 1, 1]


def test_the_pattern_is_not_changed() -> None:
    pattern = heads(one_hot([0, 0, 1, 2, 3]))
    before = pattern.copy()
    measure_heads(pattern, 0, REPEAT, 1)
    assert np.array_equal(pattern, before)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        measure_heads(heads(one_hot([0, 0])), 0, [1, 2, 3], 1)
