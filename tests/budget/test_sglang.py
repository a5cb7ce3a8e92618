"""SGLang's pools: the sizes it logged, to the digit; how many slots there are; what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.hand_layouts import DEEPSEEK_V32, GPT_OSS, LLAMA_8B, QWEN_27B, line, sized

from glasscli.budget.engines.engine import Served
from glasscli.budget.engines.sglang import Sglang
from glasscli.budget.plan import Budget
from glasscli.budget.questions import Settings
from glasscli.config.families import Layout, layout
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.attention_specs import FullAttention, IndexKeys, SlidingAttention
from glasscli.specs.state_specs import ShortConv

DATA = Path(__file__).parents[1] / "data" / "kv"
CASES = json.loads((DATA / "sglang_pools.json").read_text(encoding="utf-8"))


def config_of(case: dict[str, Any]) -> dict[str, Any]:
    """The config that stands in the case, or in the file that it names."""
    named = case["config"]
    found = json.loads((DATA / named).read_text(encoding="utf-8")) if isinstance(named, str) else named
    assert isinstance(found, dict)
    return found


def logged(budget: Budget, what: str) -> float:
    """GiB on a rank: of all, of the layers of a kind, or of one role in them."""
    kind, _, role = what.partition(" ")
    lines = [line for line in budget.lines if kind in ("all", line.kind)]
    return sum(size for line in lines for name, size in line.held if role in ("", name)) / budget.request.tp / 2**30


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_sizes_that_were_logged(case: dict[str, Any]) -> None:
    budget = sized(layout(config_of(case), "sglang"), case["tokens"], engine="sglang", **case["settings"])
    assert {what: f"{logged(budget, what):.2f}" for what in case["printed"]} == case["printed"]


def test_a_pool_has_one_page_more_than_its_tokens() -> None:
    assert sized(LLAMA_8B, 1000, engine="sglang").bytes_total == 1001 * 131_072
    assert sized(LLAMA_8B, 1000, engine="sglang", page_size=64).bytes_total == (1024 + 64) * 131_072
    assert sized(DEEPSEEK_V32, 1000, engine="sglang").bytes_total == (1024 + 64) * 61 * (1152 + 132)


def test_a_common_prefix_is_kept_once_in_whole_pages() -> None:
    budget = sized(LLAMA_8B, 1000, engine="sglang", batch=3, prefix_shared=100, page_size=16)
    assert budget.bytes_total == (96 + 3 * (1008 - 96) + 16) * 131_072


def test_the_pool_for_windows_is_a_share_however_long_they_are() -> None:
    """gpt-oss on four: full_layer_tokens=63987, swa_layer_tokens=51189 (a public launch note)."""
    budget = sized(GPT_OSS, 63_987, engine="sglang")
    assert line(budget, "sliding") == 12 * (51_189 + 1) * 2048
    assert line(budget, "full") == 12 * (63_987 + 1) * 2048


def test_windows_that_find_no_room_are_told_of() -> None:
    """50 sliding layers with 9,088 of 181,760 tokens: eight sequences of 9,216 had to wait (a public report)."""
    gemma = Layout("gemma4", (SlidingAttention(16, 256, 256, 1024), FullAttention(4, 512, 512)), n_heads=32)
    asked = {"engine": "sglang", "batch": 8, "page_size": 64}
    told = sized(gemma, 9216, swa_full_tokens_ratio="0.05", **asked)
    assert any("some will wait" in text for text in told.warnings)
    assert not any("some will wait" in text for text in sized(gemma, 9216, **asked).warnings)


def test_windows_of_other_models_hold_every_token() -> None:
    gemma3 = Layout("gemma3_text", (SlidingAttention(8, 256, 256, 1024), FullAttention(8, 256, 256)), n_heads=16)
    budget = sized(gemma3, 5000, engine="sglang")
    assert line(budget, "sliding") == line(budget, "full")
    assert any("every token" in note for note in budget.notes)


@pytest.mark.parametrize(
    ("asked", "slots"),
    [
        ({"batch": 72}, 360),  # max_running_requests=72 with --max-mamba-cache-size 360, and not one more
        ({"batch": 8}, 40),  # max_running_requests=8 of 40 (jpezzulli/sglang-rtxpro6000#5)
        ({"batch": 48, "disable_radix_cache": True}, 48),
        ({"batch": 2, "mamba_radix_cache_strategy": "no_buffer"}, 6),
        ({"batch": 2, "mamba_radix_cache_strategy": "extra_buffer_lazy"}, 8),
        ({"batch": 2, "max_mamba_cache_size": 100}, 100),
        ({"batch": 4, "dp": 2}, 10),
    ],
)
def test_slots_for_states(asked: dict[str, Any], slots: int) -> None:
    budget = sized(QWEN_27B, 100, engine="sglang", **asked)
    one = 48 * (48 * 128 * 128 * 4 + 3 * (2 * 16 + 48) * 128 * 2)
    assert line(budget, "deltanet") == (slots + 1) * one * asked.get("dp", 1)


def test_states_follow_the_one_field_that_sglang_reads() -> None:
    config = json.loads((DATA / "log_configs" / "nvidia--Nemotron-Nano-9B-v2.json").read_text(encoding="utf-8"))
    for field, dtype in (("mamba_ssm_cache_dtype", "f32"), ("mamba_ssm_dtype", "bf16")):
        made = layout({**config, "mamba_ssm_cache_dtype": "float32", field: "bfloat16"}, "sglang")
        assert any(f"states in {dtype}:" in note for note in sized(made, 100, engine="sglang").notes)


@pytest.mark.parametrize(
    ("made", "asked", "field"),
    [
        (LLAMA_8B, {"k_dtype": "q8_0"}, "k_dtype"),
        (LLAMA_8B, {"k_dtype": "f16"}, "k_dtype"),  # the model's own is bf16: SGLang has no name for another
        (LLAMA_8B, {"k_dtype": "fp8", "v_dtype": "bf16"}, "v_dtype"),
        (DEEPSEEK_V32, {"k_dtype": "mxfp8"}, "k_dtype"),
        (LLAMA_8B, {"prefix_shared": 10, "disable_radix_cache": True}, "disable_radix_cache"),
        (GPT_OSS, {"disable_radix_cache": True}, "disable_radix_cache"),
        (QWEN_27B, {"max_mamba_cache_size": 4}, "max_mamba_cache_size"),
        (QWEN_27B, {"draft_layers": 1}, "draft_layers"),
        (Layout("m3", (FullAttention(4, 128, 128), IndexKeys(128))), {}, "engine"),
        (Layout("inkling", (ShortConv(8, 4), SlidingAttention(8, 64, 64, 128))), {}, "engine"),
    ],
)
def test_what_is_not_known_is_refused_by_name(made: Layout, asked: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        sized(made, 1000, engine="sglang", **asked)
    assert refusal.value.field == field


@pytest.mark.parametrize("ratio", ["0", "1.5", "half", "-1", "nan"])
def test_a_share_is_more_than_nothing_and_at_most_all(ratio: str) -> None:
    with pytest.raises(UsageError, match="at most 1"):
        sized(GPT_OSS, 1000, engine="sglang", swa_full_tokens_ratio=ratio)


def test_the_command_makes_the_pools_of_the_plan() -> None:
    settings = Settings((1000,), batch=6, engine="sglang", tp=2, dp=2, options={"page_size": 16})
    words = Sglang.command_line(Served(settings, "fp8", "fp8", "M", "bf16", roles=frozenset({"k", "v", "state"})))
    assert " ".join(words) == (
        "python -m sglang.launch_server --model-path M --context-length 1000 --max-running-requests 3 "
        "--kv-cache-dtype fp8_e4m3 --tp-size 2 --dp-size 2 --max-mamba-cache-size 15 --max-total-tokens 3024 "
        "--page-size 16"
    )
    indexed = Served(Settings((1000,)), "fp8_ds_mla", "fp8_ds_mla", "M", "", roles=frozenset({"latent", "index"}))
    assert Sglang.command_line(indexed)[-2:] == ["--max-total-tokens", "1024"]
    for k, field in (("f16", "k_dtype"), ("nvfp4", "k_dtype")):
        with pytest.raises(ConfigError) as refusal:
            Sglang.command_line(Served(Settings((1000,)), k, k, "M", "bf16"))
        assert refusal.value.field == field
