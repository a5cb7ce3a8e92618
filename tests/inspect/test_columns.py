"""Keys in a cache's own order, each at its position: worked out by hand."""

import numpy as np

from glasscli.inspect.columns import by_position

INF = np.inf


def parts(scores: object, **more: object) -> dict[str, object]:
    """One head; keys and values are their column's number."""
    array = np.array([scores], np.float32)
    columns = np.arange(array.shape[2], dtype=np.float32)[None, :, None]
    return {"scores": array, "softmax": array / 10, "cache_k": columns, "cache_v": 10 * columns, **more}


def test_keys_that_follow_on_a_first_one_are_moved_behind_it() -> None:
    found = by_position(parts([[1, 2, 3]], mask=np.array([[False]])), 4)
    assert found["first_key"] == 2
    np.testing.assert_array_equal(found["scores"], [[[-INF, -INF, 1, 2, 3]]])
    np.testing.assert_array_equal(found["softmax"], np.array([[[0, 0, 1, 2, 3]]], np.float32) / 10)
    np.testing.assert_array_equal(found["mask"], [[False, False, True, True, False]])
    np.testing.assert_array_equal(found["cache_k"][0, :, 0], [0, 0, 0, 1, 2])


def test_the_first_and_the_last_tokens_stand_where_they_stood() -> None:
    found = by_position(parts([[1, 2, 3]], positions=np.array([0, 3, 4])), 4)
    np.testing.assert_array_equal(found["scores"], [[[1, -INF, -INF, 2, 3]]])
    np.testing.assert_array_equal(found["mask"], [[True, False, False, True, True]])
    np.testing.assert_array_equal(found["cache_v"][0, :, 0], [0, 0, 0, 10, 20])
    assert found["seen_KTS"] is None


def test_of_a_token_in_two_forms_each_query_has_the_one_it_sees() -> None:
    """Position 0 stands there packed (column 0) and exact (column 1); only the second query sees it packed."""
    mask = np.array([[False, True, False], [True, False, True]])
    found = by_position(parts([[1, 2, 3], [4, 5, 6]], mask=mask, positions=np.array([0, 0, 1])), 0)
    np.testing.assert_array_equal(found["scores"], [[[2, -INF], [4, 6]]])
    np.testing.assert_array_equal(found["mask"], [[True, False], [True, True]])
    np.testing.assert_array_equal(found["cache_k"][0, :, 0], [0, 2])  # as the last query sees it


def test_heads_that_keep_different_tokens_are_told_apart() -> None:
    scores = np.array([[[1, 2]], [[3, 4]], [[5, 6]], [[7, 8]]], np.float32)  # four heads, two of which share keys
    keys = np.array([[[1], [2]], [[3], [4]]], np.float32)
    given = {"scores": scores, "softmax": scores, "cache_k": keys, "cache_v": keys}
    found = by_position({**given, "positions": np.array([[2, 0], [1, 2]])}, 2)
    np.testing.assert_array_equal(found["scores"][:, 0], [[2, -INF, 1], [4, -INF, 3], [-INF, 5, 6], [-INF, 7, 8]])
    np.testing.assert_array_equal(found["seen_KTS"][:, 0], [[True, False, True], [False, True, True]])
    np.testing.assert_array_equal(found["mask"], [[True, True, True]])
    np.testing.assert_array_equal(found["cache_k"][:, :, 0], [[2, 0, 1], [0, 3, 4]])
