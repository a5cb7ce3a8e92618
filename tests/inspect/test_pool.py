"""Long maps made small: each block's largest visible value, by hand."""

import numpy as np

from glasscli.inspect.pool import max_pool

VALUES = np.float32([[1, 2, 3, 9, -4], [8, 5, 6, 7, -3], [-2, -9, 0, 4, -1]])
SEEN = np.ones(VALUES.shape, bool)


def test_each_block_becomes_its_largest_value_and_edges_may_be_smaller() -> None:
    values, mask = max_pool(VALUES, SEEN, 2, 2)
    assert values.tolist() == [[8, 9, -3], [-2, 4, -1]]
    assert mask.all()
    assert values.dtype == np.float32


def test_rows_and_columns_are_pooled_apart() -> None:
    assert max_pool(VALUES, SEEN, 1, 5)[0].tolist() == [[9], [8], [4]]
    assert max_pool(VALUES, SEEN, 3, 1)[0].tolist() == [[8, 5, 6, 9, -1]]
    values, mask = max_pool(VALUES, SEEN, 1, 1)
    assert (values == VALUES).all()
    assert (mask == SEEN).all()


def test_what_is_hidden_is_not_looked_at() -> None:
    """Also where all that is seen is below zero; a block that shows nothing is 0 and hidden itself."""
    seen = SEEN.copy()
    seen[0, 3] = seen[1, 0] = False
    seen[:2, 4] = False
    values, mask = max_pool(VALUES, seen, 2, 2)
    assert values.tolist() == [[5, 7, 0], [-2, 4, -1]]
    assert mask.tolist() == [[True, True, False], [True, True, True]]
    nan = np.where(seen, VALUES, np.nan).astype(np.float32)
    assert max_pool(nan, seen, 2, 2)[0].tolist() == values.tolist()
