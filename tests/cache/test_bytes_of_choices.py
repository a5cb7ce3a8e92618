"""What a chosen cache really holds, and what a step reads of it, is what the budget says, to the byte."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from helpers.hand_layouts import GPT_OSS, LLAMA_8B, sized

from glasscli.budget.decode_read import decode_read
from glasscli.cache.choice import CacheChoice
from glasscli.cache.choice_text import parse_choice
from glasscli.cache.chosen import chosen_stores
from glasscli.cache.formats.names import KIVI, NAMES
from glasscli.cache.kv_cache import KVCache
from glasscli.config.families import Layout
from glasscli.dtypes import ALIASES, DTYPES
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.attention_specs import FullAttention

# Few layers: what is held is allocated. 96 wide: blocks of 32 divide it, the rotation's 64 do not.
WIDE = Layout("llama", (FullAttention(3, 96, 96),) * 2, n_heads=6)
SHORT = (replace(layout, layers=layout.layers[:2]) for layout in (LLAMA_8B, GPT_OSS))
LAYOUTS = dict(zip(("llama", "windows", "wide"), (*SHORT, WIDE), strict=True))
UNEVEN = Layout("llama", (FullAttention(2, 64, 32),) * 2, n_heads=2)
PAIRS = list(product([name for name in NAMES if name not in KIVI], repeat=2))
KIVI_PAIRS = [(k, v) for k, v in product(NAMES, repeat=2) if {k, v} & KIVI]


def held(layout: Layout, choice: CacheChoice, tokens: int, batch: int = 1) -> int:
    stores = chosen_stores(choice, lambda rows, _: rows)
    return KVCache(layout.layers, tokens, batch, stores).nbytes


def test_the_budget_has_a_type_for_every_format() -> None:
    assert {ALIASES.get(name, name) for name in NAMES} <= set(DTYPES)


# Where a cache is all exact, about to pack its first group, and between groups; up to four of them.
LENGTHS = (1, 31, 32, 33, 62, 63, 64, 65, 95, 96, 97, 100, 127, 128, 129, 160, 191, 192)


@pytest.mark.parametrize(("name", "layout"), [("llama", LAYOUTS["llama"]), ("wide", WIDE), ("uneven", UNEVEN)])
@pytest.mark.parametrize("residual", [32, 64, 128])
def test_kivi_at_every_length(name: str, layout: Layout, residual: int) -> None:
    """Packed groups and the room for exact tokens, beside whatever the other half is packed in."""
    for k, v in KIVI_PAIRS:
        choice = CacheChoice(k, v, residual=residual)
        for tokens in LENGTHS:
            budget = sized(layout, tokens, batch=2, k_dtype=k, v_dtype=v, residual=residual)
            assert held(layout, choice, tokens, 2) == budget.bytes_total, (k, v, tokens)
            store = KVCache(layout.layers, tokens, 2, chosen_stores(choice)).stores[0]
            read = decode_read(budget.request).bytes
            assert len(layout.layers) * 2 * store.bytes_held(tokens) == read, (k, v, tokens)


def test_kivi_is_refused_where_tokens_go() -> None:
    """By the budget as by the cache: a model with windows of its own."""
    for k, v in KIVI_PAIRS[:2]:
        with pytest.raises(ConfigError, match="sliding"):
            sized(LAYOUTS["windows"], 100, k_dtype=k, v_dtype=v)
        with pytest.raises(UsageError, match="sliding"):
            held(LAYOUTS["windows"], CacheChoice(k, v), 100)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize(("tokens", "batch"), [(1, 1), (100, 3), (300, 1)])
def test_every_pair_of_formats(name: str, tokens: int, batch: int) -> None:
    layout = LAYOUTS[name]
    for k, v in PAIRS:
        budget = sized(layout, tokens, batch=batch, k_dtype=k, v_dtype=v)
        assert held(layout, CacheChoice(k, v), tokens, batch) == budget.bytes_total, (k, v)
    assert held(layout, parse_choice("q4_0,norot"), tokens) * 128 == held(layout, CacheChoice(), tokens) * 18


def test_as_llama_cpp_allocates_them() -> None:
    """At a length that it does not round up."""
    for k, v in PAIRS:
        if not (k + v).count("fp8"):
            budget = sized(LAYOUTS["llama"], 512, engine="llama.cpp", k_dtype=k, v_dtype=v)
            assert held(LAYOUTS["llama"], CacheChoice(k, v), 512) == budget.bytes_total, (k, v)


@pytest.mark.parametrize("form", ["{k}window=40", "{k}sinks=4+window=36", "{k}sinks=4+window=36,renumber"])
@pytest.mark.parametrize("k", ["", "q8_0,", "q4_0,"])
@pytest.mark.parametrize("tokens", [10, 40, 200])
def test_a_window_holds_its_tokens_and_no_more(form: str, k: str, tokens: int) -> None:
    dtype: dict[str, Any] = dict.fromkeys(("k_dtype", "v_dtype"), k.rstrip(",") or "f32")
    budget = sized(LAYOUTS["llama"], min(tokens, 40), **dtype)
    assert held(LAYOUTS["llama"], parse_choice(form.format(k=k)), tokens) == budget.bytes_total


@pytest.mark.parametrize("rule", ["h2o", "tova"])
def test_eviction_keeps_books_of_8_bytes_a_token_and_head(rule: str) -> None:
    budget = sized(LAYOUTS["llama"], 40, k_dtype="q8_0", v_dtype="q8_0")
    found = held(LAYOUTS["llama"], parse_choice(f"q8_0,{rule}=40"), 200)
    assert found == budget.bytes_total + 2 * 8 * 40 * 8


def test_merged_heads_are_fewer_heads() -> None:
    layers = tuple(replace(spec, n_kv_heads=2) for spec in LAYOUTS["llama"].layers if isinstance(spec, FullAttention))
    fewer = replace(LAYOUTS["llama"], layers=layers)
    budget = sized(fewer, 100, k_dtype="q8_0", v_dtype="q8_0")
    assert held(fewer, parse_choice("q8_0,kv-heads=2"), 100) == budget.bytes_total
