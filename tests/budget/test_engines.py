"""What engines refuse: rules that are not known, settings they do not have."""

from typing import Any

import pytest
from helpers.hand_layouts import QWEN_27B, line, sized

from glasscli.config.families import Layout
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.attention_specs import (
    CompressedAttention,
    CrossAttention,
    FullAttention,
    LatentAttention,
    NoCache,
    SlidingAttention,
)
from glasscli.specs.state_specs import RGLRU, LinearState, ShortConv

UNKNOWN = [
    ("vllm", Layout("recurrent_gemma", (RGLRU(2560, 4), SlidingAttention(1, 256, 256, 2048))), "engine"),
    ("vllm", Layout("deepseek_v4", (CompressedAttention(256, 128, 4, 128),)), "engine"),
    ("vllm", Layout("minimax", (LinearState(fixed=64), FullAttention(8, 128, 128))), "engine"),
    ("vllm", Layout("hymba", (ShortConv(8, 4), SlidingAttention(5, 64, 64, 1024))), "engine"),
    ("llama.cpp", Layout("recurrent_gemma", (RGLRU(2560, 4),)), "engine"),
    ("llama.cpp", Layout("whisper", (CrossAttention(12, 64, 64),)), "engine"),
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
        ({"engine": "exllama"}, "no engine"),
        ({"swa_full": True}, "llama.cpp, not of logical"),
        ({"engine": "llama.cpp", "block_size": 16}, "not of llama.cpp"),
        ({"engine": "llama.cpp", "n_seq_max": 2, "batch": 3}, "fewer than the 3"),
        ({"engine": "vllm", "mamba_cache_mode": "some"}, "none and align and all"),
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


def test_transformers_keeps_the_models_dtype() -> None:
    layout = Layout("llama", (FullAttention(8, 128, 128),), dtype="bf16", n_heads=32, kv_dtype_hint="fp8")
    budget = sized(layout, 100, engine="transformers")
    assert budget.bytes_total == 100 * 4096
    assert any("fp8 cache is for engines" in note for note in budget.notes)
    assert sized(layout, 112, engine="vllm").bytes_total == 112 * 2048


@pytest.mark.parametrize("engine", ["logical", "vllm", "llama.cpp"])
def test_a_draft_head_holds_every_token_too(engine: str) -> None:
    plain = sized(QWEN_27B, 25088, engine=engine)
    drafting = sized(QWEN_27B, 25088, engine=engine, draft_layers=1)
    assert line(drafting, "full") * 16 == line(plain, "full") * 17
    assert line(drafting, "deltanet") == line(plain, "deltanet")
    with pytest.raises(ConfigError, match="draft layer") as refusal:
        sized(Layout("lfm2", (ShortConv(8, 3),)), 10, engine=engine, draft_layers=1)
    assert refusal.value.field == "draft_layers"
