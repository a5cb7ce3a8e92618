"""Which cache is named, which is warned of, and what the default list holds."""

from typing import Any

import pytest

from glasscli import load_model
from glasscli.cache.choice import CacheChoice
from glasscli.cache.choice_text import parse_choice
from glasscli.quality.divergence import Divergence
from glasscli.quality.flags import llama_cpp_cuda_build, llama_cpp_flags, vllm_flags
from glasscli.quality.trial import Result
from glasscli.quality.usual import fewer_heads, usual_choices
from glasscli.quality.verdict import budget_flags, flatters, forgets, frontier, judge


def result(
    spec: str, kld: float, per_token: int = 0, constant: int = 0, delta: float = 0.01, copied: float | None = None
) -> Result:
    figures = Divergence(100, delta, 0.001, kld, kld, kld, 0.9)
    return Result(parse_choice(spec), per_token, constant, 1000 * per_token + constant, figures, copied)


def test_the_smallest_that_passes_keeps_every_token() -> None:
    rows = [
        result("f32", 0, 8),
        result("q8_0", 0.0001, 3),
        result("q5_0", 0.01, 2),
        result("q4_0", 0.0101, 1),
        result("sinks=4+window=60", 0.001, 0, 64),
    ]
    verdict = judge(rows, 512)
    assert verdict.best is rows[2]  # .01 is not over .01
    assert verdict.shorter is rows[4]
    rows[4] = result("sinks=4+window=60", 0.001, 0, 3000)
    assert judge(rows, 512).shorter is None  # it drops tokens and is no smaller for it
    strict = judge(rows, 512, 1e-9)
    assert strict.best is None  # what loses nothing is no smaller cache
    assert strict.shorter is None


def test_what_a_chunk_is_too_short_for_is_no_answer() -> None:
    """A window of 63 tokens forgets none of the 63 that are read of 64, one of 62 one of them."""
    assert judge([result("window=63", 0, constant=1), result("kivi2", 0, 1)], 64).best is None
    assert judge([result("window=63", 0, constant=1)], 64).shorter is None
    assert judge([result("window=62", 0, constant=1)], 64).shorter is not None
    assert judge([result("kivi2", 0.001, 1)], 65).best is not None


def test_a_perplexity_that_improves_is_no_praise_while_predictions_change() -> None:
    assert flatters(result("window=8", 0.15, delta=-0.08), 0.01)
    assert not flatters(result("window=8", 0.15, delta=0.08), 0.01)
    assert not flatters(result("q8_0", 0.0001, delta=-0.0002), 0.01)


def test_a_lost_memory_is_seen_where_there_was_one() -> None:
    assert forgets(result("window=8", 0.001, copied=0.0), 0.6)
    assert not forgets(result("q4_0", 0.03, copied=0.5), 0.6)
    assert not forgets(result("window=8", 0.001), 0.02)  # the full cache repeats nothing either


def test_the_frontier_is_what_nothing_beats_in_both() -> None:
    rows = [result("q8_0", 0.001, 4), result("q5_0", 0.01, 3), result("kivi4", 0.02, 3), result("q4_0", 0.05, 2)]
    worse = result("fp8", 0.06, 5)
    assert frontier([*rows, worse]) == [rows[3], rows[1], rows[0]]


@pytest.mark.parametrize(
    ("spec", "budget", "llama", "vllm"),
    [
        ("q5_0", "--dtype q5_0", "-ctk q5_0 -ctv q5_0 -fa on", None),
        ("k=q8_0,v=q4_0", "--k-dtype q8_0 --v-dtype q4_0", "-ctk q8_0 -ctv q4_0 -fa on", None),
        ("q4_0,norot", "--dtype q4_0", "LLAMA_ATTN_ROT_DISABLE=1 -ctk q4_0 -ctv q4_0 -fa on", None),
        ("fp8_e5m2", "--dtype fp8", None, "--kv-cache-dtype fp8_e5m2"),
        ("bf16", "--dtype bf16", "-ctk bf16 -ctv bf16", "--kv-cache-dtype bfloat16"),
        ("kivi2", "--dtype kivi2", None, None),
        ("k=kivi4,v=q8_0,residual=96", "--k-dtype kivi4 --v-dtype q8_0 -s residual=96", None, None),
        ("q8_0,window=8", None, None, None),
        ("q8_0,kv-heads=1", None, None, None),
    ],
)
def test_flags_of_other_programs(spec: str, budget: str | None, llama: str | None, vllm: str | None) -> None:
    choice = parse_choice(spec)
    for found, words in ((budget_flags(choice), budget), (llama_cpp_flags(choice), llama), (vllm_flags(choice), vllm)):
        assert found == (None if words is None else words.split())


def test_what_llama_cpp_must_be_built_with_for_cuda() -> None:
    """The pairs of `ggml_cuda_flash_attn_ext_vec` without GGML_CUDA_FA_ALL_QUANTS; no flash attention, no need."""
    usual = ("f16", "bf16", "q8_0", "q4_0", "q4_0,norot", "k=q8_0,v=q4_0", "k=q5_0,v=f16")
    assert [llama_cpp_cuda_build(parse_choice(spec)) for spec in usual] == [None] * len(usual)
    for spec in ("q5_0", "q5_1", "q4_1", "k=q4_0,v=q8_0", "k=f16,v=q8_0", "k=q5_0,v=q4_0"):
        assert llama_cpp_cuda_build(parse_choice(spec)) == ["-DGGML_CUDA_FA_ALL_QUANTS=ON"]
    assert llama_cpp_cuda_build(parse_choice("fp8")) is None


def test_the_usual_list_is_what_the_model_can_have() -> None:
    config: Any = load_model().config
    specs = [choice.text for choice in usual_choices(config, 512)]
    assert len(specs) == len(set(specs)) >= 10
    for spec in ("q8_0", "q4_0", "k=q8_0,v=q4_0", "f16,sinks=4+window=252", "f16,window=256", "kivi2"):
        assert spec in specs
    assert "q4_0,norot" not in specs  # heads of 32 are not rotated
    assert specs[-1] == "f16,kv-heads=1"


def test_head_widths_and_head_counts_decide_what_is_in_the_list(config: Any) -> None:
    wide = usual_choices(config(head_dim=64, heads=6, kv_heads=6), 512)
    assert parse_choice("q4_0,norot") in wide
    assert wide[-1].kv_heads == 3
    odd = usual_choices(config(head_dim=80, heads=4, kv_heads=1), 512)
    assert {name for choice in odd for name in (choice.k, choice.v)} == {"f16", "fp8_e4m3"}
    assert all(choice.kv_heads is None for choice in odd)
    assert fewer_heads(config(head_dim=64, heads=3, kv_heads=3)) == 1


@pytest.fixture
def config() -> Any:
    def make(head_dim: int, heads: int, kv_heads: int) -> Any:
        from helpers.random_llama import settings

        from glasscli.config.model_config import ModelConfig

        sizes = {"head_dim": head_dim, "num_attention_heads": heads, "num_key_value_heads": kv_heads}
        return ModelConfig.from_dict(settings(**sizes))

    return make


def test_full_is_full() -> None:
    assert parse_choice("f32") == CacheChoice()
