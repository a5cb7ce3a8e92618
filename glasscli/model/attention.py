"""Attention: each new token looks back at the tokens seen and mixes their values.

One key to the axes, for the whole project:

    T new tokens   S tokens seen, new ones included   D dim    F ffn_dim
    H query heads  K key/value heads                  E head_dim   V vocab_size
    B sequences side by side, always the first axis

Where axes move, a name ends in its axes: `q_HTE` is [H, T, E].
"""

import math

import numpy as np

from glasscli.arrays import Array, Mask
from glasscli.errors import UsageError
from glasscli.model.ops import row_sums
from glasscli.model.places import At, untouched


def causal_mask(n: int, m: int, start: int) -> Mask:
    """Which of `m` keys each of `n` queries may see, when the first query stands at position `start`.

    Query i sees key j iff j ≤ start + i: itself and all before it, those in the cache included.

    Returns:
        bool [n, m], **true where a query may look**. Other programs have a function of this name and these arguments
        whose true means "hide": with theirs in place of this one, every row that sees nothing becomes NaN.
    """
    return np.arange(m) <= start + np.arange(n)[:, None]


def attention_scores(q_HTE: Array, k_KSE: Array, scale: float | None = None) -> Array:
    """How well each key answers each query: dot products, scaled by 1/√E unless `scale` says otherwise.

    Query head h reads key/value head ⌊h / (H/K)⌋ (grouped-query attention). The H/K heads of a group are
    stacked as rows, so that a group's keys are read once and never repeated. The queries are scaled, not the
    scores: there are fewer of them.

    Args:
        q_HTE, k_KSE: also with the same further axes in front of both, such as a batch.

    Returns:
        [H, T, S].

    Raises:
        UsageError: the arrays do not go together.

    Source: Ainslie et al. 2023, arXiv:2305.13245, section 2.2.
    """
    check_heads(q_HTE, k_KSE)
    n_heads, n_new, head_dim = q_HTE.shape[-3:]
    n_kv_heads, n_seen, _ = k_KSE.shape[-3:]
    q_HTE = q_HTE * (1 / math.sqrt(head_dim) if scale is None else scale)
    rows = q_HTE.reshape(*q_HTE.shape[:-3], n_kv_heads, -1, head_dim)
    scores = rows @ k_KSE.swapaxes(-1, -2)
    return scores.reshape(*q_HTE.shape[:-3], n_heads, n_new, n_seen)


def mix_values(pattern_HTS: Array, v_KSE: Array) -> Array:
    """Average the values of each head's key/value head by its pattern: [H, T, E]."""
    n_heads, n_new, n_seen = pattern_HTS.shape[-3:]
    rows = pattern_HTS.reshape(*pattern_HTS.shape[:-3], v_KSE.shape[-3], -1, n_seen)
    return (rows @ v_KSE).reshape(*pattern_HTS.shape[:-3], n_heads, n_new, -1)


def check_heads(q_HTE: Array, k_KSE: Array) -> None:
    """See that every query head has a key/value head to read.

    Raises:
        UsageError: fewer than three axes, heads that do not divide, or widths that differ.
    """
    if q_HTE.ndim < 3 or k_KSE.ndim < 3:
        raise UsageError(
            f"queries {list(q_HTE.shape)} and keys {list(k_KSE.shape)} need the axes heads, tokens, head width; "
            "one head is [1, T, E]"
        )
    n_heads, n_kv_heads = q_HTE.shape[-3], k_KSE.shape[-3]
    if n_heads % n_kv_heads:
        raise UsageError(f"{n_kv_heads} key/value heads can't be shared evenly by {n_heads} query heads")
    if q_HTE.shape[-1] != k_KSE.shape[-1]:
        raise UsageError(f"queries are {q_HTE.shape[-1]} wide and keys {k_KSE.shape[-1]}")


def attend(
    q_HTE: Array,
    k_KSE: Array,
    v_KSE: Array,
    mask_TS: Mask | None,
    scale: float | None = None,
    *,
    softcap: float | None = None,
    divide: bool = True,
    at: At = untouched,
) -> tuple[Array, Array]:
    """Mix values by how well keys answer queries. It is what every block of the model calls.

    Args:
        q_HTE: queries of the new tokens, already rotated.
        k_KSE, v_KSE: keys and values of every token seen, oldest first.
        mask_TS: true where a query may look; each query must see at least one key. With M < S columns it speaks of
            the last M keys, and every query sees those before. None: every query sees every key.
        scale: factor of the scores (default 1/√E).
        softcap: scores are bent to stay within ± this.
        divide: False leaves the second result as e^(score − largest), for a caller who has no use for it: the H × T
            mixed rows are then divided by the sums, not the H × T × S shares.
        at: called at the places "scores" and "softmax", see `model.places`.

    All may have further axes in front, such as a batch; the mask then broadcasts to [..., H, T, M].

    Returns:
        mixed values [H, T, E]; pattern [H, T, S], each row summing to 1.

    Raises:
        UsageError: heads that do not divide, or shapes that do not go together.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1; the cap: Gemma 2, arXiv:2408.00118, section 2.
    """
    weights = masked_scores(q_HTE, k_KSE, mask_TS, scale, softcap, at)
    weights -= weights.max(axis=-1, keepdims=True)  # changes nothing in exact arithmetic, and keeps e^x finite
    np.exp(weights, out=weights)
    sums = row_sums(weights)
    if divide:
        weights /= sums
        pattern_HTS = at("softmax", weights)
        return mix_values(pattern_HTS, v_KSE), pattern_HTS
    mixed = mix_values(weights, v_KSE)
    mixed /= sums
    return mixed, weights


def masked_scores(
    q_HTE: Array,
    k_KSE: Array,
    mask_TS: Mask | None,
    scale: float | None = None,
    softcap: float | None = None,
    at: At = untouched,
) -> Array:
    """Scores [H, T, S] with −∞ where a query may not look; see `attend`."""
    scores = at("scores", attention_scores(q_HTE, k_KSE, scale))
    if softcap is not None:
        scores = at("softcap", softcap * np.tanh(scores / softcap))
    if mask_TS is not None:
        n_masked = mask_TS.shape[-1]
        np.copyto(scores[..., scores.shape[-1] - n_masked :], -np.inf, where=~mask_TS)
    return scores


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
