"""One block of the model: attention, then a gated MLP, each added to the residual stream.

x ─┬─ norm ─ q, k, v ─ rope ─ cache ─ scores ─ mask ─ softmax ─ mix ─ out ─ + ─┬─ norm ─ SwiGLU ─ + ─ x
   └───────────────────────────────────────────────────────────────────────┘ └──────────────────┘
"""

from dataclasses import dataclass

import numpy as np

from glasscli.cache.kv_cache import KVCache
from glasscli.config.model_config import ModelConfig
from glasscli.model.attention import attention_scores, causal_mask, mix_values
from glasscli.model.ops import Array, Mask, rms_norm, softmax, swiglu
from glasscli.model.rope import Turns, rotate
from glasscli.model.weights import BlockWeights


@dataclass(frozen=True)
class AttentionSteps:
    """What one attention layer computed on the way, in the order it computed it."""

    normed_TD: Array
    q_HTE: Array
    k_KTE: Array
    v_KTE: Array
    rope_q_HTE: Array
    rope_k_KTE: Array
    cache_k_KSE: Array
    cache_v_KSE: Array
    scores_HTS: Array  # before the mask
    mask_TS: Mask
    pattern_HTS: Array
    mix_HTE: Array
    out_TD: Array


def linear(x: Array, weight: Array, bias: Array | None) -> Array:
    """x · W + b."""
    y = x @ weight
    if bias is not None:
        y += bias
    return y


def attention(
    x_TD: Array, weights: BlockWeights, config: ModelConfig, cache: KVCache, layer: int, turns_TP: Turns
) -> AttentionSteps:
    """Attention of one layer over the new tokens and all in the cache, to which the new ones are appended."""
    start, n_new = cache.length, len(x_TD)
    normed_TD = rms_norm(x_TD, weights.attn_norm, config.norm_eps)
    heads = linear(normed_TD, weights.qkv, weights.qkv_bias).reshape(n_new, -1, config.head_dim)
    heads = heads.transpose(1, 0, 2)
    q_HTE, k_KTE, v_KTE = np.split(heads, [config.n_heads, config.n_heads + config.n_kv_heads])

    # Rotate before caching: a key's angle depends only on its own position, so it never changes.
    rope_q_HTE, rope_k_KTE = rotate(q_HTE, turns_TP), rotate(k_KTE, turns_TP)
    k_KSE, v_KSE = cache.append(layer, rope_k_KTE, v_KTE)

    scores_HTS = attention_scores(rope_q_HTE, k_KSE)
    mask_TS = causal_mask(n_new, start + n_new, start)
    masked_HTS = np.where(mask_TS, scores_HTS, np.float32(-np.inf))
    pattern_HTS = softmax(masked_HTS, out=masked_HTS)  # in place: these are the largest arrays there are
    mix_HTE = mix_values(pattern_HTS, v_KSE)
    concatenated = mix_HTE.transpose(1, 0, 2).reshape(n_new, -1)
    out_TD = linear(concatenated, weights.out, weights.out_bias)
    return AttentionSteps(
        normed_TD, q_HTE, k_KTE, v_KTE, rope_q_HTE, rope_k_KTE, k_KSE, v_KSE,
        scores_HTS, mask_TS, pattern_HTS, mix_HTE, out_TD,
    )  # fmt: skip


def mlp(x_TD: Array, weights: BlockWeights, config: ModelConfig) -> Array:
    """The gated MLP: [T, D] to [T, F] twice, one gating the other, and back."""
    normed_TD = rms_norm(x_TD, weights.ffn_norm, config.norm_eps)
    gate_TF, up_TF = np.split(linear(normed_TD, weights.gate_up, weights.gate_up_bias), 2, axis=1)
    return linear(swiglu(gate_TF, up_TF), weights.down, weights.down_bias)


def block(
    x_TD: Array, weights: BlockWeights, config: ModelConfig, cache: KVCache, layer: int, turns_TP: Turns
) -> tuple[Array, AttentionSteps]:
    """One block: the residual stream after it, and the steps of its attention."""
    steps = attention(x_TD, weights, config, cache, layer, turns_TP)
    x_TD = x_TD + steps.out_TD
    x_TD += mlp(x_TD, weights, config)
    return x_TD, steps
