"""98 sizes that engines printed or that papers and cards state, each reproduced to its printed digits or explained.

The adapter in `helpers.engine_case` reads a case's settings; `UNSAID` adds what the source says elsewhere than in its
settings, `DISAGREES` lists the sources that contradict the formula, with what is right instead.
"""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from helpers.engine_case import agrees, measured, model

from glasscli.specs.attention_specs import FullAttention, LatentAttention
from glasscli.specs.state_specs import Mamba2

CASES = json.loads((Path(__file__).parents[1] / "data/kv/engine_cases.json").read_text(encoding="utf-8"))
BY_ID = {case["id"]: case for case in CASES}

NANO_9B = model(
    (*(FullAttention(8, 128, 128),) * 4, *(Mamba2(128, 80, 128, 8, 4, "f32"),) * 27), dtype="bf16", n_heads=40
)
UNSAID: dict[str, tuple[str, dict[str, Any]]] = {
    "lcpp-27b-mtp-rs": ("seven states, of which six are snapshots", {"n_rs_seq": 6}),
    "lcpp-ling3-tiny-4k-np2": (
        "two streams of 4096 cells; six of the layers keep a latent, the source tells no more of the model",
        {"layout": model((LatentAttention(512, 64),) * 6), "batch": 2},
    ),
    "lcpp-ornith-9b-256k": (
        "a Qwen3.5 under another name; the size is of keys and values alone",
        {"config": {"model_type": "qwen3_5_text", "linear_num_key_heads": 16}, "part": "KV"},
    ),
    "lcpp-laguna-1m-q4-full": (
        "the window of the other layers is not told; it plays no part in the size",
        {"config": {"model_type": "laguna", "sliding_window": 512}},
    ),
    "jamba-256k": ("the paper counts keys and values alone", {"part": "KV"}),
    "vllm-gemma4-e2b-conc": ("a window held with one step of 8192, as before 0.26", {"version": "0.25"}),
    "vllm-mistral-small-tp2": ("that model's sliding_window is null", {"config": {"sliding_window": None}}),
    "vllm-qwen3coder-30b-maxlen": ("vLLM compared all layers with one rank's memory: the bug reported", {"pp": 1}),
    "vllm-qwen3.6-27b-fp8-conc": ("prefix caching keeps a second state page", {"mamba_cache_mode": "align"}),
    "sglang-nemotron-nano9b-k": ("of the pattern only the number of layers is known", {"layout": NANO_9B}),
    "sglang-nemotron-nano9b-ssm": ("48 slots and one spare", {"layout": NANO_9B, "batch": 49}),
    "sglang-gemma4-26b-full-k": ("SGLang's pool holds one page of 256 tokens more", {"tokens": 67584 + 256}),
    "sglang-gemma4-26b-swa-k": (
        "SGLang's second pool holds 54,016 tokens and a page of 256 in each sliding layer",
        {"layout": model((FullAttention(8, 256, 256),) * 25), "tokens": 54016 + 256, "part": "K only"},
    ),
}
DISAGREES = {
    "dsv4-flash-128k": "counts index keys in one byte, the cache's dtype takes two",
    "dsv4-pro-128k": "counts index keys in one byte, the cache's dtype takes two",
    "dsv4-pro-1024k": "counts index keys in one byte, the cache's dtype takes two",
    "omlx-qwen3.8-27b-block64": "counts all 64 layers; 16 keep keys and values",
    "hfblog-llama3.1-405b-16000": "counts 16 key/value heads, as the first config had; the model has 8",
    "hfblog-llama3.1-405b-128000": "counts 16 key/value heads, as the first config had; the model has 8",
}


@pytest.mark.parametrize("name", [name for name in BY_ID if name not in DISAGREES])
def test_a_printed_size_is_reproduced(name: str) -> None:
    case = BY_ID[name]
    low, high = measured(case, **UNSAID.get(name, ("", {}))[1])
    assert agrees(case, low, high), f"{float(low)}…{float(high)}, printed {case['expected']['printed']}"


@pytest.mark.parametrize("name", DISAGREES)
def test_a_source_that_is_wrong_is_not_followed(name: str) -> None:
    case = BY_ID[name]
    size, _ = measured(case, **({"part": "KV"} if name.startswith("omlx") else {}))
    assert not agrees(case, size, size)
    assert abs(size - Fraction(str(case["check"]["formula_result"]))) < Fraction(1, 10**6)


def test_no_case_is_left_out() -> None:
    assert len(BY_ID) == len(CASES) == 98
    wrong = {name for name, case in BY_ID.items() if not case["source_agrees_with_formula"]}
    assert wrong == set(DISAGREES)
    assert set(UNSAID) <= set(BY_ID) - wrong


def test_the_comparison_can_fail() -> None:
    case = BY_ID["lcpp-mistral-7b-4k"]
    low, _ = measured(case, tokens=4097)
    assert not agrees(case, low, low)
