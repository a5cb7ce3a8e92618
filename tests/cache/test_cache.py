"""The cache: its bytes, its room, that it moves when and only when it should, and that there is no way around it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.random_llama import settings, tensors, token_ids

import glasscli
from glasscli import KVCache, Llama, ModelConfig, Trace, UsageError, layout_of
from glasscli.arrays import Array
from glasscli.cache.full import FullStore
from glasscli.cache.store import View
from glasscli.specs.attention_specs import ChunkedAttention, LatentAttention
from glasscli.specs.cache_spec import FullAttention

CONFIG = ModelConfig.from_dict(settings())  # 3 layers, 2 KV heads, head_dim 8


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("tokens", [1, 7, 512])
def test_bytes_by_hand(tokens: int, batch: int) -> None:
    """2 (K, V) · 3 layers · 2 heads · 8 dims · 4 B = 384 B a token."""
    cache = KVCache(layout_of(CONFIG), tokens, batch)
    assert cache.nbytes == 384 * tokens * batch
    assert cache.used_bytes == 0
    cache.lengths = [1] * batch
    assert cache.used_bytes == 384 * batch
    assert (cache.max_tokens, cache.batch) == (tokens, batch)


def tokens_of(*numbers: float) -> Array:
    """[1, 2 heads, T, 8], every number of a token alike."""
    return np.broadcast_to(np.array(numbers, np.float32)[:, None], (1, 2, len(numbers), 8))


def test_update_puts_new_tokens_behind_the_old_and_advance_counts_them() -> None:
    cache = KVCache(layout_of(CONFIG), 10)
    view = cache.update(1, tokens_of(1, 1, 1), tokens_of(2, 2, 2))
    assert view.keys.shape == view.values.shape == (1, 2, 3, 8)
    assert view.mask is not None
    assert view.mask.tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert cache.length == 0
    cache.advance(3)
    view = cache.update(1, tokens_of(5), tokens_of(6))
    assert view.mask is None  # one token sees everything
    assert view.keys[0, 0, :, 0].tolist() == [1, 1, 1, 5]
    assert view.values[0, 1, :, 7].tolist() == [2, 2, 2, 6]
    assert not cache.held(0).keys.any()
    cache.truncate(2)
    assert cache.length == 2
    assert cache.held(1).keys[0, 0, :, 0].tolist() == [1, 1]


def test_cutting_never_makes_a_sequence_longer() -> None:
    cache = KVCache(layout_of(CONFIG), 9, batch=3)
    cache.lengths = [1, 4, 9]
    assert cache.used_bytes == (1 + 4 + 9) * 2 * 2 * 8 * 4 * 3  # K and V of 2 heads, 8 wide, 4 bytes, 3 layers
    cache.truncate(4)
    assert cache.lengths == [1, 4, 4]
    cache.truncate(0)
    assert cache.lengths == [0, 0, 0]


def test_a_row_shares_memory_and_a_selection_does_not() -> None:
    cache = KVCache(layout_of(CONFIG), 4, batch=3)
    row = cache.row(1)
    for layer in range(3):
        row.update(layer, tokens_of(7, 7), tokens_of(8, 8))
    cache.lengths = [1, 2, 3]
    assert cache.held(2, sequence=1).keys.min() == 7
    assert not cache.held(2, sequence=0).keys.any()
    some = cache.select([2, 1])
    assert some.lengths == [3, 2]
    assert some.held(2, sequence=1).values.min() == 8
    assert not np.shares_memory(some.held(0, sequence=1).keys, cache.held(0, sequence=1).keys)


def test_a_cache_without_room_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 1 token and 1 sequence"):
        KVCache(layout_of(CONFIG), 0)
    with pytest.raises(UsageError, match=r"no memory for a KV cache of 384,000,000,000,000,000 bytes"):
        KVCache(layout_of(CONFIG), 10**15)


@pytest.mark.parametrize("spec", [LatentAttention(64, 16), ChunkedAttention(2, 8, 8, 16)])
def test_a_kind_without_a_store_is_refused_by_name(spec: Any) -> None:
    layout = [FullAttention(2, 8, 8), spec]
    with pytest.raises(UsageError, match=f"layer 1 has {spec.name} attention, which no cache here holds"):
        KVCache(layout, 16)


class Rounding(FullStore):
    """A store that keeps whole numbers only."""

    def update(self, k_BKTE: Array, v_BKTE: Array, starts: Sequence[int]) -> View:
        return super().update(np.round(k_BKTE), np.round(v_BKTE), starts)


def test_what_a_store_does_to_its_tokens_shows_in_every_form_of_the_run() -> None:
    """Traced, in one block, in several blocks, token by token, in a batch: all go through the store's one door."""
    config = settings()
    model, ids = Llama(ModelConfig.from_dict(config), tensors(config)), token_ids(config, 20)
    stores = {FullAttention: Rounding}
    whole = model(ids, model.new_cache(20, stores=stores))
    assert np.abs(whole - model(ids)).max() > 0.1  # rounding shows
    traced = model(ids, model.new_cache(20, stores=stores), trace=Trace([1]))
    cache = model.new_cache(20, stores=stores)
    in_blocks = np.concatenate([model(ids[i : i + 8], cache) for i in range(0, 20, 8)])
    cache = model.new_cache(20, stores=stores)
    decoded = np.concatenate([model([i], cache) for i in ids])
    batch = model.new_cache(20, batch=2, stores=stores)
    in_batch = np.stack([model.decode_batch([i, i], batch)[1] for i in ids])
    for other in (traced, in_blocks, decoded, in_batch):
        np.testing.assert_allclose(other, whole, rtol=0, atol=1e-4)
    for layer in range(3):
        assert np.array_equal(cache.held(layer).keys, np.round(cache.held(layer).keys))


def test_a_prompt_is_not_read_into_a_batch_at_once() -> None:
    config = settings()
    model = Llama(ModelConfig.from_dict(config), tensors(config))
    with pytest.raises(UsageError, match=r"the cache holds 2 sequences"):
        model([1, 2], model.new_cache(4, batch=2))
    with pytest.raises(UsageError, match="at least 1 token"):
        model.new_cache(0)


def test_no_module_outside_the_cache_touches_its_arrays() -> None:
    library = Path(glasscli.__file__).parent
    for folder in (library, library.parent / "cli"):
        for path in folder.rglob("*.py"):
            if path.parent.name != "cache":
                assert not re.search(r"\._kv\b|\._stores\b|\b(cache|store)\.kv\b", path.read_text()), path
