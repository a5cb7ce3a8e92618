"""Configs of families with a habit of their own, and the layers that each means.

Expected layers are written from the model cards and the classes' documentation, not from the code.
"""

from typing import Any

from glasscli.specs.attention_specs import (
    CacheSpec,
    ChunkedAttention,
    CrossAttention,
    FullAttention,
    LatentAttention,
    NoCache,
    Several,
    SlidingAttention,
)
from glasscli.specs.state_specs import KDA, Mamba1, Mamba2, ShortConv

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "hidden_size": 64,
    "torch_dtype": "bfloat16",
}
QWEN2 = LLAMA | {"model_type": "qwen2", "sliding_window": 16, "max_window_layers": 3}


def full(heads: int, dim: int) -> FullAttention:
    return FullAttention(heads, dim, dim)


def slide(heads: int, dim: int, size: int) -> SlidingAttention:
    return SlidingAttention(heads, dim, dim, size)


BY_NAME: dict[str, tuple[dict[str, Any], dict[CacheSpec, int]]] = {
    "grouped heads": (LLAMA, {full(2, 8): 4}),
    "absent key/value heads are query heads": (
        {k: v for k, v in LLAMA.items() if k != "num_key_value_heads"},
        {full(8, 8): 4},
    ),
    "null key/value heads are query heads": (LLAMA | {"num_key_value_heads": None}, {full(8, 8): 4}),
    "null head_dim is derived": (LLAMA | {"head_dim": None}, {full(2, 8): 4}),
    "head_dim need not be width over heads": (LLAMA | {"head_dim": 32}, {full(2, 32): 4}),
    "query heads are not needed": (
        {"num_hidden_layers": 2, "num_key_value_heads": 4, "head_dim": 16, "dtype": "float16"},
        {full(4, 16): 2},
    ),
    "Mistral 0.1 slides": (LLAMA | {"model_type": "mistral", "sliding_window": 4096}, {slide(2, 8, 4096): 4}),
    "a null window is full": (LLAMA | {"model_type": "mistral", "sliding_window": None}, {full(2, 8): 4}),
    "Qwen2's window is off unless switched on": (QWEN2, {full(2, 8): 4}),
    "Qwen2's window is off where it says so": (QWEN2 | {"use_sliding_window": False}, {full(2, 8): 4}),
    "Qwen2 slides from max_window_layers on": (
        QWEN2 | {"use_sliding_window": True},
        {full(2, 8): 3, slide(2, 8, 16): 1},
    ),
    "Gemma 2 without a list: even layers slide": (
        LLAMA | {"model_type": "gemma2", "head_dim": 16, "sliding_window": 32, "num_hidden_layers": 5},
        {slide(2, 16, 32): 3, full(2, 16): 2},
    ),
    "Gemma 3: 26 layers, 4 global": (
        LLAMA | {"model_type": "gemma3_text", "num_hidden_layers": 26, "head_dim": 16, "sliding_window": 32},
        {slide(2, 16, 32): 22, full(2, 16): 4},
    ),
    "Gemma 3 4B's text part leaves out its heads": (
        {
            "model_type": "gemma3",
            "text_config": {"model_type": "gemma3_text", "num_hidden_layers": 34, "hidden_size": 2560},
        },
        {slide(4, 256, 4096): 29, full(4, 256): 5},
    ),
    "Gemma 4's global layers are wider": (
        LLAMA
        | {
            "model_type": "gemma4_text",
            "head_dim": 16,
            "global_head_dim": 32,
            "num_global_key_value_heads": 1,
            "attention_k_eq_v": True,
            "sliding_window": 8,
            "num_hidden_layers": 6,
        },
        {slide(2, 16, 8): 5, full(1, 32): 1},
    ),
    "Gemma 3n's last layers share": (
        LLAMA
        | {
            "model_type": "gemma3n_text",
            "head_dim": 16,
            "num_hidden_layers": 10,
            "num_kv_shared_layers": 4,
            "sliding_window": 8,
        },
        {slide(2, 16, 8): 5, full(2, 16): 1, NoCache("shares an earlier layer's"): 4},
    ),
    "Llama 4's fourth layers are full": (
        {
            "model_type": "llama4",
            "text_config": LLAMA | {"model_type": "llama4_text", "attention_chunk_size": 64, "head_dim": 8},
        },
        {ChunkedAttention(2, 8, 8, 64): 3, full(2, 8): 1},
    ),
    "MLA: heads and head_dim are decoys": (
        LLAMA
        | {
            "model_type": "deepseek_v3",
            "kv_lora_rank": 512,
            "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 128,
            "v_head_dim": 128,
            "head_dim": 192,
            "num_key_value_heads": 8,
        },
        {LatentAttention(512, 64, n_heads=8, nope_dim=128, v_dim=128): 4},
    ),
    "GLM-5.2 shares its index": (
        LLAMA
        | {
            "model_type": "glm_moe_dsa",
            "kv_lora_rank": 512,
            "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 192,
            "v_head_dim": 256,
            "index_head_dim": 128,
            "indexer_types": ["full", "shared", "shared", "full"],
        },
        {
            LatentAttention(512, 64, 128, n_heads=8, nope_dim=192, v_dim=256): 2,
            LatentAttention(512, 64, n_heads=8, nope_dim=192, v_dim=256): 2,
        },
    ),
    "Falcon 7B has one head though it says 71": (
        {
            "model_type": "falcon",
            "num_hidden_layers": 32,
            "num_attention_heads": 71,
            "num_kv_heads": 71,
            "hidden_size": 4544,
            "multi_query": True,
            "new_decoder_architecture": False,
        },
        {full(1, 64): 32},
    ),
    "Falcon 40B": (
        {
            "model_type": "falcon",
            "num_hidden_layers": 60,
            "num_attention_heads": 128,
            "num_kv_heads": 8,
            "hidden_size": 8192,
            "new_decoder_architecture": True,
        },
        {full(8, 64): 60},
    ),
    "StarCoder has one head": (
        {"model_type": "gpt_bigcode", "n_layer": 40, "n_head": 48, "n_embd": 6144, "multi_query": True},
        {full(1, 128): 40},
    ),
    "GPT-2's names": ({"model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768}, {full(12, 64): 12}),
    "BLOOM's names": (
        {"model_type": "bloom", "n_layer": 70, "n_head": 112, "hidden_size": 14336},
        {full(112, 128): 70},
    ),
    "MPT shares no heads": (
        {"model_type": "mpt", "n_layers": 32, "n_heads": 32, "d_model": 4096, "attn_config": {}},
        {full(32, 128): 32},
    ),
    "DBRX": (
        {"model_type": "dbrx", "n_layers": 40, "n_heads": 48, "d_model": 6144, "attn_config": {"kv_n_heads": 8}},
        {full(8, 128): 40},
    ),
    "ChatGLM's names": (
        {
            "model_type": "chatglm",
            "num_layers": 28,
            "num_attention_heads": 32,
            "hidden_size": 4096,
            "multi_query_attention": True,
            "multi_query_group_num": 2,
            "kv_channels": 128,
        },
        {full(2, 128): 28},
    ),
    "OpenELM has a list": (
        {
            "model_type": "openelm",
            "num_transformer_layers": 3,
            "num_kv_heads": [3, 3, 4],
            "head_dim": 64,
            "model_dim": 1280,
            "num_query_heads": [12, 12, 16],
        },
        {full(3, 64): 2, full(4, 64): 1},
    ),
    "Jamba: every eighth, from the fourth": (
        LLAMA
        | {
            "model_type": "jamba",
            "num_hidden_layers": 16,
            "attn_layer_period": 8,
            "attn_layer_offset": 4,
            "mamba_d_state": 16,
            "mamba_d_conv": 4,
            "mamba_expand": 2,
        },
        {full(2, 8): 2, Mamba1(128, 16, 4, "f32"): 14},
    ),
    "Nemotron-H's letters, with no count of layers": (
        {
            "model_type": "nemotron_h",
            "hybrid_override_pattern": "M-M*E",
            "num_attention_heads": 8,
            "num_key_value_heads": 2,
            "attention_head_dim": 128,
            "hidden_size": 256,
            "mamba_num_heads": 8,
            "mamba_head_dim": 16,
            "ssm_state_size": 32,
            "n_groups": 2,
            "conv_kernel": 4,
            "mamba_ssm_cache_dtype": "float32",
        },
        {Mamba2(8, 16, 32, 2, 4, "f32"): 2, NoCache(): 2, full(2, 128): 1},
    ),
    "LFM2: full_attn_idxs": (
        LLAMA | {"model_type": "lfm2", "full_attn_idxs": [2], "conv_L_cache": 3},
        {ShortConv(64, 3): 3, full(2, 8): 1},
    ),
    "Kimi Linear numbers layers from one": (
        LLAMA
        | {
            "model_type": "kimi_linear",
            "kv_lora_rank": 512,
            "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 128,
            "v_head_dim": 128,
            "linear_attn_config": {
                "full_attn_layers": [4],
                "kda_layers": [1, 2, 3],
                "head_dim": 128,
                "num_heads": 32,
                "short_conv_kernel_size": 4,
            },
        },
        {KDA(32, 128, 4): 3, LatentAttention(512, 64, n_heads=8, nope_dim=128, v_dim=128): 1},
    ),
    "Whisper: the decoder's layers, each with the encoder's": (
        {
            "model_type": "whisper",
            "encoder_layers": 6,
            "decoder_layers": 4,
            "decoder_attention_heads": 6,
            "d_model": 384,
            "max_source_positions": 1500,
            "is_encoder_decoder": True,
        },
        {Several((full(6, 64), CrossAttention(6, 64, 64))): 4},
    ),
    "T5: null decoder layers, and d_kv apart from d_model": (
        {
            "model_type": "t5",
            "num_layers": 24,
            "num_decoder_layers": None,
            "num_heads": 32,
            "d_kv": 128,
            "d_model": 1024,
        },
        {Several((full(32, 128), CrossAttention(32, 128, 128))): 24},
    ),
    "a pair of encoder and decoder": (
        {
            "model_type": "vision-encoder-decoder",
            "encoder": {"model_type": "vit", "num_hidden_layers": 12, "hidden_size": 768},
            "decoder": {"model_type": "gpt2", "n_layer": 6, "n_head": 4, "n_embd": 64, "add_cross_attention": True},
        },
        {Several((full(4, 16), CrossAttention(4, 16, 16))): 6},
    ),
    "a flat multimodal config": (
        LLAMA | {"model_type": "qwen2_vl", "use_sliding_window": False, "sliding_window": 32768},
        {full(2, 8): 4},
    ),
    "an unknown wrapper": (
        {"model_type": "some_vl", "llm_config": LLAMA, "vision_config": {"num_hidden_layers": 24}},
        {full(2, 8): 4},
    ),
    "legacy names of layer types": (
        LLAMA
        | {
            "model_type": "granitemoehybrid",
            "layer_types": ["mamba", "mamba", "attention", "mamba"],
            "mamba_n_heads": 8,
            "mamba_d_head": "auto",
            "mamba_d_state": 32,
            "mamba_n_groups": 1,
            "mamba_d_conv": 4,
            "mamba_expand": 2,
        },
        {Mamba2(8, 16, 32, 1, 4, "f32"): 3, full(2, 8): 1},
    ),
    "cross-layer attention": (
        LLAMA | {"model_type": "hunyuan", "use_cla": True, "cla_share_factor": 2},
        {full(2, 8): 2, NoCache("shares an earlier layer's"): 2},
    ),
}
