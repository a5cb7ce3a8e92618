"""A Llama written to be checked with a pencil: float64, one token after the other, no cache, no blocks.

It shares no code with glass and keeps Hugging Face's half-split order of a head. Slow on purpose.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def frequencies(config: dict[str, Any]) -> list[float]:
    """Radians a position, one for each pair of a head."""
    rope = config["rope_parameters"]
    head_dim = int(config["head_dim"] * rope.get("partial_rotary_factor", 1.0))
    found = [1 / rope["rope_theta"] ** (2 * i / head_dim) for i in range(head_dim // 2)]
    if rope["rope_type"] == "linear":
        return [f / rope["factor"] for f in found]
    if rope["rope_type"] == "llama3":
        return [_llama3(f, rope) for f in found]
    if rope["rope_type"] == "yarn":
        return [_yarn(i, f, config) for i, f in enumerate(found)]
    return found


def _yarn(i: int, frequency: float, config: dict[str, Any]) -> float:
    """Pair i, stretched by how far it is along the line from the pair that closes 32 circles to that with one."""
    rope = config["rope_parameters"]
    width = int(config["head_dim"] * rope.get("partial_rotary_factor", 1.0))
    trained = rope.get("original_max_position_embeddings", config["max_position_embeddings"])

    def pair(circles: float) -> float:
        return width * math.log(trained / (circles * 2 * math.pi)) / (2 * math.log(rope["rope_theta"]))

    first, last = max(math.floor(pair(32)), 0), min(math.ceil(pair(1)), width - 1)
    along = min(max((i - first) / (last - first or 0.001), 0.0), 1.0)
    factor = rope.get("factor", config["max_position_embeddings"] / trained)
    return along * frequency / factor + (1 - along) * frequency


def sharpness(config: dict[str, Any]) -> float:
    """What queries and keys are multiplied with when they are rotated."""
    rope = config["rope_parameters"]
    factor = rope.get("factor", 1.0)
    return 0.1 * math.log(factor) + 1 if rope["rope_type"] == "yarn" and factor > 1 else 1.0


def _llama3(frequency: float, rope: dict[str, Any]) -> float:
    trained = rope["original_max_position_embeddings"]
    wavelength = 2 * math.pi / frequency
    if wavelength < trained / rope["high_freq_factor"]:
        return frequency
    if wavelength > trained / rope["low_freq_factor"]:
        return frequency / rope["factor"]
    smooth = (trained / wavelength - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
    return (1 - smooth) * frequency / rope["factor"] + smooth * frequency


def rotate(head: Array, position: int, frequency: list[float], sharp: float = 1.0) -> Array:
    """Turn pair (i, i + R/2) of the first R numbers of one head by position · frequency[i]."""
    half = len(frequency)
    turned = head.copy()
    for i in range(half):
        c, s = sharp * math.cos(position * frequency[i]), sharp * math.sin(position * frequency[i])
        turned[i] = head[i] * c - head[i + half] * s
        turned[i + half] = head[i + half] * c + head[i] * s
    return turned


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    """x over its root mean square, times weight."""
    return x / math.sqrt(sum(float(v) ** 2 for v in x) / len(x) + eps) * weight


def logits(config: dict[str, Any], tensors: dict[str, Any], ids: list[int]) -> Array:
    """The logits of every position, [T, V]."""
    weights = {name: value.astype(np.float64) for name, value in tensors.items()}
    stream = [weights["model.embed_tokens.weight"][i] for i in ids]
    for layer in range(config["num_hidden_layers"]):
        stream = _block(config, weights, f"model.layers.{layer}.", stream)
    head = weights["model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"]
    return np.stack([head @ rms_norm(x, weights["model.norm.weight"], config["rms_norm_eps"]) for x in stream])


def _block(config: dict[str, Any], weights: dict[str, Any], prefix: str, stream: list[Array]) -> list[Array]:
    def apply(name: str, x: Array) -> Array:
        y: Array = weights[f"{prefix}{name}.weight"] @ x
        return y + weights.get(f"{prefix}{name}.bias", 0.0)

    eps, e, frequency = config["rms_norm_eps"], config["head_dim"], frequencies(config)
    sharp = sharpness(config)
    n_heads, n_kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    keys, values, after = [], [], []
    for position, x in enumerate(stream):
        normed = rms_norm(x, weights[prefix + "input_layernorm.weight"], eps)
        q = apply("self_attn.q_proj", normed).reshape(n_heads, e)
        k = apply("self_attn.k_proj", normed).reshape(n_kv_heads, e)
        keys.append([rotate(head, position, frequency, sharp) for head in k])
        values.append(apply("self_attn.v_proj", normed).reshape(n_kv_heads, e))
        mixed = []
        for h in range(n_heads):
            query, kv_head = rotate(q[h], position, frequency, sharp), h // (n_heads // n_kv_heads)
            scale = 1 / math.sqrt(e)
            scores = [float(query @ key[kv_head]) * scale for key in keys]
            answers = [math.exp(score - max(scores)) for score in scores]
            total = sum(answers)
            mixed.append(sum(a / total * v[kv_head] for a, v in zip(answers, values, strict=True)))
        x = x + apply("self_attn.o_proj", np.concatenate(mixed))
        normed = rms_norm(x, weights[prefix + "post_attention_layernorm.weight"], eps)
        gate, up = apply("mlp.gate_proj", normed), apply("mlp.up_proj", normed)
        after.append(x + apply("mlp.down_proj", gate / (1 + np.exp(-gate)) * up))
    return after
