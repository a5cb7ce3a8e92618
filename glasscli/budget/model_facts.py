"""Facts about well-known models, as of 2026-11: only what decides the size of a cache, each with its source.

`table` names the paper's table of sizes, `config` the model's published config.json, directly or by the project that
keeps a copy of it. The fields bear the names of config.json, so that a named model and a file go the same way.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple


class Model(NamedTuple):
    """A published model: its name here, how its heads share keys, when and where its facts were published."""

    name: str
    kind: str
    date: str
    source: str
    config: dict[str, Any]


def dense(
    model_type: str, layers: int, heads: int, kv_heads: int, hidden: int, positions: int, **more: Any
) -> dict[str, Any]:
    """A config whose layers are all alike, up to what `more` says. bfloat16 unless it says otherwise."""
    return {
        "model_type": model_type,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "hidden_size": hidden,
        "max_position_embeddings": positions,
        "torch_dtype": "bfloat16",
    } | more


def latent(model_type: str, layers: int, heads: int, hidden: int, positions: int, **more: Any) -> dict[str, Any]:
    """A config with DeepSeek's latent attention, in the widths that every model so far has used."""
    widths = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}
    return dense(model_type, layers, heads, heads, hidden, positions) | widths | more


def gemma4(layers: int, heads: int, kv_heads: int, hidden: int, positions: int, **more: Any) -> dict[str, Any]:
    """Gemma 4: sliding layers of `head_dim` 256, global layers of 512, every fifth or sixth global."""
    every = more.pop("every")
    types = [FULL if (i + 1) % every == 0 else "sliding_attention" for i in range(layers)]
    fixed = {"head_dim": 256, "global_head_dim": 512, "layer_types": types, "num_kv_shared_layers": 0}
    return dense("gemma4_text", layers, heads, kv_heads, hidden, positions) | fixed | more


def delta(model_type: str, layers: int, heads: int, kv_heads: int, hidden: int, values: int) -> dict[str, Any]:
    """Qwen3-Next and 3.5: three layers of gated DeltaNet, then one of attention with heads of 256."""
    more = {
        "head_dim": 256,
        "layer_types": (["linear_attention"] * 3 + [FULL]) * (layers // 4),
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": values,
        "linear_value_head_dim": 128,
        "mamba_ssm_dtype": "float32",
    }
    return dense(model_type, layers, heads, kv_heads, hidden, 262144) | more


def more_models() -> tuple[Model, ...]:
    """The models of more_models.json, one a line: the fields of a published config.json that decide a cache."""
    text = Path(__file__).with_name("more_models.json").read_text(encoding="utf-8")
    return tuple(Model(**row) for row in json.loads(text))


FULL = "full_attention"
HALF = {"torch_dtype": "float16"}
OSS = {"head_dim": 64, "sliding_window": 128}
GPT_OSS = ["sliding_attention", FULL]
GEMMA3 = {"head_dim": 256, "sliding_window": 1024, "sliding_window_pattern": 6}
DSA = {"index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048}
V4 = {"head_dim": 512, "sliding_window": 128, "index_head_dim": 128, "qk_rope_head_dim": 64}
KIMI_FULL = [*range(4, 93, 4), 93]
NANO3 = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
M3 = {
    "use_sparse_attention": True,
    "sparse_attention_freq": [0, 0, 0, *[1] * 57],
    "sparse_index_dim": 128,
    "sparse_block_size": 128,
    "sparse_disable_index_value": [0, 0, 0, *[1] * 57],
    "sparse_num_index_heads": 4,
}
NO_WINDOW = {"use_sliding_window": False}
LLAMA1 = "arXiv:2302.13971 table 2"
LLAMA2 = "arXiv:2307.09288, config"
LLAMA3 = "arXiv:2407.21783 table 3, config"
PALM = "arXiv:2204.02311 table 1"
FALCON = "arXiv:2311.16867, config"
GEMMA2 = "arXiv:2408.00118 table 1, config"
GEMMA3_SOURCE = "arXiv:2503.19786, weight converter"
QWEN25 = "arXiv:2412.15115 table 1, config"
QWEN3 = "arXiv:2505.09388 table 1, config"

# fmt: off
MODELS = (
    # OpenAI
    Model("gpt-2", "MHA", "2019-02", "config", dense("gpt2", 12, 12, 12, 768, 1024, torch_dtype="float32")),
    Model("gpt-3-175b", "MHA", "2020-05", "arXiv:2005.14165 table 2.1",
          dense("gpt2", 96, 96, 96, 12288, 2048) | HALF),
    Model("gpt-oss-20b", "GQA + window", "2025-08", "arXiv:2508.10925, config",
          dense("gpt_oss", 24, 64, 8, 2880, 131072, **OSS, layer_types=GPT_OSS * 12)),
    Model("gpt-oss-120b", "GQA + window", "2025-08", "arXiv:2508.10925, config",
          dense("gpt_oss", 36, 64, 8, 2880, 131072, **OSS, layer_types=GPT_OSS * 18)),
    # Meta
    Model("opt-13b", "MHA", "2022-05", "arXiv:2205.01068 table 1",
          dense("opt", 40, 40, 40, 5120, 2048) | HALF),
    Model("llama-7b", "MHA", "2023-02", LLAMA1, dense("llama", 32, 32, 32, 4096, 2048) | HALF),
    Model("llama-13b", "MHA", "2023-02", LLAMA1, dense("llama", 40, 40, 40, 5120, 2048) | HALF),
    Model("llama-33b", "MHA", "2023-02", LLAMA1, dense("llama", 60, 52, 52, 6656, 2048) | HALF),
    Model("llama-65b", "MHA", "2023-02", LLAMA1, dense("llama", 80, 64, 64, 8192, 2048) | HALF),
    Model("llama-2-7b", "MHA", "2023-07", LLAMA2, dense("llama", 32, 32, 32, 4096, 4096) | HALF),
    Model("llama-2-13b", "MHA", "2023-07", LLAMA2, dense("llama", 40, 40, 40, 5120, 4096) | HALF),
    Model("llama-2-70b", "GQA", "2023-07", LLAMA2, dense("llama", 80, 64, 8, 8192, 4096) | HALF),
    Model("llama-3-8b", "GQA", "2024-04", LLAMA3, dense("llama", 32, 32, 8, 4096, 8192)),
    Model("llama-3-70b", "GQA", "2024-04", LLAMA3, dense("llama", 80, 64, 8, 8192, 8192)),
    Model("llama-3.1-8b", "GQA", "2024-07", LLAMA3, dense("llama", 32, 32, 8, 4096, 131072)),
    Model("llama-3.1-70b", "GQA", "2024-07", LLAMA3, dense("llama", 80, 64, 8, 8192, 131072)),
    Model("llama-3.1-405b", "GQA", "2024-07", LLAMA3, dense("llama", 126, 128, 8, 16384, 131072)),
    Model("llama-3.2-3b", "GQA", "2024-09", "config", dense("llama", 28, 24, 8, 3072, 131072, head_dim=128)),
    Model("llama-3.3-70b", "GQA", "2024-12", "config", dense("llama", 80, 64, 8, 8192, 131072)),
    Model("llama-4-maverick", "GQA + chunks", "2025-04", "config",
          dense("llama4_text", 48, 40, 8, 5120, 1048576, head_dim=128, attention_chunk_size=8192)),
    Model("llama-4-scout", "GQA + chunks", "2025-04", "config",
          dense("llama4_text", 48, 40, 8, 5120, 10485760, head_dim=128, attention_chunk_size=8192)),
    # Mistral AI
    Model("mistral-7b-v0.1", "GQA + window", "2023-10", "arXiv:2310.06825 table 1, config",
          dense("mistral", 32, 32, 8, 4096, 32768, sliding_window=4096)),
    Model("mistral-7b-v0.3", "GQA", "2024-05", "config",
          dense("mistral", 32, 32, 8, 4096, 32768, sliding_window=None)),
    Model("mixtral-8x7b", "GQA", "2023-12", "arXiv:2401.04088 table 1, config",
          dense("mixtral", 32, 32, 8, 4096, 32768, sliding_window=None)),
    Model("mixtral-8x22b", "GQA", "2024-04", "config",
          dense("mixtral", 56, 48, 8, 6144, 65536, sliding_window=None)),
    # Google. PaLM's heads are 256 wide, which is not its hidden size over its heads.
    Model("palm-8b", "MQA", "2022-04", PALM, dense("llama", 32, 16, 1, 4096, 2048, head_dim=256)),
    Model("palm-62b", "MQA", "2022-04", PALM, dense("llama", 64, 32, 1, 8192, 2048, head_dim=256)),
    Model("palm-540b", "MQA", "2022-04", PALM, dense("llama", 118, 48, 1, 18432, 2048, head_dim=256)),
    Model("gemma-2b", "MQA", "2024-02", "arXiv:2403.08295 table 1, config",
          dense("gemma", 18, 8, 1, 2048, 8192, head_dim=256)),
    Model("gemma-7b", "MHA", "2024-02", "arXiv:2403.08295 table 1, config",
          dense("gemma", 28, 16, 16, 3072, 8192, head_dim=256)),
    Model("gemma-2-2b", "GQA + window", "2024-07", GEMMA2,
          dense("gemma2", 26, 8, 4, 2304, 8192, head_dim=256, sliding_window=4096)),
    Model("gemma-2-9b", "GQA + window", "2024-06", GEMMA2,
          dense("gemma2", 42, 16, 8, 3584, 8192, head_dim=256, sliding_window=4096)),
    Model("gemma-2-27b", "GQA + window", "2024-06", GEMMA2,
          dense("gemma2", 46, 32, 16, 4608, 8192, head_dim=128, sliding_window=4096)),
    Model("gemma-3-1b", "MQA + window", "2025-03", GEMMA3_SOURCE,
          dense("gemma3_text", 26, 4, 1, 1152, 32768, **GEMMA3 | {"sliding_window": 512})),
    Model("gemma-3-4b", "GQA + window", "2025-03", GEMMA3_SOURCE,
          dense("gemma3_text", 34, 8, 4, 2560, 131072, **GEMMA3)),
    Model("gemma-3-12b", "GQA + window", "2025-03", GEMMA3_SOURCE,
          dense("gemma3_text", 48, 16, 8, 3840, 131072, **GEMMA3)),
    Model("gemma-3-27b", "GQA + window", "2025-03", GEMMA3_SOURCE,
          dense("gemma3_text", 62, 32, 16, 5376, 131072, **GEMMA3 | {"head_dim": 128})),
    Model("gemma-4-e2b", "MQA + window", "2026-04", "config",
          gemma4(35, 8, 1, 1536, 131072, every=5, sliding_window=512, num_kv_shared_layers=20)),
    Model("gemma-4-e4b", "GQA + window", "2026-04", "config",
          gemma4(42, 8, 2, 2560, 131072, every=6, sliding_window=512, num_kv_shared_layers=18)),
    Model("gemma-4-26b-a4b", "GQA + window", "2026-04", "config",
          gemma4(30, 16, 8, 2816, 262144, every=6, sliding_window=1024, num_global_key_value_heads=2,
                 attention_k_eq_v=True)),
    Model("gemma-4-31b", "GQA + window", "2026-04", "config",
          gemma4(60, 32, 16, 5376, 262144, every=6, sliding_window=1024, num_global_key_value_heads=4,
                 attention_k_eq_v=True)),
    # TII
    Model("falcon-7b", "MQA", "2023-05", FALCON, dense("falcon", 32, 71, 1, 4544, 2048, multi_query=True)),
    Model("falcon-40b", "GQA", "2023-05", FALCON,
          dense("falcon", 60, 128, 8, 8192, 2048, new_decoder_architecture=True, num_kv_heads=8)),
    Model("falcon-180b", "GQA", "2023-09", FALCON,
          dense("falcon", 80, 232, 8, 14848, 2048, new_decoder_architecture=True, num_kv_heads=8)),
    # Alibaba
    Model("qwen2.5-0.5b", "GQA", "2024-09", QWEN25, dense("qwen2", 24, 14, 2, 896, 32768, **NO_WINDOW)),
    Model("qwen2.5-1.5b", "GQA", "2024-09", QWEN25, dense("qwen2", 28, 12, 2, 1536, 32768, **NO_WINDOW)),
    Model("qwen2.5-3b", "GQA", "2024-09", QWEN25, dense("qwen2", 36, 16, 2, 2048, 32768, **NO_WINDOW)),
    Model("qwen2.5-7b", "GQA", "2024-09", QWEN25, dense("qwen2", 28, 28, 4, 3584, 131072, **NO_WINDOW)),
    Model("qwen2.5-14b", "GQA", "2024-09", QWEN25, dense("qwen2", 48, 40, 8, 5120, 131072, **NO_WINDOW)),
    Model("qwen2.5-32b", "GQA", "2024-09", QWEN25, dense("qwen2", 64, 40, 8, 5120, 131072, **NO_WINDOW)),
    Model("qwen2.5-72b", "GQA", "2024-09", QWEN25, dense("qwen2", 80, 64, 8, 8192, 131072, **NO_WINDOW)),
    Model("qwen3-0.6b", "GQA", "2025-04", QWEN3, dense("qwen3", 28, 16, 8, 1024, 40960, head_dim=128, **NO_WINDOW)),
    Model("qwen3-8b", "GQA", "2025-04", QWEN3, dense("qwen3", 36, 32, 8, 4096, 40960, head_dim=128, **NO_WINDOW)),
    Model("qwen3-32b", "GQA", "2025-04", QWEN3, dense("qwen3", 64, 64, 8, 5120, 40960, head_dim=128, **NO_WINDOW)),
    Model("qwen3-30b-a3b", "GQA", "2025-04", QWEN3,
          dense("qwen3_moe", 48, 32, 4, 2048, 40960, head_dim=128, **NO_WINDOW)),
    Model("qwen3-235b-a22b", "GQA", "2025-04", QWEN3,
          dense("qwen3_moe", 94, 64, 4, 4096, 40960, head_dim=128, **NO_WINDOW)),
    Model("qwen3.5-35b-a3b", "GQA + DeltaNet", "2026-02", "config",
          delta("qwen3_5_moe_text", 40, 16, 2, 2048, 32)),
    Model("qwen3.5-122b-a10b", "GQA + DeltaNet", "2026-02", "config",
          delta("qwen3_5_moe_text", 48, 32, 2, 3072, 64)),
    Model("qwen3.5-397b-a17b", "GQA + DeltaNet", "2026-02", "config",
          delta("qwen3_5_moe_text", 60, 32, 2, 4096, 64)),
    Model("qwen3.6-27b", "GQA + DeltaNet", "2026-04", "config", delta("qwen3_5_text", 64, 24, 4, 5120, 48)),
    # DeepSeek, Moonshot AI
    Model("deepseek-v2-lite", "MLA", "2024-05", "arXiv:2405.04434, config",
          latent("deepseek_v2", 27, 16, 2048, 163840)),
    Model("deepseek-v2", "MLA", "2024-05", "arXiv:2405.04434 section 3.1.2",
          latent("deepseek_v2", 60, 128, 5120, 163840)),
    Model("deepseek-v3", "MLA", "2024-12", "arXiv:2412.19437 section 4.2",
          latent("deepseek_v3", 61, 128, 7168, 163840)),
    Model("deepseek-r1", "MLA", "2025-01", "config", latent("deepseek_v3", 61, 128, 7168, 163840)),
    Model("deepseek-v3.2", "MLA + index", "2025-12", "config",
          latent("deepseek_v32", 61, 128, 7168, 163840, **DSA)),
    Model("kimi-k2", "MLA", "2025-07", "arXiv:2507.20534 table 2, config",
          latent("kimi_k2", 61, 64, 7168, 131072)),
    Model("kimi-k2.5", "MLA", "2026-01", "config", latent("kimi_k2", 61, 64, 7168, 262144)),
    Model("deepseek-v4-flash", "compressed + index", "2026-04", "config",
          dense("deepseek_v4", 43, 64, 1, 4096, 1048576, **V4, compress_ratios=[0, 0, *[4, 128] * 20, 4, 0])),
    Model("deepseek-v4-pro", "compressed + index", "2026-04", "config",
          dense("deepseek_v4", 61, 128, 1, 7168, 1048576, **V4, compress_ratios=[128, 128, *[4, 128] * 29, 4, 0])),
    Model("kimi-k3", "MLA + KDA", "2026", "config",
          latent("kimi_linear", 93, 96, 7168, 1048576, linear_attn_config={
              "full_attn_layers": KIMI_FULL, "kda_layers": [i for i in range(1, 94) if i not in KIMI_FULL],
              "head_dim": 128, "num_heads": 96, "short_conv_kernel_size": 4})),
    # Microsoft
    Model("phi-2", "MHA", "2023-12", "config", dense("phi", 32, 32, 32, 2560, 2048) | HALF),
    Model("phi-3-mini-4k", "MHA + window", "2024-04", "arXiv:2404.14219 section 2, config",
          dense("phi3", 32, 32, 32, 3072, 4096, sliding_window=2047)),
    Model("phi-3.5-mini", "MHA", "2024-08", "config",
          dense("phi3", 32, 32, 32, 3072, 131072, sliding_window=262144)),
    Model("phi-4", "GQA", "2024-12", "arXiv:2412.08905, config", dense("phi3", 40, 40, 10, 5120, 16384)),
    Model("phi-4-mini", "GQA", "2025-02", "arXiv:2503.01743, config",
          dense("phi3", 32, 24, 8, 3072, 131072, sliding_window=262144)),
    # BigCode, NVIDIA and others; then those whose fields stand in a file; the last is the model that comes with glass
    Model("starcoder", "MQA", "2023-05", "arXiv:2305.06161 table 5",
          {"model_type": "gpt_bigcode", "n_layer": 40, "n_head": 48, "n_embd": 6144, "n_positions": 8192,
           "multi_query": True, "torch_dtype": "bfloat16"}),
    Model("starcoder2-15b", "GQA + window", "2024-02", "arXiv:2402.19173 table 6",
          dense("starcoder2", 40, 48, 4, 6144, 16384, sliding_window=4096)),
    Model("minimax-m2", "GQA", "2025-10", "config",
          dense("minimax_m2", 62, 48, 8, 3072, 204800, head_dim=128)),
    Model("nemotron-3-nano", "GQA + Mamba-2", "2025-12", "config",
          dense("nemotron_h", 52, 32, 2, 2688, 262144, head_dim=128, hybrid_override_pattern=NANO3,
                mamba_num_heads=64, mamba_head_dim=64, n_groups=8, ssm_state_size=128, conv_kernel=4,
                expand=2, mamba_ssm_cache_dtype="float32")),
    Model("minimax-m3", "GQA + index", "2026", "config",
          dense("minimax_m3", 60, 64, 4, 6144, 1048576, head_dim=128, sparse_attention_config=M3)),
    Model("glm-5", "MLA + index", "2026-02", "config",
          latent("glm_moe_dsa", 78, 64, 6144, 202752, **DSA, qk_nope_head_dim=192, v_head_dim=256)),
    Model("whisper-large-v3", "MHA + cross", "2023-11", "arXiv:2212.04356 table 1, config",
          {"model_type": "whisper", "decoder_layers": 32, "decoder_attention_heads": 20, "encoder_layers": 32,
           "encoder_attention_heads": 20, "d_model": 1280, "max_source_positions": 1500,
           "max_target_positions": 448, "torch_dtype": "float16"}),
    *more_models(),
    Model("glass-1m", "GQA", "2026-11", "config", dense("llama", 4, 4, 2, 128, 512, head_dim=32, **HALF)),
)
# fmt: on
