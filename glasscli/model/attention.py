"""Attention: each new token looks back at the tokens seen and mixes their values.

One key to the axes, for the whole project:

    T new tokens   S tokens seen, new ones included   D dim    F ffn_dim
    H query heads  K key/value heads                  E head_dim   V vocab_size

Where axes move, a name ends in its axes: `q_HTE` is [H, T, E].
"""

import math

import numpy as np

from glasscli.model.ops import Array, Mask, softmax


def causal_mask(n: int, m: int, start: int) -> Mask:
    """Which of `m` keys each of `n` queries may see, when the first query stands at position `start`.

    Query i sees key j iff j ≤ start + i: itself and all before it, those in the cache included.

    Returns:
        bool [n, m], true where a query may look.
    """
    return np.arange(m) <= start + np.arange(n)[:, None]


def attention_scores(q_HTE: Array, k_KSE: Array, scale: float | None = None) -> Array:
    """How well each key answers each query: dot products, scaled by 1/√E unless `scale` says otherwise.

    Query head h reads key/value head ⌊h / (H/K)⌋ (grouped-query attention). The H/K heads of a group are
    stacked as rows, so that a group's keys are read once and never repeated.

    Returns:
        [H, T, S].

    Source: Ainslie et al. 2023, arXiv:2305.13245, section 2.2.
    """
    n_heads, n_new, head_dim = q_HTE.shape
    n_kv_heads, n_seen, _ = k_KSE.shape
    scale = 1 / math.sqrt(head_dim) if scale is None else scale
    rows = q_HTE.reshape(n_kv_heads, -1, head_dim)
    scores = rows @ k_KSE.transpose(0, 2, 1)
    scores *= scale
    return scores.reshape(n_heads, n_new, n_seen)


def mix_values(pattern_HTS: Array, v_KSE: Array) -> Array:
    """Average the values of each head's key/value head by its pattern: [H, T, E]."""
    n_heads, n_new, n_seen = pattern_HTS.shape
    rows = pattern_HTS.reshape(v_KSE.shape[0], -1, n_seen)
    return (rows @ v_KSE).reshape(n_heads, n_new, -1)


def attend(q_HTE: Array, k_KSE: Array, v_KSE: Array, mask_TS: Mask, scale: float | None = None) -> tuple[Array, Array]:
    """Mix values by how well keys answer queries.

    Args:
        q_HTE: queries of the new tokens, already rotated.
        k_KSE, v_KSE: keys and values of every token seen, oldest first.
        mask_TS: true where a query may look; each query must see at least one key.
        scale: factor of the scores (default 1/√E).

    Returns:
        mixed values [H, T, E]; pattern [H, T, S], each row summing to 1.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.
    """
    scores = attention_scores(q_HTE, k_KSE, scale)
    scores = np.where(mask_TS, scores, scores.dtype.type(-np.inf))
    pattern_HTS = softmax(scores)
    return mix_values(pattern_HTS, v_KSE), pattern_HTS


def attend_blocked(
    q_HTE: Array,
    k_KSE: Array,
    v_KSE: Array,
    start: int,
    *,
    q_block: int = 64,
    k_block: int = 64,
    scale: float | None = None,
) -> Array:
    """The mixed values of causal `attend`, without ever holding more than a q_block × k_block tile of scores.

    Keys come in blocks. For each query three running things suffice: the largest score so far, the sum of
    e^(score − largest), and the values weighted alike. When a block brings a larger score, what was summed
    before is scaled down to the new maximum ("online softmax"). The result is exact, not an approximation.

    Args:
        start: position of the first query: query i sees keys 0 to start + i.

    Returns:
        mixed values [H, T, E].

    Source: Dao et al. 2022, arXiv:2205.14135, algorithm 1; Milakov & Gimelshein 2018, arXiv:1805.02867.
    """
    mixed = np.empty((*q_HTE.shape[:2], v_KSE.shape[2]), q_HTE.dtype)
    for first in range(0, q_HTE.shape[1], q_block):
        queries = q_HTE[:, first : first + q_block]
        mixed[:, first : first + q_block] = _attend_one_block(queries, k_KSE, v_KSE, start + first, k_block, scale)
    return mixed


def _attend_one_block(q_HTE: Array, k_KSE: Array, v_KSE: Array, start: int, k_block: int, scale: float | None) -> Array:
    n_heads, n_new, _ = q_HTE.shape
    largest = np.full((n_heads, n_new, 1), -np.inf, q_HTE.dtype)
    total = np.zeros_like(largest)
    mixed = np.zeros((n_heads, n_new, v_KSE.shape[2]), q_HTE.dtype)
    for first in range(0, start + n_new, k_block):  # keys after the last query are never touched
        stop = min(first + k_block, start + n_new)
        scores = attention_scores(q_HTE, k_KSE[:, first:stop], scale)
        np.copyto(scores, -np.inf, where=~causal_mask(n_new, stop - first, start - first))
        larger = np.maximum(largest, scores.max(axis=-1, keepdims=True))
        weights = np.exp(scores - larger)
        shrink = np.exp(largest - larger)
        total = total * shrink + weights.sum(axis=-1, keepdims=True)
        mixed = mixed * shrink + mix_values(weights, v_KSE[:, first:stop])
        largest = larger
    mixed /= total
    return mixed
