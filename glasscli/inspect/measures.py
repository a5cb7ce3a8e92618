"""What one head looks at, in a handful of numbers, beside a head that ignores content.

Pure functions of a pattern (the softmax of the scores). They know no model and change nothing they are
given. Queries are rows: row `i` belongs to the token at position `p = start + i`. Position 0 can only look
at itself, so its row says nothing about a head and is left out everywhere.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasscli.arrays import Array, Mask

MEANING = {
    "entropy": "How evenly a row is spread over the keys it may see, in bits; beside it, of the most it could be.",
    "sink": "Weight on the first token of the text, where heads rest that have found nothing.",
    "prev": "Weight on the token before.",
    "self": "Weight on the token itself.",
    "dup": "Weight on earlier places of the same token, over tokens that have such a place.",
    "induct": "Weight on what followed the same token before, over the same rows: who looks there can repeat it.",
    "reach": "How many tokens back the weight lies on average.",
}


@dataclass(frozen=True)
class Link:
    """The largest single weight of a head: position `query` looks at position `key`."""

    query: int
    key: int
    weight: float


@dataclass(frozen=True)
class HeadMeasures:
    """Means over the rows of one head; `None` where no row can tell (never 0, never NaN).

    Attributes:
        entropy_bits: −Σ A·log2 A of a row.
        entropy_share: entropy over log2(p + 1), the most that row could have.
        sink: weight on position 0.
        prev: weight on the position before the query.
        self_weight: weight on the query's own position.
        dup: weight on earlier places of the query's own token, over rows that have such a place.
        induct: weight on the places right after those, over the same rows.
        reach: how many positions back the weight lies on average, Σ A·(p − j).
        strongest: the largest weight.
    """

    head: int | None
    kv_head: int | None
    entropy_bits: float | None
    entropy_share: float | None
    sink: float | None
    prev: float | None
    self_weight: float | None
    dup: float | None
    induct: float | None
    reach: float | None
    strongest: Link | None

    def as_dict(self) -> dict[str, float | int | None]:
        """The numbers by the names that exports use."""
        return {
            "entropy_bits": self.entropy_bits,
            "entropy_share": self.entropy_share,
            "sink": self.sink,
            "prev": self.prev,
            "self": self.self_weight,
            "dup": self.dup,
            "induct": self.induct,
            "reach": self.reach,
        }


def measure_heads(pattern_HTS: Array, start: int, token_ids: Sequence[int], n_kv_heads: int) -> list[HeadMeasures]:
    """Measures of every head.

    Args:
        pattern_HTS: rows sum to 1, zero where masked.
        start: position of the first query.
        token_ids: the S tokens the keys stand for.
        n_kv_heads: how many key/value heads the H query heads share.
    """
    n_heads, n_queries, n_keys = pattern_HTS.shape
    if len(token_ids) != n_keys or start + n_queries > n_keys:
        raise ValueError(f"{len(token_ids)} tokens and start {start} do not fit a pattern {pattern_HTS.shape}")
    masks = repeat_masks(token_ids, start, n_queries)
    group = n_heads // n_kv_heads
    return [
        _measure(pattern_HTS[head].astype(np.float64), start, masks, head, head // group) for head in range(n_heads)
    ]


def uniform_measures(start: int, n_queries: int, token_ids: Sequence[int]) -> HeadMeasures:
    """The same measures for a head that looks at all it may equally, `A = 1 / (p + 1)`.

    `token_ids` are the tokens of all keys, as in `measure_heads`.
    """
    pattern_TS = uniform_pattern(start, n_queries, len(token_ids))
    return _measure(pattern_TS, start, repeat_masks(token_ids, start, n_queries), None, None)


def uniform_pattern(start: int, n_queries: int, n_keys: int) -> Array:
    """A pattern [T, S] that ignores content: `1 / (p + 1)` on keys 0 to p, else 0."""
    p_T = start + np.arange(n_queries)
    pattern_TS: Array = (np.arange(n_keys) <= p_T[:, None]) / (p_T[:, None] + 1.0)
    return pattern_TS


def row_entropy_bits(pattern_TS: Array) -> Array:
    """−Σ A·log2 A along the last axis, in bits, with 0·log 0 = 0."""
    weights = pattern_TS.astype(np.float64)
    logs = np.log2(weights, out=np.zeros_like(weights), where=weights > 0)
    # `+ 0.0` turns the −0.0 of a row with one sure key into 0.0.
    return -(weights * logs).sum(axis=-1) + 0.0


def value_weighted(pattern_HTS: Array, v_KSE: Array) -> tuple[Array, Array]:
    """Weights times the length of what they fetch: A·‖v‖, and ‖v‖ of each key.

    A weight on a key whose value is near zero moves nothing: much of what a head puts on the first token is that.
    Query head h reads key/value head ⌊h / (H/K)⌋.

    Args:
        pattern_HTS: rows sum to 1.
        v_KSE: values of all keys.

    Returns:
        A·‖v‖ [H, T, S], whose rows bound the length of what a head mixes; ‖v‖ [K, S]. Both float64.

    Source: Kobayashi et al. 2020, arXiv:2004.10102, equation 3, here without the output matrix.
    """
    lengths_KS: Array = np.linalg.norm(v_KSE.astype(np.float64), axis=-1)
    group = len(pattern_HTS) // len(v_KSE)
    return pattern_HTS * np.repeat(lengths_KS, group, axis=0)[:, None, :], lengths_KS


def repeat_masks(token_ids: Sequence[int], start: int, n_queries: int) -> tuple[Mask, Mask]:
    """Two masks [T, S]: earlier places of the query's token, and the places right after those."""
    ids_S = np.asarray(token_ids)
    p_T = start + np.arange(n_queries)
    earlier = np.arange(len(ids_S)) < p_T[:, None]
    duplicate_TS = (ids_S[p_T][:, None] == ids_S) & earlier
    after_TS = np.zeros_like(duplicate_TS)
    after_TS[:, 1:] = duplicate_TS[:, :-1]
    return duplicate_TS, after_TS


def _measure(
    pattern_TS: Array,
    start: int,
    masks: tuple[Mask, Mask],
    head: int | None,
    kv_head: int | None,
) -> HeadMeasures:
    """Measures of one pattern; see `HeadMeasures` for each definition."""
    first = 1 if start == 0 else 0
    rows = pattern_TS[first:]
    p = start + first + np.arange(len(rows))
    if not len(rows):
        return HeadMeasures(head, kv_head, None, None, None, None, None, None, None, None, None)
    at = np.arange(len(rows))
    entropy = row_entropy_bits(rows)
    duplicate, after = (mask[first:] for mask in masks)
    repeated: Mask = np.asarray(duplicate.any(axis=1))
    distance = p[:, None] - np.arange(rows.shape[1])
    query, key = np.unravel_index(int(rows.argmax()), rows.shape)
    return HeadMeasures(
        head=head,
        kv_head=kv_head,
        entropy_bits=float(entropy.mean()),
        entropy_share=float((entropy / np.log2(p + 1.0)).mean()),
        sink=float(rows[:, 0].mean()),
        prev=float(rows[at, p - 1].mean()),
        self_weight=float(rows[at, p].mean()),
        dup=_mean_on(rows, duplicate, repeated),
        induct=_mean_on(rows, after, repeated),
        reach=float((rows * distance).sum(axis=1).mean()),
        strongest=Link(int(p[query]), int(key), float(rows[query, key])),
    )


def _mean_on(rows: Array, places: Mask, chosen: Mask) -> float | None:
    """Mean over the `chosen` rows of the weight on `places`; None when no row is chosen."""
    if not chosen.any():
        return None
    return math.fsum((rows * places)[chosen].sum(axis=1)) / int(chosen.sum())
