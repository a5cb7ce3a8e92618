"""One block of the model: attention, then a gated MLP, each added to the residual stream.

x ─┬─ norm ─ q, k, v ─ rope ─ cache ─ scores ─ mask ─ softmax ─ mix ─ out ─ + ─┬─ norm ─ SwiGLU ─ + ─ x
   └───────────────────────────────────────────────────────────────────────┘ └──────────────────┘

This is what runs: a prompt's tokens, one token of many sequences, and a run that is watched (`model.places`) all come
through here. What an architecture does otherwise (more norms, another order, q and k normed) is data: a weight that is
None, a number that is 1.
"""

from dataclasses import dataclass

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.kv_cache import KVCache
from glasscli.config.model_config import ModelConfig
from glasscli.model.attention import attend
from glasscli.model.ops import ACTIVATIONS, layer_norm, linear, norm, rms_norm
from glasscli.model.places import At, untouched
from glasscli.model.rope import Rotations, rotate
from glasscli.model.weights import BlockWeights


@dataclass(frozen=True)
class Step:
    """What all blocks of one call share.

    Attributes:
        cache: the keys and values before, to which each layer's new ones are added.
        rotations: for each layer, the rotations of the new tokens, complex64 [T, P] or [B, 1, 1, P]; None where a
            layer does not rotate.
    """

    config: ModelConfig
    cache: KVCache
    rotations: tuple[Rotations | None, ...]


def block(x_BTD: Array, weights: BlockWeights, layer: int, step: Step, at: At = untouched) -> Array:
    """The residual stream after one block, [B, T, D]."""
    config = step.config
    x_BTD = at("resid_pre", x_BTD)
    normed = at("attn_norm", norm(x_BTD, weights.attn_norm, config.norm_eps))
    out = attention(normed, weights, layer, step, at)
    if weights.attn_post_norm is not None:
        out = at("attn_post_norm", norm(out, weights.attn_post_norm, config.norm_eps))
    before_mlp = x_BTD if config.parallel else None
    x_BTD = at("resid_mid", x_BTD + scaled(out, config.residual_scale))
    mlp_input = x_BTD if before_mlp is None else before_mlp
    normed = at("ffn_norm", norm(mlp_input, weights.ffn_norm, config.norm_eps))
    out = mlp(normed, weights, config, at)
    if weights.ffn_post_norm is not None:
        out = at("ffn_post_norm", norm(out, weights.ffn_post_norm, config.norm_eps))
    return at("resid_post", x_BTD + scaled(out, config.residual_scale))


def attention(normed_BTD: Array, weights: BlockWeights, layer: int, step: Step, at: At = untouched) -> Array:
    """Attention of one layer over the new tokens and all in the cache, to which the new ones are added: [B, T, D]."""
    config = step.config
    n_batch, n_new, _ = normed_BTD.shape
    heads = linear(normed_BTD, weights.qkv, weights.qkv_bias).reshape(n_batch, n_new, -1, config.head_dim)
    heads, n_q, n_qk = heads.swapaxes(1, 2), config.n_heads, config.n_heads + config.n_kv_heads
    q_BHTE, k_BKTE, v_BKTE = at("q", heads[:, :n_q]), at("k", heads[:, n_q:n_qk]), at("v", heads[:, n_qk:])
    if weights.q_norm is not None and weights.k_norm is not None:
        q_BHTE = at("q_norm", norm_heads(q_BHTE, weights.q_norm, config.norm_eps))
        k_BKTE = at("k_norm", norm_heads(k_BKTE, weights.k_norm, config.norm_eps))

    # Rotate before caching: a key's angle depends only on its own position, so it never changes.
    rotations = step.rotations[layer]
    if rotations is not None:
        q_BHTE, k_BKTE = at("rope_q", rotate(q_BHTE, rotations)), at("rope_k", rotate(k_BKTE, rotations))
    view = step.cache.update(layer, k_BKTE, v_BKTE)
    if view.mask is not None:
        at("mask", view.mask)
    if view.positions is not None:
        at("positions", view.positions)
    by_attention = step.cache.stores[layer].by_attention
    mixed, pattern = attend(
        q_BHTE,
        at("cache_k", view.keys),
        at("cache_v", view.values),
        view.mask,
        config.attention_scale,
        softcap=config.attention_softcap,
        divide=by_attention or at is not untouched,  # nobody asked for the shares of a run without a trace
        at=at,
    )
    if by_attention:
        step.cache.stores[layer].observe(pattern[:, :, 0])
    mixed = at("mix", mixed)
    concatenated = mixed.swapaxes(1, 2).reshape(n_batch, n_new, -1)
    return at("out", linear(concatenated, weights.out, weights.out_bias))


def norm_heads(heads_BHTE: Array, weight: Array, eps: float) -> Array:
    """The norm of queries or keys, of a kind that the shape of its weight tells.

    [E]: RMSNorm of each head, with one weight for all. [H·E]: RMSNorm of all heads of a token at once. [H, 1, E]:
    LayerNorm of each head, with a weight of its own.
    """
    n_batch, n_heads, n_new, width = heads_BHTE.shape
    if weight.ndim == 3:
        return layer_norm(heads_BHTE, weight, eps)
    if weight.shape == (width,):
        return rms_norm(heads_BHTE, weight, eps)
    together = rms_norm(heads_BHTE.swapaxes(1, 2).reshape(n_batch, n_new, -1), weight, eps)
    return np.ascontiguousarray(together.reshape(n_batch, n_new, n_heads, width).swapaxes(1, 2))


def mlp(normed_BTD: Array, weights: BlockWeights, config: ModelConfig, at: At = untouched) -> Array:
    """The MLP: D to F, through the activation, and back. In a gated one a second D to F is multiplied in."""
    activation = ACTIVATIONS[config.activation]
    up = linear(normed_BTD, weights.gate_up, weights.gate_up_bias)
    if config.architecture.gated:
        gate, up = up[..., : config.ffn_dim], up[..., config.ffn_dim :]
        hidden = activation(at("gate", gate))
        hidden *= at("up", up)
    else:
        hidden = activation(at("up", up))
    return at("down", linear(at("hidden", hidden), weights.down, weights.down_bias))


def scaled(x: Array, factor: float) -> Array:
    """`x` · `factor`; the very array where the factor is 1."""
    return x if factor == 1 else x * factor
