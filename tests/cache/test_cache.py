"""The cache: its bytes, its room, and that it moves when and only when it should."""

import numpy as np
import pytest
from helpers.random_llama import settings

from glasscli import KVCache, ModelConfig, UsageError, layout_of

CONFIG = ModelConfig.from_dict(settings())  # 3 layers, 2 KV heads, head_dim 8


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("tokens", [1, 7, 512])
def test_bytes_by_hand(tokens: int, batch: int) -> None:
    """2 (K, V) · 3 layers · 2 heads · 8 dims · 4 B = 384 B a token."""
    cache = KVCache(layout_of(CONFIG), tokens, batch)
    assert cache.nbytes == cache.kv.nbytes == 384 * tokens * batch
    assert cache.used_bytes == 0
    cache.lengths = [1] * batch
    assert cache.used_bytes == 384 * batch
    assert (cache.max_tokens, cache.batch) == (tokens, batch)


def test_append_puts_new_tokens_behind_the_old_and_advance_counts_them() -> None:
    cache = KVCache(layout_of(CONFIG), 10)
    first = np.full((2, 3, 8), 1, np.float32)
    keys, values = cache.append(1, first, first * 2)
    assert keys.shape == values.shape == (2, 3, 8)
    assert cache.length == 0
    cache.advance(3)
    keys, values = cache.append(1, np.full((2, 1, 8), 5, np.float32), np.full((2, 1, 8), 6, np.float32))
    assert keys[0, :, 0].tolist() == [1, 1, 1, 5]
    assert values[1, :, 7].tolist() == [2, 2, 2, 6]
    assert np.shares_memory(keys, cache.kv)
    assert not cache.kv[0].any()
    cache.truncate(2)
    assert cache.length == 2


def test_a_row_shares_memory_and_a_selection_does_not() -> None:
    cache = KVCache(layout_of(CONFIG), 4, batch=3)
    cache.row(1).kv[:] = 7
    assert cache.kv[:, :, 1].min() == 7
    assert not cache.kv[:, :, 0].any()
    cache.lengths = [1, 2, 3]
    some = cache.select([2, 1])
    assert some.lengths == [3, 2]
    assert some.kv[:, :, 1].min() == 7
    assert not np.shares_memory(some.kv, cache.kv)


def test_a_cache_without_room_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 1 token and 1 sequence"):
        KVCache(layout_of(CONFIG), 0)
    with pytest.raises(UsageError, match=r"no memory for a KV cache of 384,000,000,000,000,000 bytes"):
        KVCache(layout_of(CONFIG), 10**15)
