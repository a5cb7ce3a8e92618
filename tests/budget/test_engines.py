"""What vLLM and llama.cpp allocate beyond the mathematics, each rule against numbers worked by hand or logged."""

from dataclasses import replace
from typing import Any

import pytest

from glasscli.budget.families import Layout
from glasscli.budget.fit import capacity
from glasscli.budget.kinds import (
    ChunkedAttention,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    LatentAttention,
    NoCache,
    SlidingAttention,
)
from glasscli.budget.plan import Budget, Sizer, plan
from glasscli.budget.request import Request
from glasscli.budget.states import KDA, RGLRU, DeltaNet, LinearState, Mamba2, ShortConv
from glasscli.errors import ConfigError, GlassError, UsageError

MIB = 2**20
GPT_OSS = Layout("gpt_oss", (SlidingAttention(8, 64, 64, 128), FullAttention(8, 64, 64)) * 12, n_heads=64)
QWEN_27B = Layout(
    "qwen3_5_text",
    (*(DeltaNet(16, 48, 128, 128, 4),) * 3, FullAttention(4, 256, 256)) * 16,
    n_heads=24,
    state_dtype_hint="f32",
)
DEEPSEEK_V3 = Layout("deepseek_v3", (LatentAttention(512, 64, n_heads=128, nope_dim=128, v_dim=128),) * 61, n_heads=128)
DEEPSEEK_V32 = replace(DEEPSEEK_V3, layers=(replace(DEEPSEEK_V3.layers[0], index_dim=128),) * 61)  # type: ignore[type-var]


def sized(layout: Layout, tokens: int, **asked: Any) -> Budget:
    return plan(Request(layout, tokens, **asked))


def line(budget: Budget, kind: str) -> int:
    return sum(line.bytes for line in budget.lines if line.kind == kind)


# llama.cpp ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "asked", "cells"),
    [
        (131072, {}, 768),  # 128 + 512, padded: logged for gpt-oss
        (8192, {"n_seq_max": 2, "n_ubatch": 2048}, 2304),  # 2 × 128 + 2048: logged
        (4096, {"kv_pad": 32}, 640),  # older builds: logged
        (256, {}, 256),  # never more than the context
        (4096, {"swa_full": True}, 4096),
    ],
)
def test_sliding_layers_get_the_windows_and_one_batch(tokens: int, asked: dict[str, Any], cells: int) -> None:
    budget = sized(GPT_OSS, tokens, engine="llama.cpp", **asked)
    assert line(budget, "sliding") == cells * 12 * 2 * 8 * 64 * 2
    assert line(budget, "full") == tokens * 12 * 2 * 8 * 64 * 2


def test_streams_of_their_own_are_padded_one_by_one() -> None:
    # Gemma 3 270M, a context of 1024: 3 slots took 1536 cells and 27.0 MiB, 4 slots 1024 cells and 18.0 MiB
    layers = (*(SlidingAttention(1, 256, 256, 512),) * 5, FullAttention(1, 256, 256)) * 3
    layout = Layout("gemma3_text", layers, n_heads=4)
    sizes = [sized(layout, 1024, engine="llama.cpp", n_seq_max=n, kv_unified=False).bytes_total / MIB for n in (3, 4)]
    assert sizes == [27.0, 18.0]


def test_contexts_are_padded_to_256_cells() -> None:
    layout = Layout("llama", (FullAttention(8, 128, 128),) * 32, n_heads=32)
    assert sized(layout, 1, engine="llama.cpp").bytes_total == 256 * 131072
    assert sized(layout, 257, engine="llama.cpp").bytes_total == 512 * 131072
    assert sized(layout, 100, batch=3, engine="llama.cpp").bytes_total == 512 * 131072  # 300 tokens, one stream
    assert sized(layout, 100, batch=3, engine="llama.cpp", kv_unified=False).bytes_total == 3 * 256 * 131072


def test_states_are_float32_and_independent_of_the_context() -> None:
    # logged for Qwen3.5-27B: 149.62 MiB for one sequence, 598.50 for four, 448.88 with two snapshots
    for asked, mib in (({}, 149.625), ({"n_seq_max": 4}, 598.5), ({"n_rs_seq": 2}, 448.875)):
        for tokens in (0, 24576, 262144):
            assert line(sized(QWEN_27B, tokens, engine="llama.cpp", **asked), "deltanet") == mib * MIB


def test_llama_cpp_stores_f16_whatever_the_model() -> None:
    layout = Layout("llama", (FullAttention(8, 128, 128),), dtype="f32", n_heads=32)
    assert sized(layout, 256, engine="llama.cpp").bytes_total == 256 * 2 * 8 * 128 * 2
    assert sized(layout, 256).bytes_total == 256 * 2 * 8 * 128 * 4


def test_llama_cpp_widens_the_windows_of_some_models() -> None:
    mistral = Layout("mistral", (SlidingAttention(8, 128, 128, 4096),) * 32, n_heads=32)
    budget = sized(mistral, 32768, engine="llama.cpp")
    assert budget.bytes_total == 32768 * 131072
    assert any("full context" in note for note in budget.notes)
    with pytest.raises(ConfigError, match="someone_new") as refusal:
        sized(replace(mistral, model_type="someone_new"), 32768, engine="llama.cpp")
    assert refusal.value.field == "model_type"


def test_llama_cpp_keeps_a_latent_and_no_values() -> None:
    budget = sized(DEEPSEEK_V3, 163840, engine="llama.cpp")  # printed: 10.72 GiB
    assert budget.bytes_total == 163840 * 61 * 576 * 2
    assert {role for held in budget.lines for role, _ in held.held} == {"latent"}
    expanded = sized(DEEPSEEK_V3, 256, engine="llama.cpp", mla_expanded=True)
    assert expanded.bytes_total == 256 * 61 * (128 * 192 + 128 * 128) * 2


def test_llama_cpp_keeps_an_index_key_where_the_build_does() -> None:
    assert sized(DEEPSEEK_V32, 256, engine="llama.cpp").bytes_total == 256 * 61 * (576 + 128) * 2
    assert sized(DEEPSEEK_V32, 256, engine="llama.cpp", dsa_index=False).bytes_total == 256 * 61 * 576 * 2


# vLLM -----------------------------------------------------------------------------------------------------------


def test_pages_are_rounded_up_for_each_sequence() -> None:
    layout = Layout("llama", (FullAttention(8, 128, 128),) * 32, n_heads=32)
    assert sized(layout, 17, batch=3, engine="vllm").bytes_total == 3 * 32 * 131072
    assert sized(layout, 17, engine="vllm", block_size=128).bytes_total == 128 * 131072


@pytest.mark.parametrize(
    ("tokens", "rows"), [(131072, 8336), (8192, 8208), (100, 128)]
)  # ⌈min(127 + 8192, T) / 16⌉ + 1 pages
def test_sliding_layers_are_charged_for_a_step_and_a_page(tokens: int, rows: int) -> None:
    assert line(sized(GPT_OSS, tokens, engine="vllm"), "sliding") == rows * 12 * 2048


def test_chunked_layers_are_charged_for_a_step() -> None:
    layers = (*(ChunkedAttention(8, 128, 128, 8192),) * 3, FullAttention(8, 128, 128)) * 12
    budget = sized(Layout("llama4_text", layers, n_heads=40), 131072, engine="vllm")
    assert line(budget, "chunked") == (8192 + 8192) * 36 * 4096


def test_without_the_hybrid_manager_windows_are_not_used() -> None:
    budget = sized(GPT_OSS, 131072, engine="vllm", hybrid_manager=False)
    assert budget.bytes_total == 131072 * 24 * 2048


def test_narrow_layers_get_longer_pages() -> None:
    # Gemma 4 E2B: 256-wide sliding layers beside 512-wide full ones; vLLM logged 3.25 requests in 0.93 GiB
    layers = (*(SlidingAttention(1, 256, 256, 512),) * 4, FullAttention(1, 512, 512)) * 3
    request = Request(Layout("gemma4_text", layers, n_heads=8), 32768, engine="vllm")
    assert sorted(Sizer(request).engine.pages.tokens.values()) == [16, 32]  # type: ignore[attr-defined]
    assert capacity(request, int(0.9338 * 2**30)).concurrency == pytest.approx(3.25, abs=0.005)


@pytest.mark.parametrize(
    ("states", "attention", "hint", "k_dtype", "tokens"),
    [
        (DeltaNet(16, 48, 128, 128, 4), FullAttention(4, 256, 256), "f32", None, 784),  # Qwen3.6-27B, logged
        (DeltaNet(16, 48, 128, 128, 4), FullAttention(4, 256, 256), "f32", "fp8", 1568),  # the same, logged
        (DeltaNet(16, 32, 128, 128, 4), FullAttention(4, 256, 256), "f32", None, 528),  # Qwen3.5-9B, logged
        (DeltaNet(16, 32, 128, 128, 4), FullAttention(2, 256, 256), None, None, 544),  # Qwen3-Next, logged
    ],
)
def test_attention_pages_grow_until_one_holds_a_state(
    states: DeltaNet, attention: FullAttention, hint: str | None, k_dtype: str | None, tokens: int
) -> None:
    layout = Layout("x", (states, states, states, attention), n_heads=None, state_dtype_hint=hint)
    assert Sizer(Request(layout, 1, engine="vllm", k_dtype=k_dtype)).engine.span == tokens


def test_a_state_costs_a_whole_page() -> None:
    # logged for Qwen3.6-27B in fp8: 8.18 GiB needed for 262,144 tokens, pages of 1568 tokens × 2048 B
    budget = sized(QWEN_27B, 262144, engine="vllm", k_dtype="fp8")
    assert budget.bytes_total == (168 * 16 + 48) * 1568 * 2048
    cached = sized(QWEN_27B, 262144, engine="vllm", k_dtype="fp8", mamba_cache_mode="align")
    assert line(cached, "deltanet") == 2 * line(budget, "deltanet")


def test_blocks_and_concurrency_are_vllms() -> None:
    # logged: 5.15x for 32,768 tokens in 6.67 GiB: 139 blocks, 21 of attention and 3 × 2 of state for a request
    request = Request(QWEN_27B, 32768, engine="vllm", k_dtype="fp8", mamba_cache_mode="align")
    found = capacity(request, int(6.67 * 2**30))
    assert (found.n_blocks, found.blocks_per_request, found.page_tokens) == (139, 27, 1568)
    assert found.tokens(32768) == 139 * 32768 // 27
    with pytest.raises(UsageError, match="vLLM"):
        capacity(Request(QWEN_27B, 32768), 2**30)


def test_latents_in_vllm() -> None:
    assert sized(DEEPSEEK_V3, 64, engine="vllm").bytes_total == 64 * 61 * 576 * 2
    assert sized(DEEPSEEK_V3, 65, engine="vllm", k_dtype="fp8").bytes_total == 128 * 61 * 576
    assert sized(DEEPSEEK_V32, 64, engine="vllm", k_dtype="fp8").bytes_total == 64 * 61 * (656 + 132)
    assert sized(DEEPSEEK_V32, 64, engine="vllm").bytes_total == 64 * 61 * (576 * 2 + 132)


def test_the_encoder_is_held_once_in_pages() -> None:
    layer = FullAttention(12, 64, 64), CrossAttention(12, 64, 64)
    layout = Layout("whisper", layer * 12, n_heads=12, encoder_tokens=1500)
    assert line(sized(layout, 448, engine="vllm"), "cross") == 1504 * 12 * 2 * 768 * 2
    assert line(sized(layout, 448), "cross") == 1500 * 12 * 2 * 768 * 2
    assert line(sized(layout, 448, block_size=256), "full") == 512 * 12 * 2 * 768 * 2
    assert line(sized(layout, 448, encoder_tokens=0), "cross") == 0


# Refusals -------------------------------------------------------------------------------------------------------

UNKNOWN = [
    ("vllm", Layout("recurrent_gemma", (RGLRU(2560, 4), SlidingAttention(1, 256, 256, 2048))), "engine"),
    ("vllm", Layout("deepseek_v4", (CompressedAttention(512, 128, 4, 128),)), "engine"),
    ("vllm", Layout("minimax", (LinearState(fixed=64), FullAttention(8, 128, 128))), "engine"),
    ("vllm", Layout("hymba", (ShortConv(8, 4), SlidingAttention(5, 64, 64, 1024))), "engine"),
    ("llama.cpp", Layout("recurrent_gemma", (RGLRU(2560, 4),)), "engine"),
    ("llama.cpp", Layout("whisper", (CrossAttention(12, 64, 64),)), "engine"),
    ("llama.cpp", Layout("deepseek_v4", (CompressedAttention(512, 128, 4, 128),)), "engine"),
    ("llama.cpp", Layout("longcat", (LatentAttention(512, 64, size=128),)), "engine"),
]


@pytest.mark.parametrize(("engine", "layout", "field"), UNKNOWN)
def test_a_rule_that_is_not_known_is_refused_by_name(engine: str, layout: Layout, field: str) -> None:
    with pytest.raises(ConfigError, match="not known") as refusal:
        sized(layout, 1000, engine=engine)
    assert refusal.value.field == field


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"engine": "vllm", "k_dtype": "q8_0"}, "k_dtype"),
        ({"engine": "vllm", "k_dtype": "fp8", "v_dtype": "f16"}, "v_dtype"),
        ({"engine": "llama.cpp", "v_dtype": "fp8"}, "v_dtype"),
        ({"engine": "llama.cpp", "tp": 2}, "tp"),
        ({"engine": "llama.cpp", "state_dtype": "f16"}, "state_dtype"),
        ({"engine": "llama.cpp", "kv_unified": False, "prefix_shared": 8}, "kv_unified"),
        ({"engine": "transformers", "prefix_shared": 8}, "prefix_shared"),
        ({"engine": "transformers", "k_dtype": "q4_0"}, "k_dtype"),
    ],
)
def test_what_an_engine_cannot_do_is_refused_by_name(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        sized(Layout("llama", (FullAttention(8, 128, 128),), n_heads=32), 100, **asked)
    assert refusal.value.field == field


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"engine": "ollama"}, "no engine"),
        ({"swa_full": True}, "llama.cpp, not of logical"),
        ({"engine": "llama.cpp", "block_size": 16}, "not of llama.cpp"),
        ({"engine": "llama.cpp", "n_seq_max": 2, "batch": 3}, "fewer than the 3"),
        ({"engine": "vllm", "mamba_cache_mode": "all"}, "none and align"),
        ({"batch": 0}, "at least 1"),
        ({"k_dtype": "f17"}, "not a cache dtype"),
        ({"prefix_shared": 101}, "more than the 100"),
        ({"pp": 2, "pp_layers": (1, 1)}, "add up to 1"),
    ],
)
def test_requests_that_make_no_sense_are_misuse(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        sized(Layout("llama", (FullAttention(8, 128, 128),), n_heads=32), 100, **asked)


@pytest.mark.parametrize("engine", ["logical", "transformers", "vllm", "llama.cpp"])
def test_layers_without_a_cache_cost_nothing(engine: str) -> None:
    budget = sized(Layout("llama", (FullAttention(8, 128, 128), NoCache("shares")), n_heads=8), 256, engine=engine)
    assert [(held.kind, held.count, held.bytes) for held in budget.lines] == [
        ("full", 1, 256 * 4096),
        ("none", 1, 0),
    ]


def test_hybrids_of_unlike_attention_are_not_guessed() -> None:
    layout = Layout("x", (Mamba2(64, 64, 128, 8, 4), FullAttention(8, 128, 128), FullAttention(4, 128, 128)))
    with pytest.raises(GlassError, match="several widths"):
        sized(layout, 100, engine="vllm")


def test_kda_keeps_its_state_in_float32() -> None:
    kimi = Layout("kimi_linear", (KDA(32, 128, 4), LatentAttention(512, 64, n_heads=32)), n_heads=32)
    state = (3 * 32 * 128 * 3) * 2 + 32 * 128 * 128 * 4
    page = -(-state // 1152)
    assert Sizer(Request(kimi, 1, engine="vllm")).engine.span == -(-page // 64) * 64
    assert line(sized(kimi, 1, engine="llama.cpp"), "kda") == (3 * 32 * 128 * 3 + 32 * 128 * 128) * 4
