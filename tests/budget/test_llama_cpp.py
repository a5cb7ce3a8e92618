"""What llama.cpp allocates, each rule against sizes it logged or numbers worked by hand."""

from dataclasses import replace
from typing import Any

import pytest
from helpers.hand_layouts import DEEPSEEK_V3, DEEPSEEK_V32, GPT_OSS, LLAMA_8B, QWEN_27B, line, sized

from glasscli.config.families import Layout
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import CacheSpec, FullAttention, SlidingAttention
from glasscli.specs.state_specs import Mamba1, Mamba2, ShortConv

MIB = 2**20


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


GEMMA_2B = Layout("gemma2", (SlidingAttention(4, 256, 256, 4096), FullAttention(4, 256, 256)) * 13, n_heads=8)
LAGUNA = Layout("laguna", (*(SlidingAttention(8, 128, 128, 512),) * 3, FullAttention(8, 128, 128)) * 12, n_heads=48)


@pytest.mark.parametrize(
    ("layout", "tokens", "asked", "mib"),
    [
        (GPT_OSS, 131072, {}, "18.00"),
        (GPT_OSS, 131072, {"n_ubatch": 2048}, "54.00"),
        (GPT_OSS, 8192, {"n_ubatch": 128, "k_dtype": "q8_0", "v_dtype": "q8_0"}, "3.19"),
        (GEMMA_2B, 8192, {"n_seq_max": 4}, "416.00"),  # four windows of 4096: the whole context after all
        (LAGUNA, 1048576, {"k_dtype": "q4_0", "v_dtype": "q4_0"}, "40.50"),
    ],
)
def test_windows_that_llama_cpp_logged(layout: Layout, tokens: int, asked: dict[str, Any], mib: str) -> None:
    budget = sized(layout, tokens, engine="llama.cpp", **asked)
    assert f"{line(budget, 'sliding') / MIB:.2f}" == mib


def test_streams_of_their_own_are_padded_one_by_one() -> None:
    # Gemma 3 270M, a context of 1024: 3 slots took 1536 cells and 27.0 MiB, 4 slots 1024 cells and 18.0 MiB
    layers = (*(SlidingAttention(1, 256, 256, 512),) * 5, FullAttention(1, 256, 256)) * 3
    layout = Layout("gemma3_text", layers, n_heads=4)
    sizes = [sized(layout, 1024, engine="llama.cpp", n_seq_max=n, kv_unified=False).bytes_total / MIB for n in (3, 4)]
    assert sizes == [27.0, 18.0]


def test_contexts_are_padded_to_256_cells() -> None:
    assert sized(LLAMA_8B, 1, engine="llama.cpp").bytes_total == 256 * 131072
    assert sized(LLAMA_8B, 257, engine="llama.cpp").bytes_total == 512 * 131072
    assert sized(LLAMA_8B, 100, batch=3, engine="llama.cpp").bytes_total == 512 * 131072  # 300 tokens, one stream
    assert sized(LLAMA_8B, 100, batch=3, engine="llama.cpp", kv_unified=False).bytes_total == 3 * 256 * 131072


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


@pytest.mark.parametrize(
    ("name", "layers", "kind", "mib"),
    [
        ("mamba", (Mamba1(4096, 16, 4),) * 48, "mamba1", "14.25"),  # mamba-1.4b
        ("falcon_h1", (Mamba2(48, 64, 256, 1, 4),) * 24, "mamba2", "72.98"),  # Falcon-H1 1.5B
        ("lfm2", (ShortConv(2048, 3),) * 10, "conv", "0.16"),  # LFM2 1.2B
    ],
)
def test_states_that_llama_cpp_logged(name: str, layers: tuple[CacheSpec, ...], kind: str, mib: str) -> None:
    assert f"{line(sized(Layout(name, layers), 4096, engine='llama.cpp'), kind) / MIB:.2f}" == mib


def test_a_dtype_for_values_plays_no_part_where_there_are_none() -> None:
    notes = sized(DEEPSEEK_V3, 256, engine="llama.cpp", k_dtype="q8_0", v_dtype="q4_0").notes
    assert any("q4_0 plays no part" in note for note in notes)
    assert not any("no part" in note for note in sized(LLAMA_8B, 256, k_dtype="q8_0", v_dtype="q4_0").notes)
