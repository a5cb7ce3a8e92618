"""What must be true of one layer's attention, tried on its numbers.

Every sentence here is computed from the arrays of a trace when it is asked for. A check that fails says by
how much.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array
from glasscli.config.model_config import ModelConfig
from glasscli.inspect.trace import LayerTrace
from glasscli.model.attention import causal_mask
from glasscli.model.ops import softmax
from glasscli.units import format_bytes

# Float32 keeps 7 digits; sums of a few hundred products lose one or two of them.
TOLERANCE = 1e-4
_ROWS_TRIED = 32


@dataclass(frozen=True)
class Check:
    """What was found for one step, and whether it is as it must be."""

    step: str
    ok: bool
    text: str


def check_layer(trace: LayerTrace, config: ModelConfig) -> dict[str, Check]:
    """The checks of a layer, by the name of their step."""
    checks = [
        _rope_q(trace),
        _rope_k(trace),
        _cache(trace),
        _scores(trace, config),
        _mask(trace),
        _softmax(trace),
        _mix(trace, config),
    ]
    return {check.step: check for check in checks}


def _score_errors(trace: LayerTrace, config: ModelConfig) -> Array:
    """How far the scores of some rows are from those recomputed with each head of the cache: the largest, [H, K]."""
    rows = _some_rows(trace)
    q = trace.rope_q_HTE[:, rows].astype(np.float64)
    k = trace.cache_k_KSE.astype(np.float64)
    scores = np.einsum("hte,kse->hkts", q, k) / math.sqrt(config.head_dim)
    wrong = np.abs(scores - trace.scores_HTS[:, None, rows])
    errors: Array = np.where(trace.mask_TS[rows], wrong, 0.0).max(axis=(2, 3))
    return errors


def _some_rows(trace: LayerTrace) -> NDArray[np.intp]:
    """Queries to recompute: all, or 32 or fewer at equal distances and the last."""
    last = trace.rope_q_HTE.shape[1] - 1
    return np.unique([*range(0, last, -(-(last + 1) // _ROWS_TRIED)), last])


def describe_sharing(kv_heads: list[int]) -> str:
    """`q0 q1 → kv0  q2 q3 → kv1`, shorter for many heads."""
    groups: dict[int, list[int]] = {}
    for head, kv_head in enumerate(kv_heads):
        groups.setdefault(kv_head, []).append(head)
    if len(kv_heads) <= 4:
        return "  ".join(f"{' '.join(f'q{h}' for h in heads)} → kv{kv}" for kv, heads in groups.items())
    some = [
        f"q{heads[0]}–{heads[-1]} → kv{kv}" if len(heads) > 1 else f"q{heads[0]} → kv{kv}"
        for kv, heads in groups.items()
    ]
    return "  ".join(some if len(some) <= 2 else [some[0], "…", some[-1]])


def largest_difference(a: Array, b: Array) -> float:
    """The largest |a − b|, in float64; 0 for empty arrays."""
    return float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max(initial=0.0))


def _norm_change(before: Array, after: Array) -> float:
    """The largest relative change of a vector's length."""
    old = np.linalg.norm(before.astype(np.float64), axis=-1)
    new = np.linalg.norm(after.astype(np.float64), axis=-1)
    return float((np.abs(new - old) / np.maximum(old, 1e-30)).max(initial=0.0))


def _rope_q(trace: LayerTrace) -> Check:
    change = _norm_change(trace.q_HTE, trace.rope_q_HTE)
    ok = change < TOLERANCE
    return Check("rope_q", ok, f"|q| {'kept' if ok else 'CHANGED'}, Δ {bound(change)}")


def _rope_k(trace: LayerTrace) -> Check:
    change = _norm_change(trace.k_KTE, trace.rope_k_KTE)
    ok = change < TOLERANCE
    if not ok or trace.start > 0:
        return Check("rope_k", ok, f"|k| {'kept' if ok else 'CHANGED'}, Δ {bound(change)}")
    moved = largest_difference(trace.k_KTE[:, 0], trace.rope_k_KTE[:, 0])
    if moved:
        return Check("rope_k", False, f"position 0 CHANGED by {tiny(moved)}")
    return Check("rope_k", True, "position 0 unchanged")


def _cache(trace: LayerTrace) -> Check:
    n_seen, start = trace.cache_k_KSE.shape[1], trace.start
    new = slice(start, start + trace.k_KTE.shape[1])
    wrong = max(
        largest_difference(trace.cache_k_KSE[:, new], trace.rope_k_KTE),
        largest_difference(trace.cache_v_KSE[:, new], trace.v_KTE),
    )
    rows = f"rows 0–{n_seen - 1}" if n_seen > 1 else "row 0"
    size = format_bytes(trace.cache_k_KSE.nbytes + trace.cache_v_KSE.nbytes)
    if wrong:
        return Check("cache", False, f"NEW ROWS DIFFER by {tiny(wrong)}")
    return Check("cache", True, f"{rows}, {size}")


def _scores(trace: LayerTrace, config: ModelConfig) -> Check:
    errors = _score_errors(trace, config)
    found = [int(head) for head in errors.argmin(axis=1)]
    wrong = float(errors.min(axis=1).max())
    size = max(1.0, float(np.abs(trace.scores_HTS).max(where=trace.mask_TS, initial=0.0)))
    text = describe_sharing(found)
    if wrong >= TOLERANCE * size:
        return Check("scores", False, f"{text}, OFF BY {tiny(wrong)}")
    return Check("scores", found == [head // config.group_size for head in range(config.n_heads)], text)


def _mask(trace: LayerTrace) -> Check:
    n_queries, n_keys = trace.mask_TS.shape
    ok = bool((trace.mask_TS == causal_mask(n_queries, n_keys, trace.start)).all())
    hidden = trace.mask_TS.size - int(trace.mask_TS.sum())
    cells = f"{hidden:,} of {trace.mask_TS.size:,} cells hidden"
    return Check("mask", ok, cells if ok else f"{cells}, NOT CAUSAL")


def _softmax(trace: LayerTrace) -> Check:
    wrong = float(np.abs(trace.pattern_HTS.sum(axis=-1, dtype=np.float64) - 1).max(initial=0.0))
    hidden = ~trace.mask_TS
    leaked = max(float(pattern_TS.max(where=hidden, initial=0.0)) for pattern_TS in trace.pattern_HTS)
    if leaked:
        return Check("softmax", False, f"HIDDEN CELLS GET {tiny(leaked)}")
    rows = _some_rows(trace)
    scores = np.where(trace.mask_TS[rows], trace.scores_HTS[:, rows].astype(np.float64), -np.inf)
    off = largest_difference(softmax(scores), trace.pattern_HTS[:, rows])
    if wrong < TOLERANCE <= off:
        return Check("softmax", False, f"NOT OF THESE SCORES, Δ {tiny(off)}")
    return Check("softmax", wrong < TOLERANCE, f"|Σ−1| {bound(wrong)}")


def _mix(trace: LayerTrace, config: ModelConfig) -> Check:
    values = trace.cache_v_KSE.astype(np.float64)
    # Head by head: a float64 copy of all patterns would be twice the trace.
    mixed = (pattern.astype(np.float64) @ values[i // config.group_size] for i, pattern in enumerate(trace.pattern_HTS))
    wrong = max(largest_difference(mix, ours) for mix, ours in zip(mixed, trace.mix_HTE, strict=True))
    size = max(1.0, float(np.abs(values).max(initial=0.0)))
    return Check("mix", wrong < TOLERANCE * size, f"recomputed, Δ {bound(wrong / size)}")


def bound(value: float) -> str:
    """`< 1e-06` for what float32 rounds away, the number itself for more.

    Below 1e-06 the digits depend on the machine's order of summation, and say nothing.
    """
    return "< 1e-06" if value < 1e-6 else tiny(value)


def tiny(value: float) -> str:
    """A small difference with one digit, rounded up so that it can be called a bound: `2e-07`, `0`."""
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(value))
    digit = math.ceil(round(value / 10.0**exponent, 6))
    return f"1e{exponent + 1:+03d}" if digit == 10 else f"{digit}e{exponent:+03d}"
