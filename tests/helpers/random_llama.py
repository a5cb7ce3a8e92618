"""Tiny random Llamas of every kind, as a config.json and tensors under Hugging Face's names."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}

# name: what differs from `settings()`
KINDS: dict[str, dict[str, Any]] = {
    "gqa": {},
    "mha": {"num_key_value_heads": 4},
    "mqa": {"num_key_value_heads": 1},
    "head_dim": {"head_dim": 10},
    "biases": {"attention_bias": True, "mlp_bias": True},
    "untied": {"tie_word_embeddings": False},
    "linear": {"rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}},
    "llama3": {"rope_parameters": LLAMA3_ROPE},
}


def settings(**changes: Any) -> dict[str, Any]:
    """The config.json of a tiny Llama with `changes`."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "vocab_size": 96,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "hidden_act": "silu",
        "bos_token_id": 0,
        "eos_token_id": 0,
        **changes,
    }


def shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Every tensor's shape, by name."""
    d, f, e = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    q, kv = config["num_attention_heads"] * e, config["num_key_value_heads"] * e
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config["vocab_size"], d)}
    for layer in range(config["num_hidden_layers"]):
        matrices = {"self_attn.q_proj": (q, d), "self_attn.k_proj": (kv, d), "self_attn.v_proj": (kv, d)}
        matrices |= {"self_attn.o_proj": (d, q)}
        mlp = {"mlp.gate_proj": (f, d), "mlp.up_proj": (f, d), "mlp.down_proj": (d, f)}
        for name, shape in {**matrices, **mlp}.items():
            found[f"model.layers.{layer}.{name}.weight"] = shape
            if config["attention_bias"] if name in matrices else config["mlp_bias"]:
                found[f"model.layers.{layer}.{name}.bias"] = shape[:1]
        for name in ("input_layernorm", "post_attention_layernorm"):
            found[f"model.layers.{layer}.{name}.weight"] = (d,)
    found["model.norm.weight"] = (d,)
    if not config["tie_word_embeddings"]:
        found["lm_head.weight"] = (config["vocab_size"], d)
    return found


def tensors(config: dict[str, Any], seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Random float32 tensors for `config`: norms about 1, everything else about 0, large enough to matter."""
    rng = np.random.default_rng(seed)
    return {name: rng.normal("norm" in name, 0.2, shape).astype(np.float32) for name, shape in shapes(config).items()}


def token_ids(config: dict[str, Any], n: int, seed: int = 1) -> list[int]:
    """`n` random ids."""
    ids: list[int] = np.random.default_rng(seed).integers(0, config["vocab_size"], n).tolist()
    return ids
