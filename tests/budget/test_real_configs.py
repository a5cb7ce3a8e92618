"""Configs of models in production: the bytes of one sequence, worked out by hand from each model's own numbers.

The formulas stand apart from the code on purpose: they name layers, heads and widths as numbers, as a reader of
the config would. `t` is the number of tokens; sizes are what the mathematics needs (engine "logical"), with the
cache's dtype where the checkpoint fixes one (fp8: one byte) and else the model's (bfloat16: two bytes).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glasscli.budget.plan import plan
from glasscli.budget.request import Request
from glasscli.config.families import layout
from glasscli.errors import ConfigError

CONFIGS = Path(__file__).parents[1] / "data" / "kv" / "configs"
Formula = Callable[[int], int]

# Layers × tokens × key/value heads × (key width + value width) × bytes.
PLAIN: dict[str, Formula] = {
    "MiniMaxAI--MiniMax-M2.7": lambda t: 62 * t * 8 * (128 + 128) * 2,
    "Qwen--Qwen3-0.6B": lambda t: 28 * t * 8 * (128 + 128) * 2,
    "Qwen--Qwen3-1.7B": lambda t: 28 * t * 8 * (128 + 128) * 2,
    "Qwen--Qwen3-235B-A22B-FP8": lambda t: 94 * t * 4 * (128 + 128) * 2,
    "Qwen--Qwen3-30B-A3B": lambda t: 48 * t * 4 * (128 + 128) * 2,
    "Qwen--Qwen3-32B-FP8-Static-PerTensor": lambda t: 64 * t * 8 * (128 + 128) * 1,
    "Qwen--Qwen3-8B": lambda t: 36 * t * 8 * (128 + 128) * 2,
    "Qwen--Qwen3-VL-235B-A22B-Instruct": lambda t: 94 * t * 4 * (128 + 128) * 2,
    "Qwen--Qwen3-VL-2B-Instruct": lambda t: 28 * t * 8 * (128 + 128) * 2,
    "Qwen--Qwen3-VL-32B-Instruct": lambda t: 64 * t * 8 * (128 + 128) * 2,
    "Qwen--Qwen3-VL-32B-Thinking": lambda t: 64 * t * 8 * (128 + 128) * 2,
    "Qwen--Qwen3-VL-4B-Instruct": lambda t: 36 * t * 8 * (128 + 128) * 2,
    "Qwen--Qwen3-VL-8B-Instruct": lambda t: 36 * t * 8 * (128 + 128) * 2,
    "XiaomiMiMo--MiMo-7B-Base": lambda t: 36 * t * 8 * (128 + 128) * 2,
    "meta-llama--Meta-Llama-3.1-405B": lambda t: 126 * t * 8 * (128 + 128) * 2,
    "meta-llama--Meta-Llama-3.1-70B": lambda t: 80 * t * 8 * (128 + 128) * 2,
    "meta-llama--Meta-Llama-3.1-8B": lambda t: 32 * t * 8 * (128 + 128) * 2,
    "mistralai--Mixtral-8x22B-v0.1": lambda t: 56 * t * 8 * (128 + 128) * 2,
    "nvidia--Llama-3.1-70B-Instruct-FP8": lambda t: 80 * t * 8 * (128 + 128) * 2,
    # 31 of its 80 blocks have no attention; the others share a key/value head between 8 query heads of 64.
    "nvidia--Llama-3_3-Nemotron-Super-49B-v1": lambda t: 49 * t * (64 // 8) * (128 + 128) * 2,
    "nvidia--MiniMax-M2.5-NVFP4": lambda t: 62 * t * 8 * (128 + 128) * 1,
    "nvidia--MiniMax-M2.7-NVFP4": lambda t: 62 * t * 8 * (128 + 128) * 1,
}

# 57 of 60 layers also keep an index key of 128.
SPARSE: dict[str, Formula] = {
    "MiniMaxAI--MiniMax-M3": lambda t: 60 * t * 4 * (128 + 128) * 2 + 57 * t * 128 * 2,
    "nvidia--MiniMax-M3-NVFP4": lambda t: 60 * t * 4 * (128 + 128) * 2 + 57 * t * 128 * 2,
}

# A latent row of 512 and a rotary key of 64, one for all heads; an index key of 128 where there is an indexer.
LATENT: dict[str, Formula] = {
    "deepseek-ai--DeepSeek-V3.2": lambda t: 61 * t * (512 + 64 + 128) * 2,
    "moonshotai--Kimi-K2-Instruct": lambda t: 61 * t * (512 + 64) * 2,
    "moonshotai--Kimi-K2.5": lambda t: 61 * t * (512 + 64) * 2,
    "nvidia--DeepSeek-V3.2-NVFP4": lambda t: 61 * t * (512 + 64 + 128) * 2,
    "nvidia--GLM-5-NVFP4": lambda t: 78 * t * (512 + 64 + 128) * 2,
    "nvidia--Kimi-K2.5-NVFP4": lambda t: 61 * t * (512 + 64) * 1,
    "nvidia--Kimi-K2.6-NVFP4": lambda t: 61 * t * (512 + 64) * 1,
    "nvidia--Kimi-K2.7-Code-NVFP4": lambda t: 61 * t * (512 + 64) * 1,
    "zai-org--GLM-5": lambda t: 78 * t * (512 + 64 + 128) * 2,
    "zai-org--GLM-5-FP8": lambda t: 78 * t * (512 + 64 + 128) * 2,
    "zai-org--GLM-5.1-FP8": lambda t: 78 * t * (512 + 64 + 128) * 2,
}

# Global layers keep every token, the others a window's worth (Llama 4: a chunk's).
WINDOWS: dict[str, Formula] = {
    "XiaomiMiMo--MiMo-V2-Flash": lambda t: (9 * t * 4 + 39 * min(t, 128) * 8) * (192 + 128) * 2,
    "google--gemma-4-26B-A4B": lambda t: (5 * t * 2 * 1024 + 25 * min(t, 1024) * 8 * 512) * 2,
    "nvidia--Gemma-4-31B-IT-NVFP4": lambda t: (10 * t * 4 * 1024 + 50 * min(t, 1024) * 16 * 512) * 1,
    "meta-llama--Llama-4-Maverick-17B-128E-Instruct": lambda t: (12 * t + 36 * min(t, 8192)) * 8 * 256 * 2,
    "stepfun-ai--Step-3.7-Flash": lambda t: (12 * t + 33 * min(t, 512)) * 8 * (128 + 128) * 2,
    "stepfun-ai--Step-3.7-Flash-FP8": lambda t: (12 * t + 33 * min(t, 512)) * 8 * (128 + 128) * 2,
}


def v4(t: int, alone: int, light: int, heavy: int) -> int:
    """DeepSeek V4: a window of 128 rows of 512 in every layer; a row for 4 tokens (with an index), or for 128."""
    window = (alone + light + heavy) * min(t, 128) * 512
    return (window + light * -(-t // 4) * (512 + 128) + heavy * -(-t // 128) * 512) * 2


COMPRESSED: dict[str, Formula] = {
    "deepseek-ai--DeepSeek-V4-Flash": lambda t: v4(t, 2, 21, 20),
    "deepseek-ai--DeepSeek-V4-Pro": lambda t: v4(t, 0, 30, 31),
    "nvidia--DeepSeek-V4-Flash-NVFP4": lambda t: v4(t, 2, 21, 20),
    "nvidia--DeepSeek-V4-Pro-NVFP4": lambda t: v4(t, 0, 30, 31),
    "sgl-project--DeepSeek-V4-Flash-FP8": lambda t: v4(t, 2, 21, 20),
    "sgl-project--DeepSeek-V4-Pro-FP8": lambda t: v4(t, 0, 30, 31),
}


def delta(value_heads: int) -> int:
    """Gated DeltaNet with 16 key heads of 128: three columns of q, k and v, and a float32 matrix a value head."""
    return (2 * 16 * 128 + value_heads * 128) * 3 * 2 + value_heads * 128 * 128 * 4


def mamba2(heads: int, state: int) -> int:
    """Mamba-2 with heads of 64 and 8 groups: three columns of x, B and C, and a state in float32."""
    return (heads * 64 + 2 * 8 * state) * 3 * 2 + heads * 64 * state * 4


# A constant a sequence, and what the few attention layers keep a token.
HYBRID: dict[str, Formula] = {
    "Qwen--Qwen3.5-35B-A3B": lambda t: 30 * delta(32) + 10 * t * 2 * (256 + 256) * 2,
    "Qwen--Qwen3.5-397B-A17B": lambda t: 45 * delta(64) + 15 * t * 2 * (256 + 256) * 2,
    "nvidia--Qwen3.5-122B-A10B-NVFP4": lambda t: 36 * delta(64) + 12 * t * 2 * (256 + 256) * 1,
    "nvidia--Qwen3.5-397B-A17B-NVFP4": lambda t: 45 * delta(64) + 15 * t * 2 * (256 + 256) * 1,
    "nvidia--Qwen3.6-27B-NVFP4": lambda t: 48 * delta(48) + 16 * t * 4 * (256 + 256) * 1,
    "nvidia--Qwen3.6-35B-A3B-NVFP4": lambda t: 30 * delta(32) + 10 * t * 2 * (256 + 256) * 2,
    "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4": lambda t: 23 * mamba2(64, 128) + 6 * t * 2 * 256 * 2,
    "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8": lambda t: 40 * mamba2(128, 128) + 8 * t * 2 * 256 * 2,
    "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4": lambda t: 40 * mamba2(128, 128) + 8 * t * 2 * 256 * 2,
    "nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4": lambda t: 23 * mamba2(64, 128) + 6 * t * 2 * 256 * 2,
    "nvidia--Nemotron-H-56B-Base-8K": lambda t: 54 * mamba2(256, 256) + 10 * t * 8 * (128 + 128) * 2,
    # KDA: three columns of q, k and v, and a float32 matrix a head; MLA in 24 of 93 layers.
    "moonshotai--Kimi-K3": lambda t: 69 * (3 * 96 * 128 * 3 * 2 + 96 * 128 * 128 * 4) + 24 * t * (512 + 64) * 2,
}

BY_HAND = PLAIN | SPARSE | LATENT | WINDOWS | COMPRESSED | HYBRID


def config(name: str) -> dict[str, Any]:
    return json.loads((CONFIGS / f"{name}.json").read_text())


def test_every_config_has_a_formula() -> None:
    assert {path.stem for path in CONFIGS.glob("*.json")} == set(BY_HAND)
    assert len(BY_HAND) == 59


@pytest.mark.parametrize("name", BY_HAND)
def test_bytes_are_what_the_formula_says(name: str) -> None:
    laid_out = layout(config(name))
    for tokens in (1, 127, 128, 129, 4_095, 8_193, 131_072):
        assert plan(Request(laid_out, tokens)).bytes_total == BY_HAND[name](tokens), tokens


# Their model types come with code of their own; transformers has no class for them.
OWN_CODE = {
    "MiniMaxAI--MiniMax-M3",
    "XiaomiMiMo--MiMo-7B-Base",
    "moonshotai--Kimi-K2-Instruct",
    "moonshotai--Kimi-K3",
    "nvidia--Llama-3_3-Nemotron-Super-49B-v1",
    "sgl-project--DeepSeek-V4-Flash-FP8",
    "sgl-project--DeepSeek-V4-Pro-FP8",
}


@pytest.mark.parametrize("name", sorted(set(BY_HAND) - OWN_CODE))
def test_transformers_is_sized_where_it_has_a_class(name: str) -> None:
    asked = Request(layout(config(name), "transformers"), 1000, engine="transformers")
    assert plan(asked).bytes_total > 0


@pytest.mark.parametrize("name", sorted(OWN_CODE))
def test_transformers_is_refused_where_it_has_none(name: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        layout(config(name), "transformers")
    assert refusal.value.field == "model_type"
