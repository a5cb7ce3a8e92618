"""Attention over somebody's own numbers, step by step: raw scores, masked, softmax, mixed, as lectures work it by hand.

It is the model's own `attend` that computes, in float64 and with a watcher at its places, not a second form of it.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from glasscli.arrays import Array, Mask
from glasscli.errors import UsageError
from glasscli.model.attention import attend, causal_mask, check_heads
from glasscli.model.ops import softmax


@dataclass(frozen=True)
class Worked:
    """Every step of one attention, float64, axes as in `model.attention`.

    Attributes:
        q_HTE, k_KSE: what was given; None where scores were.
        raw_HTS: scores before the mask.
        mask_TS: true where a query may look.
        masked_HTS: scores, −∞ where it may not.
        pattern_HTS: their softmax.
        v_KSE, mixed_HTE: values and what is mixed of them; None where none were given.
        scale: factor of q·k; None where scores were given.
        start: position of the first query.
    """

    q_HTE: Array | None
    k_KSE: Array | None
    v_KSE: Array | None
    raw_HTS: Array
    mask_TS: Mask
    masked_HTS: Array
    pattern_HTS: Array
    mixed_HTE: Array | None
    scale: float | None
    start: int

    @property
    def n_kv_heads(self) -> int:
        """Key/value heads; as many as query heads where none were given."""
        held = self.k_KSE if self.k_KSE is not None else self.v_KSE
        return len(self.raw_HTS if held is None else held)

    @property
    def sum_gap(self) -> float:
        """How far a row of the pattern is from a sum of 1, at most."""
        return float(np.abs(self.pattern_HTS.sum(axis=-1) - 1).max())


def work(
    q: Array,
    k: Array,
    v: Array | None = None,
    *,
    causal: bool = True,
    start: int | None = None,
    scale: float | None = None,
) -> Worked:
    """Attention of queries q [H, T, E] over keys k and values v [K, S, E]; one head may be given as [T, E].

    Args:
        causal: whether a query sees no key after it.
        start: position of the first query (default S − T: the queries are the last tokens).
        scale: factor of q·k (default 1/√E).

    Raises:
        UsageError: shapes that do not go together, or a number that is not finite.
    """
    q, k = _three_axes("q", q), _three_axes("k", k)
    held = _three_axes("v", v) if v is not None else np.zeros_like(k)
    check_heads(q, k)
    if held.shape[:2] != k.shape[:2]:
        raise UsageError(f"keys have {_shape(k, 2)} and values {_shape(held, 2)}; each key needs its value")
    for name, array in (("q", q), ("k", k), ("v", held)):
        if not np.isfinite(array).all():
            raise UsageError(f"{name} holds a number that is not finite")
    start, mask = _mask(q.shape[1], k.shape[1], causal, start)
    seen: dict[str, Array] = {}

    def keep(place: str, array: Any) -> Any:
        seen[place] = array.copy()
        return array

    mixed, pattern = attend(q, k, held, mask, scale, at=keep)
    raw = seen["scores"]
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    masked = np.where(mask, raw, -np.inf)
    given = (held, mixed) if v is not None else (None, None)
    return Worked(q, k, given[0], raw, mask, masked, pattern, given[1], factor, start)


def work_scores(scores: Array, v: Array | None = None, *, causal: bool = True, start: int | None = None) -> Worked:
    """The same from scores [H, T, S], or [T, S] of one head; −∞ hides a key.

    Raises:
        UsageError: shapes that do not go together, NaN or +∞, or a query that sees no key.
    """
    scores = _three_axes("scores", scores)
    if np.isnan(scores).any() or (scores == np.inf).any():
        raise UsageError("scores hold a number that is NaN or +∞")
    n_heads, n_new, n_seen = scores.shape
    start, mask = _mask(n_new, n_seen, causal, start)
    masked = np.where(mask, scores, -np.inf)
    blind = np.argwhere(~np.isfinite(masked).any(axis=-1))
    if len(blind):
        raise UsageError(f"query {blind[0][1] + start} sees no key: all its scores are −∞")
    pattern, mixed = softmax(masked), None
    if v is not None:
        v = _three_axes("v", v)
        if not np.isfinite(v).all():
            raise UsageError("v holds a number that is not finite")
        if v.shape[1] != n_seen or n_heads % len(v):
            raise UsageError(f"scores have {n_heads} heads × {n_seen} keys and values {_shape(v, 2)}")
        mixed = np.repeat(v, n_heads // len(v), axis=0)
        mixed = pattern @ mixed
    return Worked(None, None, v, scores, mask, masked, pattern, mixed, None, start)


def _three_axes(name: str, array: Array) -> Array:
    """float64 with an axis of heads in front."""
    array = np.asarray(array, np.float64)
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or not array.size:
        raise UsageError(f"{name} has the shape {list(array.shape)}; expected rows of numbers, or heads of rows")
    return array


def _mask(n_new: int, n_seen: int, causal: bool, start: int | None) -> tuple[int, Mask]:
    """Where the first query stands, and which keys each sees."""
    first = max(0, n_seen - n_new) if start is None else start
    if first < 0:
        raise UsageError(f"the first query can't stand at position {first}")
    return first, causal_mask(n_new, n_seen, first) if causal else np.ones((n_new, n_seen), np.bool)


def _shape(array: Array, n_axes: int) -> str:
    names = ("heads", "tokens", "numbers")
    return " × ".join(f"{n} {name}" for n, name in zip(array.shape[:n_axes], names, strict=False))
