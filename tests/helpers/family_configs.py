"""Tiny configs of every family that glass runs, for comparing with transformers: a new family is an entry here.

Windows are shorter than the texts that tests read, and rotary scalings are in use.
"""

from typing import Any

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 96,
    "max_position_embeddings": 1024,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": None,
}
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 64}
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip


def small(model_type: str, **changes: Any) -> dict[str, Any]:
    """The config of a tiny model with `changes`; None takes a field out."""
    given = {**SMALL, "model_type": model_type, **changes}
    return {name: value for name, value in given.items() if value is not None or name == "pad_token_id"}


def longrope(n_pairs: int, original: int, **changes: Any) -> dict[str, Any]:
    """LongRoPE with a number for each of `n_pairs`."""
    short, long = [1.0 + 0.1 * i for i in range(n_pairs)], [1.5 + 0.7 * i for i in range(n_pairs)]
    found = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": short, "long_factor": long}
    return {**found, "original_max_position_embeddings": original, **changes}


BASES = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
    "full_attention": {"rope_type": "linear", "rope_theta": 1000000.0, "factor": 8.0},
}
OLMO_BASES = {"sliding_attention": PLAIN, "full_attention": YARN}

FAMILIES: dict[str, dict[str, Any]] = {
    "qwen3": small("qwen3", head_dim=16, rope_parameters=PLAIN),
    "qwen3-bias-tied-yarn": small(
        "qwen3", attention_bias=True, tie_word_embeddings=True, rope_parameters=YARN, head_dim=12
    ),
    "qwen3-window": small("qwen3", use_sliding_window=True, sliding_window=7, max_window_layers=1),
    "mistral": small("mistral", sliding_window=13, head_dim=10),
    "mistral-mqa-linear": small(
        "mistral", sliding_window=5, num_key_value_heads=1, rope_parameters=LINEAR, tie_word_embeddings=True
    ),
    "qwen2": small("qwen2", head_dim=None),
    "qwen2-window-tied": small(
        "qwen2", head_dim=None, use_sliding_window=True, sliding_window=11, max_window_layers=2,
        tie_word_embeddings=True,
    ),
    "gemma3": small(
        "gemma3_text", num_hidden_layers=7, sliding_window=9, head_dim=16, query_pre_attn_scalar=24,
        rope_parameters=BASES,
    ),
    "gemma3-every-2": small(
        "gemma3_text", layer_types=["sliding_attention", "full_attention", "sliding_attention"], sliding_window=16,
        num_key_value_heads=1, attention_bias=True, final_logit_softcapping=5.0,
    ),
    "smollm3": small("smollm3", num_hidden_layers=5, head_dim=None),
    "smollm3-window": small(
        "smollm3", num_hidden_layers=4, no_rope_layers=[1, 0, 1, 0], use_sliding_window=True, sliding_window=6,
        mlp_bias=True, tie_word_embeddings=False, rope_parameters=YARN, head_dim=None,
    ),
    "granite": small(
        "granite", head_dim=None, embedding_multiplier=3.0, residual_multiplier=0.3, attention_multiplier=0.2,
        logits_scaling=0.7,
    ),
    "granite-bias-tied": small(
        "granite", head_dim=None, attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
        embedding_multiplier=12.0, residual_multiplier=0.22, attention_multiplier=0.0156, logits_scaling=2.0,
    ),
    "gemma": small("gemma", head_dim=16, num_key_value_heads=1),
    "gemma2": small(
        "gemma2", num_hidden_layers=4, sliding_window=10, query_pre_attn_scalar=20, attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0,
    ),
    "gemma2-no-caps": small(
        "gemma2", sliding_window=8, query_pre_attn_scalar=8, attn_logit_softcapping=None, final_logit_softcapping=None,
    ),
    "olmo2": small("olmo2", head_dim=None, num_key_value_heads=4),
    "olmo2-gqa-bias": small("olmo2", head_dim=None, attention_bias=True, tie_word_embeddings=True),
    "olmo3": small("olmo3", head_dim=None, num_hidden_layers=5, sliding_window=12, rope_parameters=OLMO_BASES),
    "phi3": small("phi3", head_dim=None, sliding_window=14),
    "phi3-longrope": small(
        "phi3", head_dim=None, hidden_size=64, rope_parameters=longrope(6, 300, partial_rotary_factor=0.75),
        original_max_position_embeddings=300,
    ),
    "phi3-long": small(
        "phi3", head_dim=None, original_max_position_embeddings=4,
        rope_parameters=longrope(4, 4), tie_word_embeddings=True,
    ),
    "stablelm": small("stablelm", head_dim=None, hidden_size=64, use_qkv_bias=True),
    "stablelm-half": small(
        "stablelm", head_dim=None, hidden_size=64, rope_parameters={**PLAIN, "partial_rotary_factor": 0.5},
    ),
    "stablelm-head-norms": small(
        "stablelm", head_dim=None, hidden_size=64, qk_layernorm=True, tie_word_embeddings=True,
        rope_parameters={**LINEAR, "partial_rotary_factor": 0.75},
    ),
    "stablelm-parallel": small(
        "stablelm", head_dim=None, hidden_size=64, num_key_value_heads=4, use_parallel_residual=True,
        rope_parameters={**YARN, "partial_rotary_factor": 1.0},
    ),
    "stablelm-2-12b": small(
        "stablelm", head_dim=None, hidden_size=64, num_key_value_heads=1, qk_layernorm=True, use_parallel_residual=True,
        use_qkv_bias=True, layer_norm_eps=1e-3,
    ),
    "gpt_neox": small("gpt_neox", head_dim=None, hidden_size=64, num_key_value_heads=None),
    "gpt_neox-one-after-another": small(
        "gpt_neox", head_dim=None, num_key_value_heads=None, use_parallel_residual=False, attention_bias=False,
        rope_parameters={**PLAIN, "partial_rotary_factor": 1.0}, tie_word_embeddings=True,
    ),
    "gpt2": {
        "model_type": "gpt2", "n_embd": 36, "n_layer": 3, "n_head": 4, "n_positions": 512, "vocab_size": 96,
        "bos_token_id": 0, "eos_token_id": 0,
    },
    "gpt2-inner-untied": {
        "model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512, "vocab_size": 96,
        "n_inner": 40, "tie_word_embeddings": False, "activation_function": "gelu", "bos_token_id": 0,
        "eos_token_id": 0,
    },
    "llama-yarn": small("llama", rope_parameters=YARN),
    "llama-yarn-options": small(
        "llama", rope_parameters={**YARN, "beta_fast": 8.0, "beta_slow": 2.0, "mscale": 1.2, "mscale_all_dim": 0.7},
    ),
    "llama-yarn-attention-factor": small(
        "llama", rope_parameters={**YARN, "truncate": False, "attention_factor": 1.3},
    ),
    "llama-dynamic": small(
        "llama", max_position_embeddings=90, rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}
    ),
    "llama-longrope": small("llama", rope_parameters=longrope(4, 4, factor=8.0)),
}  # fmt: skip
