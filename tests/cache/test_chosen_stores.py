"""Every chosen cache against a slow account of what each query sees, in all the ways that tokens come to a store."""

from typing import Any

import numpy as np
import pytest
from helpers.numbers_to_pack import bell
from helpers.slow_caches import slow_attention

from glasscli import ConfigError, KVCache, UsageError
from glasscli.arrays import Array
from glasscli.cache.choice_text import parse_choice
from glasscli.cache.chosen import chosen_stores
from glasscli.cache.formats.base import TILE, Format
from glasscli.cache.kv_cache import STORES
from glasscli.cache.store import Store
from glasscli.dtypes import row_bytes
from glasscli.model.attention import attend
from glasscli.specs.attention_specs import SlidingAttention
from glasscli.specs.cache_spec import FullAttention

HEADS, GROUP, TOKENS = 2, 3, 131
SPECS = [
    "q8_0", "q4_0", "q5_1", "bf16", "fp8", "k=q8_0,v=q4_0", "k=q4_0", "v=q5_0", "q4_0,norot",
    "window=40", "window=1", "sinks=4+window=28", "sinks=3+window=60,renumber", "window=33,renumber",
    "q8_0,sinks=4+window=28", "k=q4_0,v=f16,sinks=2+window=30,renumber", "window=500", "sinks=90+window=90",
    "h2o=32", "h2o=33", "tova=32", "q8_0,h2o=40", "k=q8_0,v=q4_0,tova=20", "h2o=2", "tova=1", "tova=400",
    "kivi2", "kivi4", "kivi4,residual=96", "k=kivi2", "v=kivi4", "k=kivi2,v=q8_0", "k=q4_1,v=kivi2",
]  # fmt: skip


def turn_by(rows: Array, by: Any) -> Array:
    """A rotary turn of pairs, each at its own speed."""
    speeds = 0.5 ** np.arange(rows.shape[-1] // 2)
    factors = np.exp(1j * np.asarray(by)[..., None] * speeds).astype(np.complex64)
    return (np.ascontiguousarray(rows).view(np.complex64) * factors).view(np.float32)


def rows(width: int) -> tuple[Array, Array, Array]:
    """Queries [T, K, G, E], keys and values [K, T, E]."""
    q = bell(TOKENS * HEADS * GROUP * width, 1.0, 1).reshape(TOKENS, HEADS, GROUP, width)
    k = bell(HEADS * TOKENS * width, 1.0, 2).reshape(HEADS, TOKENS, width)
    return q, k, bell(HEADS * TOKENS * width, 1.0, 3).reshape(HEADS, TOKENS, width)


def store_of(spec: str, width: int, batch: int = 1, max_tokens: int = TOKENS) -> Store:
    kind = FullAttention(HEADS, width, width)
    return chosen_stores(parse_choice(spec), turn_by)[FullAttention](kind, max_tokens, batch)


def in_blocks(store: Store, q: Array, k: Array, v: Array, size: int, stop: int = TOKENS) -> Array:
    """The readable way: a block of tokens, what they see, attention. Mixed values [T, K, G, E]."""
    size, width, mixed = 1 if store.by_attention else size, q.shape[-1], []
    for first in range(0, stop, size):
        new = slice(first, min(first + size, stop))
        view = store.update(k[None, :, new], v[None, :, new], (first,))
        q_HTE = q[new].transpose(1, 2, 0, 3).reshape(HEADS * GROUP, -1, width)
        out, pattern = attend(q_HTE[None], view.keys, view.values, view.mask)
        if store.by_attention:
            store.observe(pattern[:, :, 0])
        mixed.append(out[0].reshape(HEADS, GROUP, -1, width).transpose(2, 0, 1, 3))
    return np.concatenate(mixed)


def one_by_one(store: Store, q: Array, k: Array, v: Array, start: int = 0) -> Array:
    """The fast way."""
    room, mixed = np.empty(TILE, np.float32), np.empty_like(q)
    for t in range(start, TOKENS):
        keys, values, seen = store.append_one(np.stack([k[:, t], v[:, t]]), t)
        scores = np.full((HEADS, GROUP, seen), np.nan, np.float32)
        store.score_one(q[t] / np.float32(q.shape[-1] ** 0.5), keys, scores, room)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        sums = weights.sum(axis=-1, keepdims=True)
        store.mix_one(weights, values, mixed[t], room)
        if store.by_attention:
            store.observe_one(weights, sums)
        mixed[t] /= sums
    return mixed[start:]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("width", [32, 64])
def test_every_query_sees_what_it_should(spec: str, width: int) -> None:
    q, k, v = rows(width)
    expected = slow_attention(parse_choice(spec), q, k, v, turn_by)
    found = {f"blocks of {size}": in_blocks(store_of(spec, width), q, k, v, size) for size in (1, 7, 50, TOKENS)}
    found["one by one"] = one_by_one(store_of(spec, width), q, k, v)
    store = store_of(spec, width, max_tokens=TOKENS + 40)
    first = in_blocks(store, q, k, v, 33, stop=70)
    found["blocks, then one by one"] = np.concatenate([first, one_by_one(store, q, k, v, 70)])
    for way, mixed in found.items():
        np.testing.assert_allclose(mixed, expected, rtol=0, atol=1e-4, err_msg=way)


@pytest.mark.parametrize("spec", SPECS)
def test_sequences_side_by_side_do_not_see_each_other(spec: str) -> None:
    """Three of them, of different lengths, one token each at a time: as if each were alone. Also after a selection."""
    _, k, v = rows(32)
    starts = [0, 20, 9]
    alone = [store_of(spec, 32) for _ in starts]
    together = store_of(spec, 32, batch=3)
    for b, start in enumerate(starts):  # prompts of different lengths
        for store in (alone[b], together.row(b)):
            for t in range(start):
                keep(store, k, v, [t], [t])
    chosen = [0, 1, 2]
    for step in range(60):
        if step == 30:
            together, chosen = together.select([2, 0]), [2, 0]
        now = [starts[b] + step for b in chosen]
        view, mixed = keep(together, k, v, now, now)
        for index, b in enumerate(chosen):
            one, expected = keep(alone[b], k, v, now[index : index + 1], now[index : index + 1])
            np.testing.assert_allclose(mixed[index], expected[0], rtol=0, atol=1e-6)
            assert together.bytes_held(now[index]) == alone[b].bytes_held(now[index])
            assert view.keys.shape[2] >= one.keys.shape[2]


def keep(store: Store, k: Array, v: Array, tokens: list[int], starts: list[int]) -> tuple[Any, Array]:
    """One token of each sequence: what it sees, and the mean key and value that a fixed query makes of it."""
    view = store.update(k[:, tokens].swapaxes(0, 1)[:, :, None], v[:, tokens].swapaxes(0, 1)[:, :, None], starts)
    q = np.ones((len(tokens), HEADS, 1, k.shape[-1]), np.float32)
    mixed, pattern = attend(q, view.keys, view.values, view.mask)
    if store.by_attention:
        store.observe(pattern[:, :, 0])
    return view, mixed


def arrays_in(thing: object) -> dict[int, int]:
    """Bytes of every array that an object holds, by where its memory is."""
    found = {}
    for value in list(vars(thing).values()):
        if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
            for array in value:
                found[id(array.base if array.base is not None else array)] = array.nbytes
        elif isinstance(value, np.ndarray):
            base = value.base if isinstance(value.base, np.ndarray) else value
            found[id(base)] = base.nbytes
        elif type(value).__module__.startswith("glasscli.cache.") and not isinstance(value, Format):
            found |= arrays_in(value)
    return found


@pytest.mark.parametrize("spec", [*SPECS, "f16", "q4_1"])
@pytest.mark.parametrize("tokens", [20, 300])
def test_bytes_are_those_of_the_budget_and_there_are_no_others(spec: str, tokens: int) -> None:
    """Rows of K and V in their dtypes; beside them 8 bytes a place for what is evicted by, exact rows for KIVI."""
    choice, width = parse_choice(spec), 64
    store = store_of(spec, width, batch=2, max_tokens=tokens)
    kept = min(tokens, choice.tokens + choice.sinks or tokens)
    if "kivi" in spec:
        packed = max(0, tokens - choice.residual) // 32 * 32
        exact = min(tokens, choice.residual + 31)
        expected = sum(
            packed * width * (int(name[-1]) + 1) // 8 + exact * width * 4
            if name.startswith("kivi")
            else tokens * row_bytes(name, width)
            for name in (choice.k, choice.v)
        )
    else:
        expected = kept * (row_bytes(choice.k, width) + row_bytes(choice.v, width))
        expected += kept * 8 * store.by_attention
    assert store.nbytes == 2 * HEADS * expected
    held = sum(arrays_in(store).values())
    assert held - store.nbytes <= 64  # an index of heads or the like
    assert 0 < store.bytes_held(5) <= store.bytes_held(tokens) <= store.nbytes // 2
    assert store.bytes_held(0) == 0


@pytest.mark.parametrize("spec", ["q8_0", "k=q4_0,v=bf16"])
def test_a_gap_is_closed_with_keys_turned_and_packed_anew(spec: str) -> None:
    """As if the later tokens had come at once with the turned keys that were stored; values as they were."""
    _, k, v = rows(64)
    store, other = store_of(spec, 64), store_of(spec, 64)
    store.update(k[None], v[None], (0,))
    keys, values, *_ = store.held(0, TOKENS)
    store.forget(4, 30, TOKENS, lambda x: turn_by(x, -30))
    kept = np.r_[0:4, 34:TOKENS]
    turned = keys[:, :, kept].copy()
    turned[:, :, 4:] = turn_by(turned[:, :, 4:], -30)
    other.update(turned, values[:, :, kept], (0,))
    found, expected = store.held(0, TOKENS - 30), other.held(0, TOKENS - 30)
    np.testing.assert_allclose(found.keys, expected.keys, atol=1e-5)
    np.testing.assert_allclose(found.values, values[:, :, kept], atol=1e-6)
    store.forget(0, 10, TOKENS - 30, None)
    np.testing.assert_array_equal(store.held(0, TOKENS - 40).keys, found.keys[:, :, 10:])


@pytest.mark.parametrize("spec", ["window=40", "sinks=4+window=28", "h2o=32", "tova=32", "kivi2"])
def test_what_is_gone_cannot_be_asked_for(spec: str) -> None:
    _, k, v = rows(32)
    cache = KVCache([FullAttention(HEADS, 32, 32)], TOKENS, stores=chosen_stores(parse_choice(spec)))
    for t in range(100):
        view = cache.update(0, k[None, :, t : t + 1], v[None, :, t : t + 1])
        if cache.stores[0].by_attention:
            cache.stores[0].observe(np.full((1, HEADS * GROUP, view.keys.shape[2]), 0.1, np.float32))
        cache.advance(1)
    held = cache.held(0)
    if "kivi" not in spec:
        assert held.keys.shape[2] == parse_choice(spec).tokens + parse_choice(spec).sinks
    np.testing.assert_array_equal(held.keys[0, :, -1], k[:, 99])
    with pytest.raises(UsageError, match="can't be cut to the first 20"):
        cache.truncate(20)
    with pytest.raises(UsageError, match="can't be"):
        cache.forget(4, 10, [None])
    cache.truncate(0)
    again = cache.update(0, k[None, :, :1], v[None, :, :1])
    np.testing.assert_array_equal(again.keys[0, :, 0], k[:, 0])


def test_a_layer_with_a_window_keeps_it_and_packs_it() -> None:
    """A model's own window with a chosen format is that window, chosen. Which tokens to keep is then not asked."""
    q, k, v = rows(32)
    stores = chosen_stores(parse_choice("q4_0"))
    own = stores[SlidingAttention](SlidingAttention(HEADS, 32, 32, 37), TOKENS, 1)
    chosen = store_of("q4_0,window=37", 32)
    assert own.nbytes == chosen.nbytes
    np.testing.assert_array_equal(in_blocks(own, q, k, v, 20), in_blocks(chosen, q, k, v, 20))
    for spec in ("window=20", "tova=20", "kivi2"):
        with pytest.raises(UsageError, match="sliding attention, which no cache here holds"):
            KVCache([SlidingAttention(HEADS, 32, 32, 37)], 64, stores=chosen_stores(parse_choice(spec)))


def test_the_full_cache_is_the_plain_one_and_heads_that_blocks_do_not_divide_are_refused() -> None:
    assert chosen_stores(parse_choice("f32")) is STORES
    with pytest.raises(ConfigError, match="q5_0 packs blocks of 32"):
        store_of("v=q5_0", 48)
