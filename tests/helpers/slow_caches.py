"""What each query sees with a chosen cache, one query at a time, in the words of the papers and in no hurry.

Shares no code with the stores: only the formats, which have tests of their own.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from glasscli.cache.choice import CacheChoice
from glasscli.cache.formats.registry import FORMATS

Floats = NDArray[np.float32]
# Turns [rows, E] forward by a number of positions.
TurnBy = Callable[[Floats, int], Floats]


def slow_attention(choice: CacheChoice, q_TKGE: Floats, k_KTE: Floats, v_KTE: Floats, turn: TurnBy) -> Floats:
    """Mixed values [T, K, G, E], each query attending to what the cache holds right after its own token came."""
    n_tokens, n_heads, _, width = q_TKGE.shape
    stored_k = _stored(choice.k, choice.rotated, "k", k_KTE)
    stored_v = _stored(choice.v, choice.rotated, "v", v_KTE)
    kept: list[list[int]] = [[] for _ in range(n_heads)]
    summed = [dict[int, float]() for _ in range(n_heads)]
    mixed = np.empty(q_TKGE.shape)
    for t in range(n_tokens):
        _drop(choice, kept, summed, t)
        for head in range(n_heads):
            kept[head].append(t)
        shares_of_all = []
        for head in range(n_heads):
            positions = kept[head]
            keys = np.array([_row(choice, choice.k, "k", k_KTE[head], stored_k[head], p, t) for p in positions])
            values = np.array([_row(choice, choice.v, "v", v_KTE[head], stored_v[head], p, t) for p in positions])
            if choice.renumbered:  # position in the cache: its index there
                for index, p in enumerate(positions):
                    nearer = (index - p) - (positions.index(t) - t)
                    keys[index] = turn(keys[index : index + 1].astype(np.float32), nearer)[0]
            scores = q_TKGE[t, head].astype(np.float64) @ keys.T / math.sqrt(width)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            mixed[t, head] = shares @ values
            shares_of_all.append(dict(zip(positions, shares.T, strict=True)))
        for head in range(n_heads):
            for p in kept[head]:
                if choice.keeps == "h2o":
                    summed[head][p] = summed[head].get(p, 0.0) + float(shares_of_all[head][p].sum())
                elif choice.keeps == "tova":  # all heads keep the same tokens
                    summed[head][p] = float(np.mean([shares[p] for shares in shares_of_all]))
    return mixed


def _drop(choice: CacheChoice, kept: list[list[int]], summed: list[dict[int, float]], t: int) -> None:
    """Before token t comes: what no longer fits."""
    for head, positions in enumerate(kept):
        if choice.keeps == "window":
            kept[head] = [p for p in positions if p < choice.sinks or t - p < choice.tokens]
        elif choice.keeps == "h2o" and len(positions) == choice.tokens:
            old = [p for p in positions if p <= t - choice.tokens // 2]
            positions.remove(min(old, key=lambda p: summed[head][p]))
        elif choice.keeps == "tova" and len(positions) == choice.tokens:
            positions.remove(min(positions, key=lambda p: summed[head][p]))


def _stored(name: str, rotated: bool, role: str, rows: Floats) -> Floats:
    """Every row as its format stores it; for KIVI's keys in groups of 32 tokens, the last ones left out."""
    fmt, width = FORMATS[name], rows.shape[-1]
    if name.startswith("kivi") and role == "k":
        whole = rows.shape[1] // 32 * 32
        packed = fmt.unpack(fmt.pack(rows[:, :whole].swapaxes(1, 2))).swapaxes(1, 2)
        return np.concatenate([packed, rows[:, whole:]], axis=1)
    if not rotated or width % 64 or not name.startswith("q"):
        return fmt.unpack(fmt.pack(rows))
    size = width & -width if role == "k" else 64
    odd = np.array([[(i & j).bit_count() % 2 for j in range(size)] for i in range(size)])
    matrix = np.where(odd, -1, 1) / math.sqrt(size)
    blocks = rows.reshape(*rows.shape[:-1], -1, size)
    turned = (blocks @ matrix).astype(np.float32).reshape(rows.shape)
    back = fmt.unpack(fmt.pack(turned)).reshape(blocks.shape) @ matrix
    return back.reshape(rows.shape).astype(np.float32)


def _row(choice: CacheChoice, name: str, role: str, exact: Floats, stored: Floats, p: int, t: int) -> Floats:
    """Row p as query t sees it."""
    packed = max(0, t + 1 - choice.residual) // 32 * 32
    return exact[p] if name.startswith("kivi") and p >= packed else stored[p]
