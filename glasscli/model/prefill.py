"""The same mathematics as `block`, for many new tokens whose steps nobody asked to see.

The largest arrays of a prefill are the scores, one number for each head, new token and token seen. So this second
form goes over them as seldom as it can:

    readable form (block.py)               here
    ----------------------------------     ---------------------------------------------------
    q and k rotated one after the other    both at once, in place
    scores scaled by 1/√E                  the rotations of the queries are, once for all layers
    a mask over all scores                 over those between two new tokens: the older ones are all seen
    softmax subtracts the largest score    only where the sums of e^score show that it matters
    softmax divides every share            the mixed values are divided

Tests compare its logits with the readable form's at every position.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasscli.cache.kv_cache import KVCache
from glasscli.config.model_config import ModelConfig
from glasscli.model.attention import causal_mask
from glasscli.model.block import linear, mlp
from glasscli.model.ops import Array, Mask, fit_for_softmax, rms_norm
from glasscli.model.rope import Turns
from glasscli.model.weights import BlockWeights

if TYPE_CHECKING:
    from glasscli.model.llama import Llama


@np.errstate(over="ignore")  # of e^score: it shows in the sums
def read(model: "Llama", token_ids: Sequence[int], cache: KVCache) -> Array:
    """Append `token_ids` to `cache`; the residual stream after the last block, [T, D]."""
    config, start, n_new = model.config, cache.length, len(token_ids)
    scale_H1 = np.ones((config.n_heads + config.n_kv_heads, 1), np.complex64)
    scale_H1[: config.n_heads] = 1 / math.sqrt(config.head_dim)
    turns_THP = model.turns(start, start + n_new)[:, None] * scale_H1
    later_TT = ~causal_mask(n_new, n_new, 0)
    scores_HTS = np.empty((config.n_heads, n_new, start + n_new), np.float32)
    x_TD = model.weights.embedding[list(token_ids)]
    for weights, kv in zip(model.weights.blocks, cache.kv, strict=True):
        x_TD += _attention(x_TD, weights, config, kv[:, 0], turns_THP, later_TT, scores_HTS)
        x_TD += mlp(x_TD, weights, config)
    cache.advance(n_new)
    return x_TD


def _attention(
    x_TD: Array,
    weights: BlockWeights,
    config: ModelConfig,
    kv_2KSE: Array,
    turns_THP: Turns,
    later_TT: Mask,
    scores_HTS: Array,
) -> Array:
    """Attention of one layer, [T, D]. `scores_HTS` is scratch; `later_TT` is true where a key is yet to come."""
    _, n_new, seen = scores_HTS.shape
    start, n_turned = seen - n_new, turns_THP.shape[1]
    normed_TD = rms_norm(x_TD, weights.attn_norm, config.norm_eps)
    heads_THE = linear(normed_TD, weights.qkv, weights.qkv_bias).reshape(n_new, -1, config.head_dim)
    pairs = heads_THE[:, :n_turned].view(np.complex64)
    np.multiply(pairs, turns_THP, pairs)
    new = heads_THE[:, config.n_heads :].reshape(n_new, 2, config.n_kv_heads, config.head_dim)
    kv_2KSE[:, :, start:seen] = new.transpose(1, 2, 0, 3)
    # The heads of a group below each other, R rows, so that a group's keys and values are read once.
    q_KRE = heads_THE[:, : config.n_heads].transpose(1, 0, 2).reshape(config.n_kv_heads, -1, config.head_dim)
    k_KSE, v_KSE = kv_2KSE[:, :, :seen]
    scores_KRS = scores_HTS.reshape(config.n_kv_heads, -1, seen)

    def score() -> None:
        np.matmul(q_KRE, k_KSE.swapaxes(1, 2), scores_KRS)
        np.copyto(scores_HTS[..., start:], -np.inf, where=later_TT)

    def exponentiate() -> Array:
        np.exp(scores_KRS, scores_KRS)
        return scores_KRS @ np.ones((seen, 1), np.float32)

    score()
    sums = exponentiate()
    if not fit_for_softmax(sums.min(), sums.max()):
        score()
        np.subtract(scores_KRS, scores_KRS.max(axis=-1, keepdims=True), scores_KRS)
        sums = exponentiate()
    mixed = scores_KRS @ v_KSE
    mixed /= sums
    concatenated = mixed.reshape(-1, n_new, config.head_dim).transpose(1, 0, 2).reshape(n_new, -1)
    return linear(concatenated, weights.out, weights.out_bias)
