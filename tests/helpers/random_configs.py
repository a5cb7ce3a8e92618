"""Random configs of every family: head widths, groups, windows shorter than the text, biases, ties, rotations, caps.

Only what transformers itself computes: a few settings it takes and then fails on are left out.
"""

from random import Random
from typing import Any

VOCAB = 80
ROTATIONS = ("default", "linear", "dynamic", "yarn", "llama3", "longrope")
FREE_WIDTH = ("llama", "mistral", "qwen3", "gemma", "gemma2", "gemma3_text")
PARTIAL = ("phi3", "stablelm", "gpt_neox")
SLIDING = ("qwen2", "qwen3", "smollm3", "gemma2", "gemma3_text", "olmo3")
KINDS = ("full_attention", "sliding_attention")


def random_config(family: str, seed: int) -> dict[str, Any]:
    """The config of a tiny model; the same for the same seed."""
    rng = Random(f"{family} {seed}")
    n_kv_heads, n_layers = rng.choice([1, 2, 3]), rng.choice([1, 2, 3, 4, 6])
    n_heads, width = n_kv_heads * rng.choice([1, 2, 3]), rng.choice([4, 6, 10, 16])
    if family == "gpt2":
        return _gpt2(rng, n_heads, width, n_layers)
    free = family in FREE_WIDTH and rng.random() < 0.7
    given: dict[str, Any] = {
        "model_type": family, "hidden_size": n_heads * (rng.choice([3, 5, 7]) if free else width),
        "intermediate_size": rng.choice([20, 33, 50]), "num_hidden_layers": n_layers, "num_attention_heads": n_heads,
        "num_key_value_heads": n_kv_heads, "vocab_size": VOCAB, "max_position_embeddings": rng.choice([64, 256]),
        "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None, "tie_word_embeddings": rng.random() < 0.5,
    }  # fmt: skip
    if family in FREE_WIDTH:
        given["head_dim"] = width
    given |= _switches(rng, family) | _windows(rng, family, n_layers) | _rotation(rng, family, width)
    if family == "smollm3":
        given["no_rope_layers"] = [rng.choice([0, 1]) for _ in range(n_layers)]
    if family == "gpt_neox":
        del given["num_key_value_heads"]
    if "original_max_position_embeddings" in given["rope_parameters"] and family == "phi3":
        given["original_max_position_embeddings"] = given["rope_parameters"]["original_max_position_embeddings"]
    return given


def _gpt2(rng: Random, n_heads: int, width: int, n_layers: int) -> dict[str, Any]:
    return {
        "model_type": "gpt2", "n_embd": n_heads * width, "n_layer": n_layers, "n_head": n_heads, "vocab_size": VOCAB,
        "n_positions": rng.choice([64, 128]), "bos_token_id": 0, "eos_token_id": 0, "n_inner": rng.choice([None, 37]),
        "tie_word_embeddings": rng.random() < 0.5, "activation_function": rng.choice(["gelu", "gelu_new"]),
        "layer_norm_epsilon": rng.choice([1e-5, 1e-2]),
    }  # fmt: skip


def _switches(rng: Random, family: str) -> dict[str, Any]:
    """Biases, norms, caps, factors."""
    names = {
        "llama": ("attention_bias", "mlp_bias"), "granite": ("attention_bias", "mlp_bias"),
        "smollm3": ("attention_bias", "mlp_bias"),
        "stablelm": ("use_qkv_bias", "qk_layernorm", "use_parallel_residual"),
        "gpt_neox": ("attention_bias", "use_parallel_residual"), "mistral": (), "qwen2": (), "phi3": (),
    }.get(family, ("attention_bias",))  # fmt: skip
    given: dict[str, Any] = {name: rng.random() < 0.5 for name in names}
    given["layer_norm_eps" if family in ("stablelm", "gpt_neox") else "rms_norm_eps"] = rng.choice([1e-6, 1e-5, 1e-2])
    if family == "gpt_neox":
        given["hidden_act"] = rng.choice(["gelu", "gelu_new", "gelu_fast"])
    if family in ("gemma2", "gemma3_text"):
        given["query_pre_attn_scalar"] = rng.choice([3, 20, 256])
        given["final_logit_softcapping"] = rng.choice([None, 2.0, 30.0])
    if family == "gemma2":
        given["attn_logit_softcapping"] = rng.choice([None, 1.5, 20.0])
    if family == "granite":
        given["embedding_multiplier"], given["residual_multiplier"] = rng.choice([1.0, 12.0]), rng.choice([0.22, 1.0])
        given["attention_multiplier"], given["logits_scaling"] = rng.choice([0.1, 1.0]), rng.choice([0.3, 8.0])
    return given


def _windows(rng: Random, family: str, n_layers: int) -> dict[str, Any]:
    # A window of 1 is left out: transformers' own cache fails on it, some tokens at a time.
    window = rng.choice([2, 3, 5, 17])
    if family in ("mistral", "phi3"):
        return {"sliding_window": rng.choice([None, window])}
    if family not in SLIDING:
        return {}
    given: dict[str, Any] = {"sliding_window": window}
    if family in ("qwen2", "qwen3", "smollm3"):
        given["use_sliding_window"] = True
    if rng.random() < 0.7:
        given["layer_types"] = [rng.choice(KINDS) for _ in range(n_layers)]
    elif family in ("qwen2", "qwen3"):
        given["max_window_layers"] = rng.choice([0, 1, 2])
    return given


def _rotation(rng: Random, family: str, width: int) -> dict[str, Any]:
    if family in ("gemma3_text", "olmo3"):
        # transformers reads `truncate` beside the two kinds, and not within.
        far = {k: v for k, v in _rope(rng, ROTATIONS[:5], width).items() if k != "truncate"}
        near = _rope(rng, ("default",), width)
        if family == "olmo3":
            near["rope_theta"] = far["rope_theta"]
        return {"rope_parameters": {"sliding_attention": near, "full_attention": far}}
    if family not in PARTIAL:
        return {"rope_parameters": _rope(rng, ROTATIONS, width)}
    shares = [share for share in (0.25, 0.5, 0.75, 1.0) if int(width * share) >= 4 and int(width * share) % 2 == 0]
    share = rng.choice(shares)
    kinds = ("default", "longrope") if family == "phi3" else ROTATIONS
    return {"rope_parameters": {**_rope(rng, kinds, int(width * share)), "partial_rotary_factor": share}}


def _rope(rng: Random, kinds: tuple[str, ...], width: int) -> dict[str, Any]:
    """A rotation of `width` numbers of a head, of one of `kinds`."""
    kind = rng.choice(kinds)
    given: dict[str, Any] = {"rope_type": kind, "rope_theta": rng.choice([500.0, 1e4, 2.5e5])}
    if kind in ("linear", "dynamic", "yarn", "llama3"):
        given["factor"] = rng.choice([2.0, 3.0, 7.5])
    if kind in ("yarn", "llama3", "longrope"):
        given["original_max_position_embeddings"] = rng.choice([16, 32, 50])
    if kind == "yarn":
        given |= rng.choice([{}, {"beta_fast": 4.0, "beta_slow": 0.5}, {"truncate": False}])
        given |= rng.choice([{}, {"attention_factor": 0.8}, {"mscale": 1.4, "mscale_all_dim": 0.3}])
    if kind == "llama3":
        given |= {"low_freq_factor": rng.choice([0.5, 1.0]), "high_freq_factor": rng.choice([2.0, 4.0])}
    if kind == "longrope":
        given["short_factor"] = [1 + rng.random() / 2 for _ in range(width // 2)]
        given["long_factor"] = [1 + rng.random() * 5 for _ in range(width // 2)]
        given |= rng.choice([{}, {"attention_factor": 1.4}, {"factor": 4.0}])
    return given
