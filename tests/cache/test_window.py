"""The window store: it holds its window and no more, and what queries see of it is full attention with a band."""

from collections.abc import Sequence

import numpy as np
import pytest
from helpers.random_llama import settings, tensors, token_ids

from glasscli import KVCache, Llama, ModelConfig, Trace, UsageError
from glasscli.arrays import Array
from glasscli.cache.full import FullStore
from glasscli.cache.store import View
from glasscli.specs.attention_specs import SlidingAttention
from glasscli.specs.cache_spec import FullAttention

WINDOW = 5


class Banded(FullStore):
    """The slow way to a window: everything is kept, and a mask hides what is too old. For one sequence."""

    def update(self, k_BKTE: Array, v_BKTE: Array, starts: Sequence[int]) -> View:
        view = super().update(k_BKTE, v_BKTE, starts)
        n_new, n_seen = k_BKTE.shape[2], view.keys.shape[2]
        back = (starts[0] + np.arange(n_new))[:, None] - np.arange(n_seen)
        return View(view.keys, view.values, (back >= 0) & (back < WINDOW))

    append_one = None  # type: ignore[assignment]


def models() -> tuple[Llama, KVCache, KVCache]:
    """A model whose second layer has a window, an empty cache for it, and a banded one."""
    settings_ = settings()
    config = ModelConfig.from_dict(settings_)
    full = FullAttention(2, 8, 8)
    specs = (full, SlidingAttention(2, 8, 8, WINDOW), full)
    object.__setattr__(config, "specs", specs)
    model = Llama(config, tensors(settings_))
    banded = KVCache(specs, 64, stores={FullAttention: FullStore, SlidingAttention: Banded})
    return model, model.new_cache(64), banded


@pytest.mark.parametrize("size", [1, 3, 8, 40])
def test_a_window_equals_full_attention_with_a_band(size: int) -> None:
    model, cache, banded = models()
    ids = token_ids(settings(), 40)
    expected = model(ids, banded, trace=Trace([]))
    found = np.concatenate([model(ids[i : i + size], cache) for i in range(0, 40, size)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    assert np.abs(expected - model(ids, KVCache([FullAttention(2, 8, 8)] * 3, 64))).max() > 0.1


def test_in_a_batch_each_sequence_has_its_own_window() -> None:
    model, _, _ = models()
    ids = token_ids(settings(), 24)
    batch = model.new_cache(32, batch=2)
    row = batch.row(1)
    model(ids[:9], row)
    batch.lengths[1] = row.length
    steps = [model.decode_batch([ids[i], ids[9 + i]], batch) for i in range(12)]
    np.testing.assert_allclose(np.stack([s[0] for s in steps]), model(ids[:12]), rtol=0, atol=1e-4)
    np.testing.assert_allclose(np.stack([s[1] for s in steps]), model(ids[:21])[9:], rtol=0, atol=1e-4)
    some = batch.select([1])
    np.testing.assert_allclose(model.decode_batch([ids[21]], some)[0], model(ids[:22])[-1], rtol=0, atol=1e-4)


def test_it_holds_its_window_and_no_more() -> None:
    """2 · 2 heads · 8 dims · 4 B = 128 B a token: two full layers of 64 tokens, one of 5."""
    model, cache, _ = models()
    assert cache.nbytes == 128 * (64 + WINDOW + 64)
    model(token_ids(settings(), 12), cache)
    assert cache.used_bytes == 128 * (12 + WINDOW + 12)
    assert cache.held(1).first == 12 - WINDOW
    assert cache.held(1).keys.shape == (1, 2, WINDOW, 8)
    assert KVCache([SlidingAttention(2, 8, 8, 100)], 7).nbytes == 128 * 7


def test_the_trace_of_a_window_shows_the_band() -> None:
    model, cache, _ = models()
    ids = token_ids(settings(), 12)
    model(ids[:8], cache)
    trace = Trace([1])
    model(ids[8:], cache, trace=trace)
    layer = trace.layers[1]
    assert (layer.start, layer.first_key) == (8, 4)
    back = (8 + np.arange(4))[:, None] - np.arange(12)
    np.testing.assert_array_equal(layer.mask_TS, (back >= 0) & (back < WINDOW))
    np.testing.assert_allclose(layer.pattern_HTS.sum(axis=-1), 1, atol=1e-6)
    assert not layer.pattern_HTS[:, ~layer.mask_TS].any()


def test_forgetting_and_truncating() -> None:
    model, cache, _ = models()
    ids = token_ids(settings(), 30)
    model(ids[:12], cache)
    with pytest.raises(UsageError, match="a window has moved on"):
        cache.truncate(10)
    model.slide_window(cache, sinks=2, drop=4)
    fresh = model.new_cache(64)
    model(ids[:2] + ids[6:12], fresh)
    assert cache.length == fresh.length == 8
    # Keys and values of the first layer depend on token and position alone; those of the second came through a window.
    for moved, read in zip(cache.held(0)[:2], fresh.held(0)[:2], strict=True):
        np.testing.assert_allclose(moved, read, rtol=0, atol=1e-5)
    assert cache.held(1).first == fresh.held(1).first == 3
    cache.truncate(0)
    np.testing.assert_allclose(model(ids, cache), model(ids), rtol=0, atol=1e-4)
