"""What must be true of one layer's attention, tried on its numbers.

Every sentence here is computed from the arrays of a trace when it is asked for. A check that fails says by
how much.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array
from glasscli.config.model_config import ModelConfig
from glasscli.inspect.step_forms import LayerForm, form_of, missing
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
    form = form_of(config, trace.layer)
    checks = [
        *_norms(trace, config),
        *([] if "rope_q" in missing(config) else [_rope_q(trace, form), _rope_k(trace, form)]),
        _cache(trace, form),
        _scores(trace, config),
        *_softcap(trace, config),
        _mask(trace, form),
        _softmax(trace),
        _mix(trace, config),
    ]
    return {check.step: check for check in checks}


def _score_errors(trace: LayerTrace, config: ModelConfig) -> Array:
    """How far the scores of some rows are from those recomputed with each head of the cache: the largest, [H, K]."""
    rows = _some_rows(trace)
    q = trace.rope_q_HTE[:, rows].astype(np.float64)
    k = trace.cache_k_KSE.astype(np.float64)
    scores = np.einsum("hte,kse->hkts", q, k) * config.score_scale
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


def _norms(trace: LayerTrace, config: ModelConfig) -> Iterator[Check]:
    """That a normed query or key is the query or key with a mean square of 1, times the same weight for all tokens."""
    for name, before, after in (
        ("q_norm", trace.q_HTE, trace.q_norm_HTE),
        ("k_norm", trace.k_KTE, trace.k_norm_KTE),
    ):
        if after is None:
            continue
        kind = config.architecture.qk_norm
        old, new = _scaled(before, kind, config.norm_eps), _vectors(after, kind != "head")
        largest = np.abs(old).argmax(axis=0)[None]
        divisor = np.take_along_axis(old, largest, 0)
        weight = np.take_along_axis(new, largest, 0) / np.where(divisor, divisor, 1)
        wrong = largest_difference(old * weight, new) / max(1.0, float(np.abs(new).max(initial=0.0)))
        ok = wrong < TOLERANCE
        whose = "a weight a head" if kind == "each" else "one weight for all"
        text = f"{whose}, Δ {bound(wrong)}" if ok else f"NOT ONE WEIGHT, Δ {tiny(wrong)}"
        yield Check(name, ok, text)


def _scaled(heads: Array, kind: str, eps: float) -> Array:
    """Queries or keys normed anew, without the weights, as rows that have one weight."""
    rows = _vectors(heads, kind == "all")
    if kind == "each":
        rows = rows - rows.mean(axis=-1, keepdims=True)
    rows = rows / np.sqrt((rows**2).mean(axis=-1, keepdims=True) + eps)
    return rows.reshape(heads.shape[1], -1) if kind == "each" else rows


def _vectors(heads: Array, together: bool) -> Array:
    """What is normed as one, a row each, in float64: heads of tokens, or all heads of a token."""
    tokens = heads.astype(np.float64).swapaxes(0, 1)
    return tokens.reshape(len(tokens), -1) if together else tokens.reshape(-1, heads.shape[-1])


def _norm_change(before: Array, after: Array, factor: float) -> float:
    """The largest relative change of a vector's length, beside `factor`."""
    old = np.linalg.norm(before.astype(np.float64), axis=-1) * factor
    new = np.linalg.norm(after.astype(np.float64), axis=-1)
    return float((np.abs(new - old) / np.maximum(old, 1e-30)).max(initial=0.0))


def _lengths(name: str, change: float, form: LayerForm) -> Check:
    ok, letter = change < TOLERANCE, name[-1]
    if form.stretch != 1:
        kept = f"|{letter}| × {form.stretch:.4g}" if ok else f"|{letter}| NOT × {form.stretch:.4g}"
        return Check(name, ok, f"{kept}, Δ {bound(change)}")
    return Check(name, ok, f"|{letter}| {'kept' if ok else 'CHANGED'}, Δ {bound(change)}")


def _partly(before: Array, after: Array, form: LayerForm) -> float:
    """How far a rotation is from keeping lengths of what it turns, times its stretch, and the rest as it is."""
    turned = slice(0, form.rotary_dim)
    rest = slice(form.rotary_dim, None)
    return max(
        _norm_change(before[..., turned], after[..., turned], form.stretch),
        largest_difference(before[..., rest], after[..., rest]),
    )


def _rope_q(trace: LayerTrace, form: LayerForm) -> Check:
    before = trace.q_HTE if trace.q_norm_HTE is None else trace.q_norm_HTE
    return _lengths("rope_q", _partly(before, trace.rope_q_HTE, form), form)


def _rope_k(trace: LayerTrace, form: LayerForm) -> Check:
    before = trace.k_KTE if trace.k_norm_KTE is None else trace.k_norm_KTE
    check = _lengths("rope_k", _partly(before, trace.rope_k_KTE, form), form)
    if not check.ok or trace.start > 0 or form.stretch != 1:
        return check
    moved = largest_difference(before[:, 0], trace.rope_k_KTE[:, 0])
    if moved:
        return Check("rope_k", False, f"position 0 CHANGED by {tiny(moved)}")
    return Check("rope_k", True, "position 0 unchanged")


def _cache(trace: LayerTrace, form: LayerForm) -> Check:
    n_seen, start = trace.cache_k_KSE.shape[1], trace.start
    new = slice(start, start + trace.k_KTE.shape[1])
    wrong = max(
        largest_difference(trace.cache_k_KSE[:, new], trace.rope_k_KTE),
        largest_difference(trace.cache_v_KSE[:, new], trace.v_KTE),
    )
    n_kept = n_seen if form.window is None else min(n_seen, form.window)
    first = n_seen - n_kept
    rows = f"rows {first}–{n_seen - 1}" if n_kept > 1 else f"row {first}"
    size = format_bytes((trace.cache_k_KSE.nbytes + trace.cache_v_KSE.nbytes) // n_seen * n_kept)
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


def _softcap(trace: LayerTrace, config: ModelConfig) -> Iterator[Check]:
    cap = config.attention_softcap
    if trace.softcap_HTS is None or cap is None:
        return
    rows = _some_rows(trace)
    scores = np.where(trace.mask_TS[rows], trace.scores_HTS[:, rows].astype(np.float64), 0.0)
    capped = np.where(trace.mask_TS[rows], trace.softcap_HTS[:, rows], 0.0)
    wrong = largest_difference(cap * np.tanh(scores / cap), capped)
    ok = wrong < TOLERANCE * max(1.0, cap)
    yield Check("softcap", ok, f"within ±{cap:g}, Δ {bound(wrong)}" if ok else f"OFF BY {tiny(wrong)}")


def _mask(trace: LayerTrace, form: LayerForm) -> Check:
    n_queries, n_keys = trace.mask_TS.shape
    expected = causal_mask(n_queries, n_keys, trace.start)
    if form.window is not None:
        expected &= ~causal_mask(n_queries, n_keys, trace.start - form.window)
    ok = bool((trace.mask_TS == expected).all())
    hidden = trace.mask_TS.size - int(trace.mask_TS.sum())
    cells = f"{hidden:,} of {trace.mask_TS.size:,} cells hidden"
    wrong = "NOT CAUSAL" if form.window is None else f"NOT A WINDOW OF {form.window:,}"
    return Check("mask", ok, cells if ok else f"{cells}, {wrong}")


def _softmax(trace: LayerTrace) -> Check:
    wrong = float(np.abs(trace.pattern_HTS.sum(axis=-1, dtype=np.float64) - 1).max(initial=0.0))
    hidden = ~trace.mask_TS
    leaked = max(float(pattern_TS.max(where=hidden, initial=0.0)) for pattern_TS in trace.pattern_HTS)
    if leaked:
        return Check("softmax", False, f"HIDDEN CELLS GET {tiny(leaked)}")
    rows = _some_rows(trace)
    scores = np.where(trace.mask_TS[rows], trace.last_scores[:, rows].astype(np.float64), -np.inf)
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
