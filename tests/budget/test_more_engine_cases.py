"""Sizes that llama.cpp, vLLM, SGLang and TensorRT-LLM printed, beyond `engine_cases`: reproduced to the digit.

SGLang prints GB for GiB, and keeps one spare state. What it and TensorRT-LLM hold for a number of tokens is what
the mathematics needs, so those are compared with `logical`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.hand_layouts import request, sized

from glasscli.budget.fit import capacity
from glasscli.budget.plan import Budget
from glasscli.config.families import layout

CASES = json.loads((Path(__file__).parents[1] / "data" / "kv" / "more_engine_cases.json").read_text(encoding="utf-8"))
UNITS = {"MiB": 2**20, "GiB": 2**30}
CONFIGS = {case["id"]: case["config"] for case in CASES}


def found(budget: Budget, kind: str | None, role: str | None) -> int:
    """Bytes of the lines of a kind, or of one role in them; all of them where none is named."""
    lines = [line for line in budget.lines if kind in (None, line.kind)]
    return sum(line.bytes if role is None else dict(line.held)[role] for line in lines)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_what_was_printed(case: dict[str, Any]) -> None:
    made = layout(case["config"], case["engine"])
    budget = sized(made, case["tokens"], engine=case["engine"], **case["settings"])
    size = found(budget, case["kind"], case["role"]) / case["share"] / UNITS[case["unit"]]
    assert f"{size:.{case['decimals']}f}" == f"{case['value']:.{case['decimals']}f}", case["printed"]


@pytest.mark.parametrize(
    ("name", "k_dtype", "tokens"),
    [
        ("qwen3.5-9b-256k-q8", None, 528),  # "Setting attention block size to 528 tokens"
        ("qwen3.5-9b-256k-q8", "fp8", 1056),
        ("qwen3.6-35b-32k", None, 1056),
        ("qwen3.6-35b-32k", "fp8", 2096),
    ],
)
def test_pages_that_vllm_grew_until_a_state_fits(name: str, k_dtype: str | None, tokens: int) -> None:
    asked = request(layout(CONFIGS[name], "vllm"), 32_768, engine="vllm", k_dtype=k_dtype)
    assert capacity(asked, 2**34).page_tokens == tokens


@pytest.mark.parametrize(
    ("name", "hundredths", "tokens", "drafts"),
    [
        ("vllm-qwen2.5-1.5b-need", 56, 20_992, 0),  # "Available KV cache memory: 0.56 GiB", "20,992 tokens"
        ("vllm-llama3.1-8b-need", 1992, 163_168, 0),
        ("vllm-llama3.1-8b-need", 5163, 410_128, 1),  # with EAGLE's layer
    ],
)
def test_tokens_that_vllm_found_room_for(name: str, hundredths: int, tokens: int, drafts: int) -> None:
    """The memory was printed to a hundredth of a GiB: the tokens lie between those of its two ends."""
    asked = request(layout(CONFIGS[name], "vllm"), 4096, engine="vllm", draft_layers=drafts)
    ends = [capacity(asked, (2 * hundredths + side) * 2**30 // 200).n_blocks * 16 for side in (-1, 1)]
    assert ends[0] <= tokens <= ends[1]


def test_a_hybrid_with_a_draft_head() -> None:
    """Qwen3.6-27B with MTP in 17.25 GiB: "GPU KV cache size: 255,975 tokens", "1.95x" for 131,072 tokens."""
    made = layout(CONFIGS["qwen3.8-27b-32k-q8"], "vllm")
    found = capacity(request(made, 131_072, engine="vllm", draft_layers=1, num_speculative_tokens=1), 69 * 2**28)
    assert found.tokens(131_072) == 255_975
    assert f"{float(found.concurrency):.2f}" == "1.95"
