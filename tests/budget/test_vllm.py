"""What vLLM reserves, each rule against sizes it logged or numbers worked by hand."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from helpers.hand_layouts import DEEPSEEK_V3, DEEPSEEK_V32, GPT_OSS, LLAMA_8B, QWEN_27B, line, sized

from glasscli.budget.engines.vllm.groups import group_size
from glasscli.budget.engines.vllm.versions import rules_of
from glasscli.budget.fit import capacity
from glasscli.budget.questions import Settings
from glasscli.budget.request import Request
from glasscli.budget.sizer import Sizer
from glasscli.budget.subjects import from_name
from glasscli.config.families import Layout, layout
from glasscli.errors import GlassError, UsageError
from glasscli.specs.attention_specs import (
    ChunkedAttention,
    CrossAttention,
    FullAttention,
    LatentAttention,
    SlidingAttention,
)
from glasscli.specs.state_specs import KDA, DeltaNet, Mamba2
from glasscli.units import short_bytes


def test_pages_are_rounded_up_for_each_sequence() -> None:
    assert sized(LLAMA_8B, 17, batch=3, engine="vllm").bytes_total == 3 * 32 * 131072
    assert sized(LLAMA_8B, 17, engine="vllm", block_size=128).bytes_total == 128 * 131072


@pytest.mark.parametrize(
    ("tokens", "version", "rows"),
    [(131072, "0.25", 8336), (131072, "0.26", 16528), (8192, "0.25", 8208), (100, "0.26", 128)],
)  # ⌈min(127 + one step or two of 8192, T) / 16⌉ + 1 pages
def test_sliding_layers_are_charged_for_steps_and_a_page(tokens: int, version: str, rows: int) -> None:
    assert line(sized(GPT_OSS, tokens, engine="vllm", version=version), "sliding") == rows * 12 * 2048


def test_chunked_layers_are_charged_for_a_step() -> None:
    layers = (*(ChunkedAttention(8, 128, 128, 8192),) * 3, FullAttention(8, 128, 128)) * 12
    for version, steps in (("0.25", 1), ("0.26", 2)):
        budget = sized(Layout("llama4_text", layers, n_heads=40), 131072, engine="vllm", version=version)
        assert line(budget, "chunked") == (8192 + steps * 8192) * 36 * 4096


def test_without_the_hybrid_manager_windows_are_not_used() -> None:
    budget = sized(GPT_OSS, 131072, engine="vllm", hybrid_manager=False)
    assert budget.bytes_total == 131072 * 24 * 2048


def test_narrow_layers_get_longer_pages() -> None:
    # Gemma 4 E2B: 256-wide sliding layers beside 512-wide full ones; vLLM logged 3.25 requests in 0.93 GiB
    layers = (*(SlidingAttention(1, 256, 256, 512),) * 4, FullAttention(1, 512, 512)) * 3
    request = Request(Layout("gemma4_text", layers, n_heads=8), 32768, engine="vllm", options={"version": "0.25"})
    assert sorted(Sizer(request).engine.pages.tokens.values()) == [16, 32]  # type: ignore[attr-defined]
    assert capacity(request, int(0.9338 * 2**30)).concurrency == pytest.approx(3.25, abs=0.005)


@pytest.mark.parametrize(
    ("states", "attention", "hint", "k_dtype", "tokens"),
    [
        (DeltaNet(16, 48, 128, 128, 4), FullAttention(4, 256, 256), "f32", None, 784),  # Qwen3.6-27B, logged
        (DeltaNet(16, 48, 128, 128, 4), FullAttention(4, 256, 256), "f32", "fp8", 1568),  # the same, logged
        (DeltaNet(16, 32, 128, 128, 4), FullAttention(4, 256, 256), "f32", None, 528),  # Qwen3.5-9B, logged
        (DeltaNet(16, 32, 128, 128, 4), FullAttention(4, 256, 256), "f32", "fp8", 1056),  # the same, logged
        (DeltaNet(16, 32, 128, 128, 4), FullAttention(2, 256, 256), "f32", None, 1056),  # Qwen3.5-35B, logged
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
    request = Request(QWEN_27B, 32768, engine="vllm", k_dtype="fp8", options={"mamba_cache_mode": "align"})
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


def test_groups_that_are_not_full_are_told_of() -> None:
    # Gemma 3 27B: 52 sliding and 10 full layers make six groups and one of 10, eight places of which stay empty
    sliding = SlidingAttention(16, 128, 128, 1024)
    layers = (*(sliding,) * 52, *(FullAttention(16, 128, 128),) * 10)
    budget = sized(Layout("gemma3_text", layers, n_heads=32), 16384, engine="vllm")
    empty = 8 * line(budget, "sliding") // 52
    assert any(
        f"by 10: groups that are not full keep {short_bytes(empty)} a rank idle" in note for note in budget.notes
    )
    assert not any("groups" in note for note in sized(GPT_OSS, 16384, engine="vllm").notes)
    counted = sized(Layout("gemma3_text", layers, n_heads=32), 16384, engine="vllm", pad_groups=True)
    assert counted.bytes_total == budget.bytes_total + empty
    assert not any("groups" in note for note in counted.notes)


@pytest.mark.parametrize(
    ("counts", "in_group"),
    [
        ((12, 12), 12),
        ((12, 13), 13),  # vLLM's own example: gpt-oss-20b with an EAGLE head is padded to 13 and 13, not to 12 and 24
        ((10, 52), 10),  # Gemma 3 27B
        ((20, 30), 20),
        ((8, 9), 9),
        ((8, 10), 8),  # a quarter more is no longer "not much larger"
        ((4, 5, 16), 4),
        ((7,), 7),
    ],
)
def test_layers_in_a_group(counts: tuple[int, ...], in_group: int) -> None:
    """The fewest of a kind; the most where that is less than a quarter more (`get_kv_cache_groups` of vLLM 0.11)."""
    near = rules_of("0.11").near
    assert group_size(counts, near) == group_size(counts[::-1], near) == in_group


@pytest.mark.parametrize(("counts", "in_group"), [((12, 17), 17), ((12, 18), 12), ((8, 10), 10), ((10, 52), 10)])
def test_groups_are_larger_since_version_0_18(counts: tuple[int, ...], in_group: int) -> None:
    """vllm-project/vllm#36684: gpt-oss-20b with a draft of four layers has 12 sliding and 17 full ones."""
    assert group_size(counts, rules_of("0.18.0").near) == in_group
    assert rules_of("0.17.1").near == Fraction(5, 4)


def test_a_draft_layer_makes_groups_of_thirteen() -> None:
    budget = sized(GPT_OSS, 16384, engine="vllm", draft_layers=1)
    assert any("groups layers by 13:" in note for note in budget.notes)
    padded = sized(GPT_OSS, 16384, engine="vllm", draft_layers=1, pad_groups=True)
    assert padded.bytes_total - budget.bytes_total == line(budget, "sliding") // 12


def test_a_draft_layer_has_an_index_of_its_own() -> None:
    """GLM-5.2 with its MTP layer in fp8, as local-inference-lab/vllm#82 logged: 79 latents, 22 indexes a token."""
    config = json.loads((Path(__file__).parents[1] / "data/kv/log_configs/zai-org--GLM-5.2.json").read_text())
    glm = layout(config, "vllm")
    budget = sized(glm, 65536, engine="vllm", k_dtype="fp8", draft_layers=1)
    assert budget.bytes_per_token == 79 * 656 + 22 * 132 == 54_728


def test_sizes_that_vllm_asked_for() -> None:
    """From its refusals to start: `… GiB KV cache is needed`."""
    gpt_oss_120b = Layout("gpt_oss", GPT_OSS.layers[:2] * 18, n_heads=64)
    needed = sized(gpt_oss_120b, 131072, engine="vllm", max_num_batched_tokens=1024, version="0.11").bytes_total
    assert f"{needed / 2**30:.2f}" == "4.54"  # vllm-project/vllm#27508
    # Qwen3.5-27B with two drafted tokens: 17 full layers, three groups of 17 for 48 states of four pages each
    asked = {"draft_layers": 1, "num_speculative_tokens": 2, "mamba_cache_mode": "align", "pad_groups": True}
    assert f"{sized(QWEN_27B, 16384, engine='vllm', **asked).bytes_total / 2**30:.2f}" == "1.71"


@pytest.mark.parametrize(("k_dtype", "tokens"), [(None, 1072), ("fp8", 2128)])
def test_pages_that_vllm_logged_for_a_state_in_another_dtype(k_dtype: str | None, tokens: int) -> None:
    # Nemotron-3-Nano with --mamba-ssm-cache-dtype float16
    nano = Layout("nemotron_h", (Mamba2(64, 64, 128, 8, 4, "f32"), FullAttention(2, 128, 128)), n_heads=32)
    assert Sizer(Request(nano, 1, engine="vllm", k_dtype=k_dtype, state_dtype="f16")).engine.span == tokens


@pytest.mark.parametrize("dtype", ["nvfp4", "fp8_per_token_head", "int8_per_token_head"])
def test_latents_are_never_stored_in_a_dtype_for_heads(dtype: str) -> None:
    """vLLM's own start-up check refuses NVFP4 beside MLA, and its per-head scales need heads."""
    with pytest.raises(GlassError, match=f"no {dtype} cache for latent attention"):
        sized(DEEPSEEK_V3, 1024, engine="vllm", k_dtype=dtype)


@pytest.mark.parametrize(
    ("version", "window", "rows"),
    [("0.25", 1025, 9232), ("0.25", 1026, 9248), ("0.29", 1025, 17424), ("0.29", 1026, 17440)],
)
def test_a_sliding_layer_is_charged_for_one_token_less_than_its_window(version: str, window: int, rows: int) -> None:
    """1024 + 8192 tokens are 576 pages of 16 and one more; a token more is a page more. Since 0.26 two steps count:

    1024 + 2 · 8192 tokens are 1,088 pages and one more.
    """
    layout = Layout("x", (SlidingAttention(8, 128, 128, window), FullAttention(8, 128, 128)), n_heads=8)
    found = sized(layout, 131072, engine="vllm", version=version)
    assert line(found, "sliding") == rows * 4096


def test_windows_that_are_not_used_are_told_of() -> None:
    said = "without the hybrid cache manager every layer holds all tokens"
    assert said in sized(GPT_OSS, 131072, engine="vllm", hybrid_manager=False).notes
    assert said not in sized(GPT_OSS, 131072, engine="vllm").notes


def test_index_keys_of_minimax_m3_share_pages_of_128_with_its_heads() -> None:
    """60 layers of 4 heads × 128, split over ranks; 57 with a key of 128 in bfloat16, on every rank."""
    for name, kv in (("bf16", 2), ("fp8", 1)):
        settings = Settings(tokens=(1000,), engine="vllm", k_dtype=name, tp=4)
        budget = settings.budget(from_name("minimax-m3", "vllm"))
        assert budget.per_rank.bytes == 1024 * (60 * 2 * 128 * kv + 57 * 128 * 2)
    assert capacity(settings.request(from_name("minimax-m3", "vllm")), budget.per_rank.bytes * 3).concurrency == 3
