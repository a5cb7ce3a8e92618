"""Ollama's cache: sizes that it logged, contexts times requests in parallel; and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.hand_layouts import DEEPSEEK_V3, GPT_OSS, LLAMA_8B, QWEN_27B, sized

from glasscli.config.families import Layout, layout
from glasscli.errors import ConfigError, UsageError

CASES = json.loads((Path(__file__).parents[1] / "data" / "kv" / "ollama_caches.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_sizes_that_were_logged(case: dict[str, Any]) -> None:
    budget = sized(layout(case["config"], "ollama"), case["context"], engine="ollama", batch=case["parallel"])
    assert f"{budget.bytes_total / 2**20:.0f}" == case["mib"], case["line"]


def test_room_is_made_for_all_that_may_come_in_parallel() -> None:
    """ "KvSize (ctx × parallel). With NUM_PARALLEL=4 and ctx 8192, KvSize=32768" (a public note of 2026-06)."""
    budget = sized(LLAMA_8B, 8192, engine="ollama", num_parallel=4)
    assert budget.bytes_total == 32_768 * 131_072
    assert budget.bytes_total == sized(LLAMA_8B, 8192, engine="ollama", batch=4).bytes_total
    with pytest.raises(UsageError, match="fewer"):
        sized(LLAMA_8B, 8192, engine="ollama", batch=5, num_parallel=4)


def test_a_quantised_cache_is_as_llama_cpp_packs_it() -> None:
    budget = sized(LLAMA_8B, 8192, engine="ollama", k_dtype="q8_0")
    assert budget.bytes_total == 8192 * 65_536 * 34 // 32
    assert any("OLLAMA_KV_CACHE_TYPE=q8_0" in note for note in budget.notes)


@pytest.mark.parametrize(
    ("made", "asked", "field"),
    [
        (GPT_OSS, {}, "engine"),
        (QWEN_27B, {}, "engine"),
        (DEEPSEEK_V3, {}, "engine"),
        (LLAMA_8B, {"k_dtype": "q5_1"}, "k_dtype"),
        (LLAMA_8B, {"k_dtype": "q8_0", "v_dtype": "f16"}, "v_dtype"),
        (LLAMA_8B, {"tp": 2}, "tp"),
        (LLAMA_8B, {"prefix_shared": 8}, "prefix_shared"),
    ],
)
def test_what_is_not_known_is_refused_by_name(made: Layout, asked: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        sized(made, 1000, engine="ollama", **asked)
    assert refusal.value.field == field
