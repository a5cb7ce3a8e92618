"""Plans and their inverse: exact at any size, never shrinking, and what fits is the most that fits."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from glasscli.budget.decode_read import decode_read
from glasscli.budget.fit import fit, strict
from glasscli.budget.plan import plan
from glasscli.budget.request import Request
from glasscli.budget.sizer import Sizer
from glasscli.config.families import Layout
from glasscli.dtypes import DTYPES
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.attention_specs import (
    CacheSpec,
    ChunkedAttention,
    CompressedAttention,
    FullAttention,
    LatentAttention,
    SlidingAttention,
)
from glasscli.specs.state_specs import DeltaNet, Mamba2, ShortConv

LLAMA_8B = Layout("llama", (FullAttention(8, 128, 128),) * 32, n_heads=32)
GPT_OSS = Layout("gpt_oss", (SlidingAttention(8, 64, 64, 128), FullAttention(8, 64, 64)) * 12, n_heads=64)
DEEPSEEK_V3 = Layout("deepseek_v3", (LatentAttention(512, 64, n_heads=128),) * 61, n_heads=128)
MAMBA = Layout("mamba2", (Mamba2(64, 64, 128, 8, 4, "f32"),) * 48)
HYBRID = Layout("qwen3_next", (*(DeltaNet(16, 32, 128, 128, 4),) * 3, FullAttention(2, 256, 256)) * 12, n_heads=16)
ENGINES = ("logical", "transformers", "vllm", "llama.cpp")

head_counts = st.sampled_from([1, 2, 4, 8])
widths = st.sampled_from([32, 64, 128])
specs: st.SearchStrategy[CacheSpec] = st.one_of(
    st.builds(FullAttention, head_counts, widths, widths),
    st.builds(SlidingAttention, head_counts, widths, widths, st.integers(1, 5000)),
    st.builds(ChunkedAttention, head_counts, widths, widths, st.integers(1, 5000)),
    st.builds(LatentAttention, st.just(512), st.just(64), st.sampled_from([0, 128])),
    st.builds(CompressedAttention, st.just(512), st.just(128), st.sampled_from([4, 128]), st.sampled_from([0, 128])),
    st.builds(Mamba2, head_counts, widths, widths, head_counts, st.just(4)),
    st.builds(DeltaNet, head_counts, head_counts, widths, widths, st.just(4)),
    st.builds(ShortConv, widths, st.integers(2, 4)),
)
layouts = st.builds(Layout, st.just("gpt_oss"), st.lists(specs, min_size=1, max_size=4).map(tuple))
lengths = st.integers(0, 20_000) | st.integers(0, 10**12)


def size(layout: Layout, tokens: int, batch: int, **asked: Any) -> int:
    """Bytes in all; a layout the engine has no rule for is not what these tests are about."""
    try:
        return plan(Request(layout, tokens, batch, **asked)).bytes_total
    except ConfigError:
        assume(False)
        raise


@settings(deadline=None)
@given(layouts, lengths, st.integers(1, 40), st.sampled_from(ENGINES), st.integers(0, 3000), st.integers(0, 3))
def test_growing_anything_never_shrinks_the_bytes(
    layout: Layout, tokens: int, batch: int, engine: str, more: int, more_sequences: int
) -> None:
    held = size(layout, tokens, batch, engine=engine)
    assert held >= 0
    # transformers keeps the tokens of a block until it is full, then one row for all: it holds less again
    if engine != "transformers" or not any(isinstance(part, CompressedAttention) for part in layout.layers):
        assert size(layout, tokens + more, batch, engine=engine) >= held
    assert size(layout, tokens, batch + more_sequences, engine=engine) >= held
    deeper = Layout(layout.model_type, layout.layers + layout.layers[:1])
    assert size(deeper, tokens, batch, engine=engine) >= held


@settings(deadline=None)
@given(layouts, st.integers(1, 5000), st.integers(1, 8), st.sampled_from(ENGINES), st.integers(0, 10**13))
def test_what_fits_is_the_most_that_fits(layout: Layout, tokens: int, batch: int, engine: str, room: int) -> None:
    request = Request(layout, tokens, batch, engine=engine)
    try:
        found, sizer = fit(request, room), Sizer(strict(request))
    except ConfigError:
        assume(False)
        raise
    room -= sizer.kept_empty
    assert found.fits == (sizer.peak(tokens, batch) <= room)
    if found.max_tokens is not None:
        assert not found.max_tokens or sizer.rank(found.max_tokens, batch) <= room
        assert sizer.rank(found.max_tokens + 1, batch) > room
    else:
        assert sizer.rank(10**18, batch) <= room
    if found.max_batch is not None:
        assert not found.max_batch or sizer.peak(tokens, found.max_batch) <= room
        assert sizer.peak(tokens, found.max_batch + 1) > room


@given(st.integers(0, 3000), st.sampled_from([(4,), (128,), (4, 128)]))
def test_the_peak_is_the_most_that_was_ever_held(tokens: int, ratios: tuple[int, ...]) -> None:
    layers = tuple(CompressedAttention(512, 128, ratio, 128 if ratio == 4 else 0) for ratio in ratios)
    sizer = Sizer(Request(Layout("deepseek_v4", layers), tokens, engine="transformers"))
    assert sizer.peak(tokens, 1) == max(sizer.rank(length, 1) for length in range(max(0, tokens - 400), tokens + 1))


@settings(deadline=None)
@given(layouts, st.integers(0, 10**6), st.integers(1, 9), st.sampled_from(ENGINES), st.integers(1, 4))
def test_a_rank_holds_no_more_than_all_do(layout: Layout, tokens: int, batch: int, engine: str, dp: int) -> None:
    try:
        budget = plan(Request(layout, tokens, batch, engine=engine, dp=dp, pp=min(2, layout.n_layers)))
    except ConfigError:
        assume(False)
        raise
    assert budget.per_rank.bytes <= budget.bytes_total
    assert sum(line.bytes for line in budget.lines) == budget.bytes_total
    assert all(sum(size for _, size in line.held) == line.bytes for line in budget.lines)


@settings(deadline=None)
@given(layouts, st.integers(0, 10**6), st.integers(1, 9))
def test_the_mathematics_is_a_line_plus_a_constant(layout: Layout, tokens: int, batch: int) -> None:
    assume(not any(isinstance(part, CompressedAttention) for part in layout.layers))
    budget = plan(Request(layout, tokens, batch))
    each = tokens * budget.bytes_per_token + budget.bytes_per_sequence_constant
    assert budget.bytes_total == batch * each
    longer = plan(Request(layout, tokens + 1, batch))
    assert longer.bytes_total - budget.bytes_total == batch * budget.bytes_per_token


def test_integers_stay_exact_at_a_trillion_tokens() -> None:
    budget = plan(Request(LLAMA_8B, 10**12 + 1, 10**6 + 1))
    assert budget.bytes_total == (10**12 + 1) * (10**6 + 1) * 131072
    found = fit(Request(LLAMA_8B, 1), 10**12 * 131072 + 131071)
    assert (found.max_tokens, found.max_batch) == (10**12, 10**12)


def test_a_window_is_constant_once_it_is_full() -> None:
    for tokens, per_token, constant in ((127, 24 * 2048, 0), (128, 12 * 2048, 128 * 12 * 2048)):
        budget = plan(Request(GPT_OSS, tokens))
        assert (budget.bytes_per_token, budget.bytes_per_sequence_constant) == (per_token, constant)
    assert [line.window for line in plan(Request(GPT_OSS, 1)).lines] == [128, None]


def test_growth_is_counted_over_a_page_in_engines_that_have_pages() -> None:
    for engine in ENGINES:
        budget = plan(Request(LLAMA_8B, 1000, 3, engine=engine))
        assert (budget.bytes_per_token, budget.bytes_per_sequence_constant) == (131072, 0)


def test_nothing_bounds_the_context_of_a_state_space_model() -> None:
    per_sequence = 48 * ((64 * 64 + 2 * 8 * 128) * 3 * 2 + 64 * 64 * 128 * 4)
    found = fit(Request(MAMBA, 1000, 2), 10 * per_sequence)
    assert (found.max_tokens, found.max_batch, found.tokens_in_all) == (None, 10, None)
    assert fit(Request(MAMBA, 1000, 2), per_sequence).max_tokens == 0
    assert fit(Request(MAMBA, 1000, 2), per_sequence).max_batch == 1


def test_a_budget_is_for_one_device() -> None:
    # vLLM logged 686,320 tokens for 52.36 GiB on each of two GPUs: 40 layers, 8 heads of 128 in bf16
    mistral = Layout("mistral", (FullAttention(8, 128, 128),) * 40, n_heads=32)
    low, high = (fit(Request(mistral, 1, engine="vllm", tp=2), int(gib * 2**30)).max_tokens for gib in (52.355, 52.365))
    assert low is not None
    assert high is not None
    assert low <= 686320 <= high
    assert low % 16 == high % 16 == 0


def test_a_negative_budget_is_misuse() -> None:
    with pytest.raises(UsageError):
        fit(Request(LLAMA_8B, 1), -1)
    assert fit(Request(LLAMA_8B, 1), 0).max_tokens == 0


@pytest.mark.parametrize(
    ("engine", "prefix", "rows"),
    [
        ("logical", 100, 100 + 4 * 900),
        ("vllm", 100, 96 + 4 * (1008 - 96)),  # 6 whole pages of 16 are shared
        ("llama.cpp", 100, 3840),  # 3700 cells, padded
    ],
)
def test_a_common_prefix_is_held_once(engine: str, prefix: int, rows: int) -> None:
    budget = plan(Request(LLAMA_8B, 1000, 4, engine=engine, prefix_shared=prefix))
    assert budget.bytes_total == rows * 131072


def test_a_prefix_that_left_the_window_is_not_shared() -> None:
    # 1000 tokens, of which the window keeps the last 128: 28 of those belong to a prefix of 900
    budget = plan(Request(GPT_OSS, 1000, 4, prefix_shared=900))
    assert budget.bytes_total == 12 * 2048 * ((900 + 4 * 100) + (28 + 4 * 100))
    assert plan(Request(MAMBA, 100, 4, prefix_shared=99)).bytes_total == plan(Request(MAMBA, 1, 4)).bytes_total


@settings(deadline=None)
@given(layouts, st.integers(0, 5000), st.integers(1, 5), st.integers(0, 5000), st.sampled_from([1, 16]))
def test_sharing_a_prefix_saves_and_never_costs(
    layout: Layout, tokens: int, batch: int, prefix: int, page: int
) -> None:
    prefix = min(prefix, tokens)
    asked: dict[str, Any] = {"options": {"block_size": page}}
    alone = plan(Request(layout, tokens, batch, **asked)).bytes_total
    shared = plan(Request(layout, tokens, batch, prefix_shared=prefix, **asked)).bytes_total
    assert plan(Request(layout, tokens, 1, **asked)).bytes_total <= shared <= alone
    longer = plan(Request(layout, tokens + 1, batch, prefix_shared=prefix, **asked)).bytes_total
    assert longer >= shared


def test_decoding_reads_the_cache_once() -> None:
    read = decode_read(Request(LLAMA_8B, 4096, 8, engine="vllm"))
    assert read.bytes == 8 * 4096 * 131072
    assert read.intensity == 4  # 32 query heads on 8 key/value heads, two operations for two bytes
    assert read.seconds(3_350_000_000_000) == pytest.approx(8 * 4096 * 131072 / 3.35e12)
    split = decode_read(Request(LLAMA_8B, 4096, 8, tp=4, dp=2))
    assert split.rank_bytes == 4 * 4096 * 131072 // 4


def test_a_latent_is_read_by_every_query_head() -> None:
    read = decode_read(Request(DEEPSEEK_V3, 1000))
    assert read.bytes == 1000 * 61 * 576 * 2
    assert read.intensity == Fraction(128 * (576 + 512), 576)
    assert decode_read(Request(MAMBA, 1000)).intensity is None


def test_keys_and_values_have_their_own_dtypes() -> None:
    budget = plan(Request(LLAMA_8B, 100, k_dtype="q8_0", v_dtype="q4_0"))
    assert dict(budget.lines[0].held) == {"k": 100 * 32 * 8 * 4 * 34, "v": 100 * 32 * 8 * 4 * 18}
    assert (budget.k_dtype, budget.v_dtype) == ("q8_0", "q4_0")


@pytest.mark.parametrize("name", sorted(set(DTYPES) - {"fp8_ds_mla"}))
def test_every_dtype_sizes_a_plan(name: str) -> None:
    assert plan(Request(LLAMA_8B, 100, k_dtype=name, v_dtype=name)).bytes_total > 0


def test_a_config_that_fixes_the_cache_dtype_is_heard() -> None:
    layout = Layout("llama", (FullAttention(8, 128, 128),), kv_dtype_hint="fp8")
    assert plan(Request(layout, 10)).bytes_total == 10 * 2048
    assert plan(Request(layout, 10, k_dtype="bf16", v_dtype="bf16")).bytes_total == 10 * 4096


def test_states_may_be_asked_for_in_another_dtype() -> None:
    state = 36 * 32 * 128 * 128
    conv = 36 * 3 * (2 * 16 * 128 + 32 * 128) * 2
    assert plan(Request(HYBRID, 0)).bytes_total == conv + state * 4
    assert plan(Request(HYBRID, 0, state_dtype="bf16")).bytes_total == conv + state * 2


def test_a_common_prefix_is_shared_in_whole_pages() -> None:
    """40 tokens are 3 pages of 16; of a prefix of 20 only the first page is full: 16 rows once, 32 for each of two."""
    paged = Request(LLAMA_8B, 40, 2, prefix_shared=20, options={"block_size": 16})
    assert plan(paged).bytes_total == (16 + 2 * 32) * 131072
    assert plan(Request(LLAMA_8B, 40, 2, prefix_shared=20)).bytes_total == (20 + 2 * 20) * 131072
