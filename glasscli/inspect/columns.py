"""From the keys that a cache showed, in its own order, to one column a position: what a trace hands out.

Most caches show all keys from some position on, in order. One that keeps the first tokens and the last, other tokens in
each head, or old ones in another form than new ones, says which position each of its keys stands for (`cache.store`).
"""

from typing import Any

import numpy as np

from glasscli.arrays import Mask

# Places with an axis of keys, and what stands where a query sees none.
SQUARE = {"scores": -np.inf, "softcap": -np.inf, "softmax": 0.0}
KEPT = ("cache_k", "cache_v")


def by_position(parts: dict[str, Any], start: int) -> dict[str, Any]:
    """The parts of one layer with a column for each position up to the last query's.

    Args:
        parts: arrays by place; `mask` as a `View` has it, `positions` likewise, each only where there is one.
        start: position of the first query.

    Returns:
        the same places, `mask` [T, S] among them; `first_key`, before which nothing is kept; `seen_KTS` where heads
        keep different tokens, else None.
    """
    parts = dict(parts)
    n_new, n_columns = parts["scores"].shape[-2:]
    mask = np.ones((n_new, n_columns), np.bool)
    if (corner := parts.pop("mask", None)) is not None:
        mask[:, n_columns - corner.shape[-1] :] = corner
    positions = parts.pop("positions", None)
    if positions is not None:
        return _spread(parts, mask, np.asarray(positions), start + n_new)
    first = start + n_new - n_columns
    for place, fill in SQUARE.items():
        if place in parts:
            parts[place] = np.pad(parts[place], [(0, 0), (0, 0), (first, 0)], constant_values=fill)
    for place in KEPT:
        parts[place] = np.pad(parts[place], [(0, 0), (first, 0), (0, 0)])
    return {**parts, "mask": np.pad(mask, [(0, 0), (first, 0)]), "first_key": first, "seen_KTS": None}


def _spread(parts: dict[str, Any], mask: Mask, positions: Any, stop: int) -> dict[str, Any]:
    """Each column at its position. Keys and values are those that the last query sees, 0 where it sees none."""
    n_kv_heads, _, width = parts["cache_k"].shape
    n_heads = len(parts["scores"])
    queries, columns = np.nonzero(mask)
    last = np.flatnonzero(mask[-1])
    seen = np.zeros((n_kv_heads, len(mask), stop), np.bool)
    wide = {
        place: np.full((n_heads, len(mask), stop), fill, np.float32) for place, fill in SQUARE.items() if place in parts
    }
    kept = {place: np.zeros((n_kv_heads, stop, width), np.float32) for place in KEPT}
    for head, of_column in enumerate(np.broadcast_to(positions, (n_kv_heads, mask.shape[1]))):
        at = of_column[columns]
        seen[head, queries, at] = True
        readers = slice(head * n_heads // n_kv_heads, (head + 1) * n_heads // n_kv_heads)
        for place, array in wide.items():
            array[readers, queries, at] = parts[place][readers, queries, columns]
        for place, array in kept.items():
            array[head, of_column[last]] = parts[place][head, last]
    apart = seen if positions.ndim == 2 else None
    return {**parts, **wide, **kept, "mask": seen.any(axis=0), "first_key": 0, "seen_KTS": apart}
