"""What the weights of the named models need beyond their caches: widths, experts, towers, how they are stored.

Fields bear the names of config.json, from the source that the model's row names, as the publisher stores the model
(DeepSeek-V3 in FP8, gpt-oss in MXFP4); those of the models of more_models.json are in more_weights.json. Models whose
config was not at hand, or never published, are refused where weights are asked about.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glasscli.budget.model_facts import Model

Fields = dict[str, Any]

FP8_BLOCKS = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
MXFP4 = {
    "quant_method": "mxfp4",
    "modules_to_not_convert": [
        "model.layers.*.self_attn",
        "model.layers.*.mlp.router",
        "model.embed_tokens",
        "lm_head",
    ],
}
KIMI_INT4 = {
    "quant_method": "compressed-tensors",
    "format": "pack-quantized",
    "ignore": [
        "lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
    ],
    "config_groups": {"group_0": {"targets": ["Linear"], "weights": {
        "num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": True, "dynamic": False,
    }}},
}  # fmt: skip
SIGLIP = {
    "model_type": "siglip_vision_model", "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27,
    "num_attention_heads": 16, "image_size": 896, "patch_size": 14, "vision_use_head": False,
}  # fmt: skip
GEMMA4_VISION = {
    "model_type": "gemma4_vision", "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27,
    "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 72, "global_head_dim": 72, "patch_size": 16,
    "pooling_kernel_size": 3, "position_embedding_size": 10240, "standardize": True, "use_clipped_linears": False,
}  # fmt: skip
GEMMA4: Fields = {"hidden_size_per_layer_input": 0, "use_bidirectional_attention": "vision", "inside": "gemma4"}
GEMMA4 |= {"vision_config": GEMMA4_VISION}
LLAMA4_VISION = {
    "model_type": "llama4_vision_model", "hidden_size": 1408, "intermediate_size": 5632, "num_hidden_layers": 34,
    "num_attention_heads": 16, "image_size": 336, "patch_size": 14, "pixel_shuffle_ratio": 0.5,
    "projector_input_dim": 4096, "projector_output_dim": 4096, "vision_output_dim": 4096,
}  # fmt: skip
KIMI_VISION = {
    "init_pos_emb_height": 64, "init_pos_emb_time": 4, "init_pos_emb_width": 64, "merge_kernel_size": [2, 2],
    "mm_hidden_size": 1152, "mm_projector_type": "patchmerger", "patch_size": 14, "pos_emb_type": "divided_fixed",
    "text_hidden_size": 7168, "vt_hidden_size": 1152, "vt_intermediate_size": 4304, "vt_num_attention_heads": 16,
    "vt_num_hidden_layers": 27,
}  # fmt: skip


def plain(vocab: int, ffn: int, tied: bool = False, **more: Any) -> Fields:
    """A vocabulary and an MLP, the head a matrix of its own unless `tied`."""
    return {"vocab_size": vocab, "intermediate_size": ffn, "tie_word_embeddings": tied} | more


def qwen_experts(experts: int, picked: int, width: int, ffn: int = 6144) -> Fields:
    """Qwen3's experts."""
    return plain(151936, ffn, num_experts=experts, num_experts_per_tok=picked, moe_intermediate_size=width)


def deepseek(
    vocab: int, ffn: int, width: int, experts: int, picked: int, first: int, q: int | None, **more: Any
) -> Fields:
    """DeepSeek's experts, some of them shared, and its compressed queries."""
    return (
        plain(vocab, ffn)
        | {
            "moe_intermediate_size": width,
            "n_routed_experts": experts,
            "num_experts_per_tok": picked,
            "n_shared_experts": more.pop("shared", 1),
            "first_k_dense_replace": first,
            "moe_layer_freq": 1,
            "q_lora_rank": q,
        }
        | more
    )


def gemma3(ffn: int) -> Fields:
    """Gemma 3 with its vision tower; the positions of its global layers are stretched."""
    rotary = {"rope_scaling": {"rope_type": "linear", "factor": 8.0}, "rope_local_base_freq": 10000.0}
    return plain(262208, ffn, True) | rotary | {"inside": "gemma3", "vision_config": SIGLIP}


def qwen35(outer: str, hidden: int, **more: Any) -> Fields:
    """Qwen 3.5 and 3.6: gated attention, a vision tower."""
    tower = {
        "model_type": outer, "depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16,
        "num_position_embeddings": 2304, "in_channels": 3, "patch_size": 16, "spatial_merge_size": 2,
        "temporal_patch_size": 2, "deepstack_visual_indexes": [], "out_hidden_size": hidden,
    }  # fmt: skip
    fields = {"vocab_size": 248320, "tie_word_embeddings": False, "attn_output_gate": True, "attention_bias": False}
    return fields | {"inside": outer, "vision_config": tower} | more


def qwen35_experts(hidden: int, experts: int, picked: int, width: int) -> Fields:
    """Qwen 3.5 with experts, one of them shared."""
    return qwen35(
        "qwen3_5_moe", hidden, num_experts=experts, num_experts_per_tok=picked, moe_intermediate_size=width,
        shared_expert_intermediate_size=width, mlp_only_layers=[],
    )  # fmt: skip


def llama4(experts: int, every: int, qk_norm: bool) -> Fields:
    """Llama 4 with its vision tower: every so many-th layer has experts."""
    return plain(202048, 8192) | {
        "intermediate_size_mlp": 16384, "num_local_experts": experts, "num_experts_per_tok": 1,
        "interleave_moe_layer_step": every, "use_qk_norm": qk_norm, "inside": "llama4", "vision_config": LLAMA4_VISION,
    }  # fmt: skip


def gpt_oss(experts: int) -> Fields:
    """gpt-oss, its experts in MXFP4."""
    more = {"num_local_experts": experts, "num_experts_per_tok": 4, "attention_bias": True}
    return plain(201088, 2880) | more | {"quantization_config": MXFP4}


def deepseek_v4(experts: int, width: int, q: int, o_groups: int, topk: int) -> Fields:
    """DeepSeek V4: FP8, its experts in FP4."""
    more = {
        "moe_intermediate_size": width, "n_routed_experts": experts, "n_shared_experts": 1, "num_experts_per_tok": 6,
        "q_lora_rank": q, "o_lora_rank": 1024, "o_groups": o_groups, "num_hash_layers": 3, "hc_mult": 4,
        "index_n_heads": 64, "index_topk": topk, "expert_dtype": "fp4", "tie_word_embeddings": False,
    }  # fmt: skip
    return {"vocab_size": 129280} | more | FP8_BLOCKS


LLAMA3 = 128256
LONGROPE = {"rope_scaling": {"type": "longrope"}, "original_max_position_embeddings": 4096}
WEIGHTS: Mapping[str, Fields] = {
    "gpt-2": {"vocab_size": 50257},
    "gpt-3-175b": {"vocab_size": 50257},
    "gpt-oss-20b": gpt_oss(32),
    "gpt-oss-120b": gpt_oss(128),
    "opt-13b": {"vocab_size": 50272, "ffn_dim": 20480},
    "llama-7b": plain(32000, 11008),
    "llama-13b": plain(32000, 13824),
    "llama-33b": plain(32000, 17920),
    "llama-65b": plain(32000, 22016),
    "llama-2-7b": plain(32000, 11008),
    "llama-2-13b": plain(32000, 13824),
    "llama-2-70b": plain(32000, 28672),
    "llama-3-8b": plain(LLAMA3, 14336),
    "llama-3-70b": plain(LLAMA3, 28672),
    "llama-3.1-8b": plain(LLAMA3, 14336),
    "llama-3.1-70b": plain(LLAMA3, 28672),
    "llama-3.1-405b": plain(LLAMA3, 53248),
    "llama-3.2-3b": plain(LLAMA3, 8192, True),
    "llama-3.3-70b": plain(LLAMA3, 28672),
    "llama-4-scout": llama4(16, 1, True),
    "llama-4-maverick": llama4(128, 2, False),
    "mistral-7b-v0.1": plain(32000, 14336),
    "mistral-7b-v0.3": plain(32768, 14336),
    "mixtral-8x7b": plain(32000, 14336, num_local_experts=8, num_experts_per_tok=2),
    "mixtral-8x22b": plain(32000, 16384, num_local_experts=8, num_experts_per_tok=2),
    "gemma-2b": plain(256000, 16384, True),
    "gemma-7b": plain(256000, 24576, True),
    "gemma-2-2b": plain(256000, 9216, True),
    "gemma-2-9b": plain(256000, 14336, True),
    "gemma-2-27b": plain(256000, 36864, True),
    "gemma-3-1b": plain(262144, 6912, True, rope_local_base_freq=10000.0),
    "gemma-3-4b": gemma3(10240),
    "gemma-3-12b": gemma3(15360),
    "gemma-3-27b": gemma3(21504),
    "gemma-4-26b-a4b": plain(262144, 2112, True) | {
        "num_experts": 128, "top_k_experts": 8, "moe_intermediate_size": 704, "enable_moe_block": True, **GEMMA4,
    },
    "gemma-4-31b": plain(262144, 21504, True) | {"enable_moe_block": False} | GEMMA4,
    "falcon-7b": {"vocab_size": 65024, "parallel_attn": True, "bias": False, "alibi": False},
    "falcon-40b": {"vocab_size": 65024, "parallel_attn": True, "bias": False, "alibi": False},
    "falcon-180b": {"vocab_size": 65024, "parallel_attn": True, "bias": False, "alibi": False},
    "qwen2.5-0.5b": plain(151936, 4864, True),
    "qwen2.5-1.5b": plain(151936, 8960, True),
    "qwen2.5-3b": plain(151936, 11008, True),
    "qwen2.5-7b": plain(152064, 18944),
    "qwen2.5-14b": plain(152064, 13824),
    "qwen2.5-32b": plain(152064, 27648),
    "qwen2.5-72b": plain(152064, 29568),
    "qwen3-0.6b": plain(151936, 3072, True),
    "qwen3-8b": plain(151936, 12288),
    "qwen3-32b": plain(151936, 25600),
    "qwen3-30b-a3b": qwen_experts(128, 8, 768),
    "qwen3-235b-a22b": qwen_experts(128, 8, 1536, 12288),
    "qwen3.5-35b-a3b": qwen35_experts(2048, 256, 8, 512),
    "qwen3.5-122b-a10b": qwen35_experts(3072, 256, 8, 1024),
    "qwen3.5-397b-a17b": qwen35_experts(4096, 512, 10, 1024),
    "qwen3.6-35b-a3b": qwen35_experts(2048, 256, 8, 512),
    "qwen3.6-27b": qwen35("qwen3_5", 5120, intermediate_size=17408),
    "deepseek-v2-lite": deepseek(102400, 10944, 1408, 64, 6, 1, None, shared=2),
    "deepseek-v2": deepseek(102400, 12288, 1536, 160, 6, 1, 1536, shared=2),
    "deepseek-v3": deepseek(129280, 18432, 2048, 256, 8, 3, 1536) | FP8_BLOCKS,
    "deepseek-r1": deepseek(129280, 18432, 2048, 256, 8, 3, 1536) | FP8_BLOCKS,
    "deepseek-v3.2": deepseek(129280, 18432, 2048, 256, 8, 3, 1536) | FP8_BLOCKS,
    "kimi-k2": deepseek(163840, 18432, 2048, 384, 8, 1, 1536) | FP8_BLOCKS,
    "kimi-k2.5": deepseek(163840, 18432, 2048, 384, 8, 1, 1536) | {
        "inside": "kimi_k25", "vision_config": KIMI_VISION, "quantization_config": KIMI_INT4,
    },
    "deepseek-v4-flash": deepseek_v4(256, 2048, 1024, 8, 512),
    "deepseek-v4-pro": deepseek_v4(384, 3072, 1536, 16, 1024),
    "phi-2": plain(51200, 10240, partial_rotary_factor=0.4),
    "phi-3-mini-4k": plain(32064, 8192),
    "phi-3.5-mini": plain(32064, 8192) | LONGROPE,
    "phi-4": plain(100352, 17920),
    "phi-4-mini": plain(200064, 8192, True, partial_rotary_factor=0.75) | LONGROPE,
    "starcoder": {"vocab_size": 49152, "n_inner": 24576},
    "starcoder2-15b": plain(49152, 24576, use_bias=True),
    "minimax-m2": plain(200064, 1536) | {
        "num_local_experts": 256, "num_experts_per_tok": 8, "use_qk_norm": True, "rotary_dim": 64,
        "quantization_config": {
            "quant_method": "fp8", "weight_block_size": [128, 128],
            "modules_to_not_convert": ["gate", "e_score_correction_bias", "lm_head"],
        },
    },
    "nemotron-3-nano": plain(131072, 1856) | {
        "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712, "n_routed_experts": 128,
        "n_shared_experts": 1, "num_experts_per_tok": 6, "use_bias": False, "mlp_bias": False, "mamba_proj_bias": False,
        "use_conv_bias": True, "attention_bias": False,
    },
    "glm-5": deepseek(154880, 12288, 2048, 256, 8, 3, 2048) | {"index_n_heads": 32},
    "whisper-large-v3": {
        "vocab_size": 51866, "encoder_ffn_dim": 5120, "decoder_ffn_dim": 5120, "num_mel_bins": 128,
        "tie_word_embeddings": True,
    },
    "glass-1m": plain(1024, 384, True),
} | json.loads(Path(__file__).with_name("more_weights.json").read_text(encoding="utf-8"))  # fmt: skip


def weights_config(model: Model) -> Fields:
    """The config that a named model's weights are counted from; empty where only its cache is known here."""
    more = WEIGHTS.get(model.name)
    if more is None:
        return {}
    text: Fields = {**model.config, **{name: more[name] for name in more if name not in ("inside", "vision_config")}}
    if "inside" not in more:
        return text
    outer: Fields = {name: text.pop(name) for name in ("quantization_config",) if name in text}
    outer |= {"model_type": more["inside"], "vision_config": more["vision_config"]}
    return outer | {"text_config": text, "tie_word_embeddings": text["tie_word_embeddings"]}
