"""TensorRT-LLM's blocks: the sizes it logged, to the byte or the digit; and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.hand_layouts import DEEPSEEK_V32, GPT_OSS, LLAMA_8B, QWEN_27B, sized

from glasscli.config.families import Layout, layout
from glasscli.errors import ConfigError

CASES = json.loads((Path(__file__).parents[1] / "data" / "kv" / "tensorrt_llm_pools.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_sizes_that_were_logged(case: dict[str, Any]) -> None:
    budget = sized(layout(case["config"], "tensorrt-llm"), case["tokens"], engine="tensorrt-llm", **case["settings"])
    size = budget.per_rank.bytes
    assert (f"{size}" if case["unit"] == "B" else f"{size / 2**30:.2f}") == case["printed"], case["line"]
    assert any(f"{case['tokens']:,} in its pool" in note for note in budget.notes)


@pytest.mark.parametrize(
    ("tokens", "per_block", "pool"),
    [(262_112, 32, 8191), (8224, 32, 257), (263_008, 32, 8219), (294_848, 64, 4607), (5185, 64, 82)],
)
def test_blocks_that_were_logged_beside_their_tokens(tokens: int, per_block: int, pool: int) -> None:
    """Lines of models that are not known: "primary blocks=8191 … (262112)", "Number of blocks … 4607 … (294848)"."""
    budget = sized(LLAMA_8B, tokens, engine="tensorrt-llm", tokens_per_block=per_block)
    assert budget.bytes_total == pool * per_block * 131_072


def test_a_common_prefix_is_kept_once() -> None:
    budget = sized(LLAMA_8B, 1000, engine="tensorrt-llm", batch=3, prefix_shared=100)
    assert budget.bytes_total == (3 + 3 * (32 - 3)) * 32 * 131_072


@pytest.mark.parametrize(
    ("made", "asked", "field"),
    [
        (GPT_OSS, {}, "engine"),
        (QWEN_27B, {}, "engine"),
        (DEEPSEEK_V32, {}, "engine"),
        (LLAMA_8B, {"k_dtype": "q8_0"}, "k_dtype"),
        (LLAMA_8B, {"k_dtype": "fp8", "v_dtype": "f16"}, "v_dtype"),
    ],
)
def test_what_is_not_known_is_refused_by_name(made: Layout, asked: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        sized(made, 1000, engine="tensorrt-llm", **asked)
    assert refusal.value.field == field
