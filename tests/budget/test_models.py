"""The named models: their facts against published sizes, worked out by hand here, and against their config.json."""

import json
import re
from pathlib import Path

import pytest

from glasscli.budget.describe import sharing
from glasscli.budget.model_facts import MODELS
from glasscli.budget.models import find
from glasscli.budget.plan import Request, plan
from glasscli.config.families import layout
from glasscli.errors import UsageError
from glasscli.locate.shipped import shipped_folder

NAMES = [model.name for model in MODELS]
DATA = Path(__file__).parents[1] / "data" / "kv"

# Bytes of one sequence of 8,192 tokens in 16 bits: layers × tokens × KV heads × (key + value) × 2 B,
# a window's layers with its tokens, a latent's with its one row.
T = 8192
SIZES = {
    "gpt-3-175b": 96 * T * 96 * (128 + 128) * 2,  # 4.5 MiB a token
    "gpt-2": 12 * T * 12 * (64 + 64) * 4,
    "gpt-oss-20b": 12 * (T + 128) * 8 * 128 * 2,
    "gpt-oss-120b": 18 * (T + 128) * 8 * 128 * 2,
    "opt-13b": T * 800 * 1024,  # "800 KB" a token: Kwon et al. 2023, arXiv:2309.06180, section 3
    "llama-7b": 32 * T * 32 * 256 * 2,
    "llama-13b": 40 * T * 40 * 256 * 2,
    "llama-33b": 60 * T * 52 * 256 * 2,
    "llama-65b": 80 * T * 64 * 256 * 2,
    "llama-2-7b": T * 512 * 1024,
    "llama-2-13b": T * 800 * 1024,
    "llama-2-70b": T * 320 * 1024,
    "llama-3-8b": T * 128 * 1024,
    "llama-3-70b": T * 320 * 1024,
    "llama-3.1-8b": T * 128 * 1024,
    "llama-3.1-70b": T * 320 * 1024,
    "llama-3.1-405b": T * 516_096,  # 516.096 KB a token: DeepSeek-AI 2025, arXiv:2505.09343, table 1
    "llama-3.2-3b": 28 * T * 8 * 256 * 2,
    "llama-3.3-70b": T * 320 * 1024,
    "llama-4-maverick": (12 * T + 36 * 8192) * 8 * 256 * 2,
    "mistral-7b-v0.1": 32 * 4096 * 8 * 256 * 2,
    "mistral-7b-v0.3": T * 128 * 1024,
    "mixtral-8x7b": T * 128 * 1024,
    "mixtral-8x22b": 56 * T * 8 * 256 * 2,
    "palm-8b": 32 * T * 1 * 512 * 2,
    "palm-62b": 64 * T * 1 * 512 * 2,
    "palm-540b": 118 * T * 1 * 512 * 2,
    "gemma-2b": 18 * T * 1 * 512 * 2,
    "gemma-7b": 28 * T * 16 * 512 * 2,
    "gemma-2-2b": 13 * (T + 4096) * 4 * 512 * 2,
    "gemma-2-9b": 21 * (T + 4096) * 8 * 512 * 2,
    "gemma-2-27b": 23 * (T + 4096) * 16 * 256 * 2,
    "gemma-3-1b": (4 * T + 22 * 512) * 1 * 512 * 2,
    "gemma-3-4b": (5 * T + 29 * 1024) * 4 * 512 * 2,
    "gemma-3-12b": (8 * T + 40 * 1024) * 8 * 512 * 2,
    "gemma-3-27b": (10 * T + 52 * 1024) * 16 * 256 * 2,
    "gemma-4-e2b": 3 * T * 1 * 1024 * 2 + 12 * 512 * 1 * 512 * 2,  # 35 − 20 layers own a cache
    "gemma-4-e4b": 4 * T * 2 * 1024 * 2 + 20 * 512 * 2 * 512 * 2,
    "gemma-4-26b-a4b": 5 * T * 2 * 1024 * 2 + 25 * 1024 * 8 * 512 * 2,
    "gemma-4-31b": 10 * T * 4 * 1024 * 2 + 50 * 1024 * 16 * 512 * 2,
    "falcon-7b": 32 * T * 1 * 128 * 2,  # 71 query heads share one of 64 + 64
    "falcon-40b": 60 * T * 8 * 128 * 2,
    "falcon-180b": 80 * T * 8 * 128 * 2,
    "qwen2.5-0.5b": 24 * T * 2 * 128 * 2,
    "qwen2.5-1.5b": 28 * T * 2 * 256 * 2,
    "qwen2.5-3b": 36 * T * 2 * 256 * 2,
    "qwen2.5-7b": 28 * T * 4 * 256 * 2,
    "qwen2.5-14b": 48 * T * 8 * 256 * 2,
    "qwen2.5-32b": 64 * T * 8 * 256 * 2,
    "qwen2.5-72b": T * 327_680,  # same table
    "qwen3-0.6b": 28 * T * 8 * 256 * 2,  # heads of 128, not 1024 / 16
    "qwen3-8b": 36 * T * 8 * 256 * 2,
    "qwen3-32b": 64 * T * 8 * 256 * 2,
    "qwen3-30b-a3b": 48 * T * 4 * 256 * 2,
    "qwen3-235b-a22b": 94 * T * 4 * 256 * 2,
    "qwen3.5-35b-a3b": 10 * T * 2 * 512 * 2 + 30 * ((2 * 16 + 32) * 128 * 3 * 2 + 32 * 128 * 128 * 4),
    "qwen3.5-122b-a10b": 12 * T * 2 * 512 * 2 + 36 * ((2 * 16 + 64) * 128 * 3 * 2 + 64 * 128 * 128 * 4),
    "qwen3.5-397b-a17b": 15 * T * 2 * 512 * 2 + 45 * ((2 * 16 + 64) * 128 * 3 * 2 + 64 * 128 * 128 * 4),
    "qwen3.6-27b": 16 * T * 4 * 512 * 2 + 48 * ((2 * 16 + 48) * 128 * 3 * 2 + 48 * 128 * 128 * 4),
    "deepseek-v2-lite": 27 * T * (512 + 64) * 2,
    "deepseek-v2": 60 * T * (512 + 64) * 2,
    "deepseek-v3": T * 70_272,  # same table
    "deepseek-r1": T * 70_272,
    "deepseek-v3.2": 61 * T * (512 + 64 + 128) * 2,
    "kimi-k2": 61 * T * (512 + 64) * 2,
    "kimi-k2.5": 61 * T * (512 + 64) * 2,
    "phi-2": 32 * T * 32 * 160 * 2,
    "phi-3-mini-4k": 32 * 2047 * 32 * 192 * 2,
    "phi-3.5-mini": 32 * T * 32 * 192 * 2,
    "phi-4": 40 * T * 10 * 256 * 2,
    "phi-4-mini": 32 * T * 8 * 256 * 2,
    "starcoder": 40 * T * 1 * 256 * 2,
    "starcoder2-15b": 40 * 4096 * 4 * 256 * 2,
    "minimax-m2": 62 * T * 8 * 256 * 2,
    "nemotron-3-nano": 6 * T * 2 * 256 * 2 + 23 * ((64 * 64 + 2 * 8 * 128) * 3 * 2 + 64 * 64 * 128 * 4),
    # The last 128 tokens in every layer, then one row in 4 with an index key, or one in 128; no factor 2.
    "deepseek-v4-flash": (43 * 128 * 512 + 21 * T // 4 * (512 + 128) + 20 * T // 128 * 512) * 2,
    "deepseek-v4-pro": (61 * 128 * 512 + 30 * T // 4 * (512 + 128) + 31 * T // 128 * 512) * 2,
    "kimi-k3": 24 * T * (512 + 64) * 2 + 69 * (3 * 96 * 128 * 3 * 2 + 96 * 128 * 128 * 4),
    "llama-4-scout": (12 * T + 36 * 8192) * 8 * 256 * 2,
    "minimax-m3": 60 * T * 4 * 256 * 2 + 57 * T * 128 * 2,
    "glm-5": 78 * T * (512 + 64 + 128) * 2,
    "whisper-large-v3": 32 * (T + 1500) * 20 * 128 * 2,
    "glass-1m": 4 * T * 2 * 64 * 2,
    "gpt-2-medium": 24 * T * 16 * 128 * 4,
    "gpt-j-6b": 28 * T * 16 * 512 * 2,
    "gpt-neox-20b": 44 * T * 64 * 192 * 2,
    "codellama-7b": 32 * T * 32 * 256 * 2,
    "codellama-13b": 40 * T * 40 * 256 * 2,
    "codellama-34b": 48 * T * 8 * 256 * 2,
    "tinyllama-1.1b": 22 * T * 4 * 128 * 2,
    "llama-3.2-1b": 16 * T * 8 * 128 * 2,
    "ministral-3-3b": 26 * T * 8 * 256 * 2,
    "ministral-3-8b": 34 * T * 8 * 256 * 2,
    "mistral-small-3.1-24b": 40 * T * 8 * 256 * 2,
    "phi-1.5": 24 * T * 32 * 128 * 2,
    "qwen1.5-1.8b": 24 * T * 16 * 256 * 2,
    "qwen1.5-moe-a2.7b": 24 * T * 16 * 256 * 2,
    "qwen2-0.5b": 24 * T * 2 * 128 * 2,
    "qwen2-1.5b": 28 * T * 2 * 256 * 2,
    "qwen2-7b": 28 * T * 4 * 256 * 2,
    "qwen3-1.7b": 28 * T * 8 * 256 * 2,
    "qwen3-4b": 36 * T * 8 * 256 * 2,
    "qwen3-vl-2b": 28 * T * 8 * 256 * 2,
    "qwen3-vl-4b": 36 * T * 8 * 256 * 2,
    "qwen3-vl-8b": 36 * T * 8 * 256 * 2,
    "qwen3-vl-32b": 64 * T * 8 * 256 * 2,
    "qwen3-vl-235b-a22b": 94 * T * 4 * 256 * 2,
    "qwen3-next-80b-a3b": 12 * T * 2 * 512 * 2 + 36 * ((2 * 16 + 32) * 128 * 3 * 2 + 32 * 128 * 128 * 4),
    "qwen3.5-27b": 16 * T * 4 * 512 * 2 + 48 * ((2 * 16 + 48) * 128 * 3 * 2 + 48 * 128 * 128 * 4),
    "qwen3.6-35b-a3b": 10 * T * 2 * 512 * 2 + 30 * ((2 * 16 + 32) * 128 * 3 * 2 + 32 * 128 * 128 * 4),
    "stablelm-3b-4e1t": 32 * T * 32 * 160 * 2,
    "stablelm-2-1.6b": 24 * T * 32 * 128 * 2,
    "internlm-7b": 32 * T * 32 * 256 * 2,
    "internlm2-7b": 32 * T * 8 * 256 * 2,
    "baichuan2-7b": 32 * T * 32 * 256 * 2,
    "starcoder2-7b": 32 * 4096 * 4 * 256 * 2,
    "smollm-135m": 30 * T * 3 * 128 * 2,
    "smollm-360m": 32 * T * 5 * 128 * 2,
    "smollm-1.7b": 24 * T * 32 * 128 * 2,
    "smollm2-135m": 30 * T * 3 * 128 * 2,
    "smollm2-360m": 32 * T * 5 * 128 * 2,
    "smollm2-1.7b": 24 * T * 32 * 128 * 2,
    "aya-23-8b": 32 * T * 8 * 256 * 2,
    "command-r": 40 * T * 64 * 256 * 2,  # 2,560 MiB at 2,048, as llama.cpp printed
    "minicpm-2b": 40 * T * 36 * 128 * 2,
    "deepseek-moe-16b": 28 * T * 16 * 256 * 2,
    "seed-oss-36b": 64 * T * 8 * 256 * 2,
    "ernie-4.5-0.3b": 18 * T * 2 * 256 * 2,
    "ernie-4.5-21b-a3b": 28 * T * 4 * 256 * 2,
    "olmo-7b": 32 * T * 32 * 256 * 4,  # its config names no dtype of 16 bits
    "olmoe-1b-7b": 16 * T * 16 * 256 * 2,
    "glm-4-9b": 40 * T * 2 * 256 * 2,
    "glm-4.7-flash": 47 * T * (512 + 64) * 2,
    "glm-5.1": 78 * T * (512 + 64 + 128) * 2,
    "glm-5.2": (78 * T * (512 + 64) + 21 * T * 128) * 2,  # 21 layers have an index of their own
    "kimi-k2.6": 61 * T * (512 + 64) * 2,
    "kimi-k2.7-code": 61 * T * (512 + 64) * 2,
    "minimax-m2.5": 62 * T * 8 * 256 * 2,
    "minimax-m2.7": 62 * T * 8 * 256 * 2,
    "minimax-text-01": 10 * T * 8 * 256 * 2 + 70 * 64 * 128 * 128 * 2,  # states in the model's dtype
    "mimo-7b": 36 * T * 8 * 256 * 2,
    "mimo-v2-flash": (9 * T * 4 + 39 * 128 * 8) * (192 + 128) * 2,
    "nemotron-super-49b": 49 * T * 8 * 256 * 2,  # 49 of 80 layers have attention
    "nemotron-h-56b": 10 * T * 8 * 256 * 2 + 54 * ((256 * 64 + 2 * 8 * 256) * 3 * 2 + 256 * 64 * 256 * 4),
    "nemotron-nano-9b-v2": 4 * T * 8 * 256 * 2 + 27 * ((128 * 80 + 2 * 8 * 128) * 3 * 2 + 128 * 80 * 128 * 4),
    "nemotron-3-super-120b-a12b": 8 * T * 2 * 256 * 2 + 40 * ((128 * 64 + 2 * 8 * 128) * 3 * 2 + 128 * 64 * 128 * 4),
    "nemotron-3.5-lightning-30b-a3b": 6 * T * 2 * 256 * 2 + 23 * ((64 * 64 + 2 * 8 * 128) * 3 * 2 + 64 * 64 * 128 * 4),
    "step-3.7-flash": (12 * T + 33 * 512) * 8 * 256 * 2,
    "step3": 61 * T * 1 * 512 * 2,
    "hunyuan-a13b": 32 * T * 8 * 256 * 2,
    "hunyuan-large": 32 * T * 8 * 256 * 2,  # each cache serves two of 64 layers
    "grok-2": 64 * T * 8 * 256 * 2,
    "recurrentgemma-2b": 8 * 2048 * 1 * 512 * 2 + 18 * (2560 * 3 * 2 + 2560 * 4),
    "granite-4.0-h-small": 4 * T * 8 * 256 * 2 + 36 * ((128 * 64 + 2 * 128) * 3 * 2 + 128 * 64 * 128 * 4),
}  # fmt: skip

# Which published config.json a name stands for. Their whole content is read, the facts hold a few fields of it.
PUBLISHED = {
    "llama-3.1-8b": "meta-llama--Meta-Llama-3.1-8B",
    "llama-3.1-70b": "meta-llama--Meta-Llama-3.1-70B",
    "llama-3.1-405b": "meta-llama--Meta-Llama-3.1-405B",
    "llama-4-maverick": "meta-llama--Llama-4-Maverick-17B-128E-Instruct",
    "mixtral-8x22b": "mistralai--Mixtral-8x22B-v0.1",
    "gemma-4-26b-a4b": "google--gemma-4-26B-A4B",
    "gemma-4-31b": "nvidia--Gemma-4-31B-IT-NVFP4",
    "qwen3-0.6b": "Qwen--Qwen3-0.6B",
    "qwen3-8b": "Qwen--Qwen3-8B",
    "qwen3-32b": "Qwen--Qwen3-32B-FP8-Static-PerTensor",
    "qwen3-30b-a3b": "Qwen--Qwen3-30B-A3B",
    "qwen3-235b-a22b": "Qwen--Qwen3-235B-A22B-FP8",
    "qwen3.5-35b-a3b": "Qwen--Qwen3.5-35B-A3B",
    "qwen3.5-122b-a10b": "nvidia--Qwen3.5-122B-A10B-NVFP4",
    "qwen3.5-397b-a17b": "Qwen--Qwen3.5-397B-A17B",
    "qwen3.6-27b": "nvidia--Qwen3.6-27B-NVFP4",
    "deepseek-v3.2": "deepseek-ai--DeepSeek-V3.2",
    "deepseek-v4-flash": "deepseek-ai--DeepSeek-V4-Flash",
    "deepseek-v4-pro": "deepseek-ai--DeepSeek-V4-Pro",
    "kimi-k3": "moonshotai--Kimi-K3",
    "minimax-m3": "MiniMaxAI--MiniMax-M3",
    "glm-5": "zai-org--GLM-5",
    "kimi-k2": "moonshotai--Kimi-K2-Instruct",
    "kimi-k2.5": "moonshotai--Kimi-K2.5",
    "minimax-m2": "MiniMaxAI--MiniMax-M2.7",
    "nemotron-3-nano": "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4",
    "qwen3-1.7b": "Qwen--Qwen3-1.7B",
    "qwen3-vl-2b": "Qwen--Qwen3-VL-2B-Instruct",
    "qwen3-vl-4b": "Qwen--Qwen3-VL-4B-Instruct",
    "qwen3-vl-8b": "Qwen--Qwen3-VL-8B-Instruct",
    "qwen3-vl-32b": "Qwen--Qwen3-VL-32B-Instruct",
    "qwen3-vl-235b-a22b": "Qwen--Qwen3-VL-235B-A22B-Instruct",
    "qwen3-next-80b-a3b": "Qwen--Qwen3-Next-80B-A3B",
    "qwen3.6-35b-a3b": "nvidia--Qwen3.6-35B-A3B-NVFP4",
    "glm-4-9b": "THUDM--glm-4-9b-chat",
    "glm-4.7-flash": "zai-org--GLM-4.7-Flash",
    "glm-5.1": "zai-org--GLM-5.1-FP8",
    "glm-5.2": "zai-org--GLM-5.2",
    "kimi-k2.6": "nvidia--Kimi-K2.6-NVFP4",
    "kimi-k2.7-code": "nvidia--Kimi-K2.7-Code-NVFP4",
    "minimax-m2.5": "nvidia--MiniMax-M2.5-NVFP4",
    "minimax-m2.7": "nvidia--MiniMax-M2.7-NVFP4",
    "minimax-text-01": "MiniMaxAI--MiniMax-Text-01",
    "mimo-7b": "XiaomiMiMo--MiMo-7B-Base",
    "mimo-v2-flash": "XiaomiMiMo--MiMo-V2-Flash",
    "nemotron-super-49b": "nvidia--Llama-3_3-Nemotron-Super-49B-v1",
    "nemotron-h-56b": "nvidia--Nemotron-H-56B-Base-8K",
    "nemotron-nano-9b-v2": "nvidia--Nemotron-Nano-9B-v2",
    "nemotron-3-super-120b-a12b": "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8",
    "nemotron-3.5-lightning-30b-a3b": "nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
    "step-3.7-flash": "stepfun-ai--Step-3.7-Flash",
    "step3": "stepfun-ai--step3",
    "hunyuan-a13b": "tencent--Hunyuan-A13B-Instruct",
    "hunyuan-large": "tencent--Tencent-Hunyuan-Large",
    "grok-2": "xai-org--grok-2",
    "olmo-7b": "allenai--OLMo-7B",
    "recurrentgemma-2b": "google--recurrentgemma-2b",
}


def test_every_model_has_a_size_worked_out_by_hand() -> None:
    assert len(NAMES) >= 150
    assert set(SIZES) == set(NAMES)
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_size(model):  # type: ignore[no-untyped-def]
    assert plan(Request(layout(model.config), tokens=T)).bytes_total == SIZES[model.name]


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_kind_date_and_source(model):  # type: ignore[no-untyped-def]
    assert sharing(layout(model.config)) == model.kind
    assert re.fullmatch(r"20\d\d(-\d\d)?", model.date)
    assert "2019" <= model.date <= "2026-11"
    assert "config" in model.source or "arXiv:" in model.source


@pytest.mark.parametrize("name", PUBLISHED)
def test_facts_are_those_of_the_published_config(name: str) -> None:
    (path,) = DATA.glob(f"*configs/{PUBLISHED[name]}.json")
    published = layout(json.loads(path.read_text()))
    ours = layout(find(name).config)
    assert ours.layers == published.layers
    assert (ours.n_heads, ours.dtype, ours.max_positions) == (
        published.n_heads,
        published.dtype,
        published.max_positions,
    )


def test_the_shipped_model_is_the_one_described() -> None:
    config = json.loads((shipped_folder() / "config.json").read_text())
    assert layout(find("glass-1m").config) == layout(config)


WELL_KNOWN = """
gpt-3 llama-7b llama-13b llama-2-7b llama-2-13b llama-2-70b llama-3-8b llama-3-70b llama-3.1-8b llama-3.1-70b
llama-3.1-405b mistral-7b palm falcon-7b falcon-40b gemma-2- gemma-3- gemma-4- qwen2.5- qwen3- qwen3.5- gpt-oss-20b
granite olmo step mimo ernie hunyuan glm-5.2 kimi-k2.6 qwen3.5-27b qwen3-next mistral-small smollm2 qwen3-vl
gpt-oss-120b deepseek-v2 deepseek-v3 kimi-k2 phi-3 phi-4 mixtral-8x7b mixtral-8x22b starcoder
"""


@pytest.mark.parametrize("name", WELL_KNOWN.split())
def test_the_well_known_ones_are_there(name: str) -> None:
    assert any(own.startswith(name) for own in NAMES)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("llama-3.1-8b", "llama-3.1-8b"),
        ("LLaMA_3.1 8B", "llama-3.1-8b"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("google/gemma-3-27b-it", "gemma-3-27b"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
        ("deepseek-ai/DeepSeek-V3", "deepseek-v3"),
        ("gptoss20b", "gpt-oss-20b"),
    ],
)
def test_names_as_people_type_them(typed: str, name: str) -> None:
    assert find(typed).name == name


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("lama-3.1-8b", "llama-3.1-8b"),
        ("llama-3.1", "llama-3.1-8b"),
        ("mistral", "mistral-7b-v0.1"),
        ("mistral-7b", "mistral-7b-v0.3"),
        ("depseek-v3", "deepseek-v3"),
        ("gpt3", "gpt-3-175b"),
        ("palm", "palm-540b"),
    ],
)
def test_unknown_names_get_a_suggestion(typed: str, meant: str) -> None:
    with pytest.raises(UsageError, match="Did you mean") as caught:
        find(typed)
    assert meant in str(caught.value)


@pytest.mark.parametrize("typed", ["", "zzzz", "x" * 500, "/", "日本語"])
def test_hopeless_names(typed: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(typed)
    assert len(str(caught.value)) < 200
