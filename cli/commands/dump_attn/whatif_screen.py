"""What-ifs, the softmax Jacobian, and online softmax: one layer's real numbers put to a question."""

import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial

from glasscli.arrays import Array
from glasscli.cli.commands.dump_attn.figures import bits, percent, share
from glasscli.cli.commands.dump_attn.heatmap import Map, heatmaps
from glasscli.cli.commands.dump_attn.layer_screen import head_titles
from glasscli.cli.commands.dump_attn.numbers import matrix
from glasscli.cli.page.page import Line, Page, Span
from glasscli.cli.page.style import ACCENT, BAD, DIM, HEAD, tint
from glasscli.errors import UsageError
from glasscli.inspect.checks import largest_difference, tiny
from glasscli.inspect.dump import Dump
from glasscli.inspect.trace import LayerTrace
from glasscli.inspect.whatif import Sharpness, jacobian_facts, sharpness, what_if_pattern
from glasscli.model.attention import attend, attend_blocked
from glasscli.specs.attention_specs import SlidingAttention
from glasscli.units import format_bytes

_WHY = {
    "no-scale": "Without {factor} scores spread {root}{times:.1f} times as far, and softmax decides sooner. A row that "
    "has decided passes almost no gradient back to q and k: Σ a·(1−a) falls.",
    "no-mask": "Without the mask a token could read the tokens it is to predict. 'ahead' is the weight that would "
    "go to them; the model never learned to use it.",
}


def what_if_screen(
    page: Page, dump: Dump, trace: LayerTrace, change: str, heads: Sequence[int], log: bool
) -> list[Line]:
    """The layer as it is beside the layer with `change`."""
    config = dump.config
    group, scale = config.group_size, config.score_scale
    scores, mask, pattern = what_if_pattern(trace, change, scale, config.attention_softcap)
    maps, rows = [], []
    for head in heads:
        kv = head // group
        maps.append(Map(head_titles(head, kv), trace.pattern_HTS[head], trace.mask_TS, kv))
        maps.append(Map((f"head {head} {change}", f"h{head} {change}", change), pattern[head], mask, kv))
        real = sharpness(trace.last_scores[head], trace.mask_TS, trace.pattern_HTS[head], dump.start)
        other = sharpness(scores[head], mask, pattern[head], dump.start)
        rows += _rows(page, head, kv, change, real, other)
    labels = [page.label(token.raw) for token in dump.tokens]
    lines = heatmaps(page, maps, labels, dump.start, log)
    names = ("head", "", "score sd", "entropy", "largest", "> .99", "Σa(1−a)", "ahead")
    head_row: list[Span] = [(name, DIM) for name in names]
    numbers = page.columns([head_row, *rows], (False, False, *[True] * 6))
    if not page.fits(numbers):
        numbers = page.columns([head_row, *rows], (False, False, *[True] * 6), gap=1, indent=0)
    if not page.fits(numbers):
        numbers = _listed(page, names, rows)
    factor = f"1/√{config.head_dim}" if config.attention_scale is None else f"the factor {scale:.4g}"
    root = f"√{config.head_dim} = " if config.attention_scale is None else ""
    why = _WHY[change].format(factor=factor, root=root, times=1 / scale)
    return [*lines, [], *numbers, [], *page.wrap(why, " ", DIM)]


def _rows(page: Page, head: int, kv: int, change: str, real: Sharpness, other: Sharpness) -> list[list[Span]]:
    def figures(facts: Sharpness) -> list[Span]:
        values = (f"{facts.score_std:.2f}", bits(facts.entropy_bits), share(facts.largest), percent(facts.saturated))
        return [(value, "") for value in (*values, share(facts.gradient), share(facts.ahead))]

    return [
        [(str(head), tint(kv)), ("as it is", ""), *figures(real)],
        [("", ""), (change, ACCENT), *figures(other)],
    ]


def _listed(page: Page, names: Sequence[str], rows: Sequence[Sequence[Span]]) -> list[Line]:
    lines: list[Line] = []
    for row in rows:
        title = f"head {row[0][0]} {row[1][0]}" if row[0][0] else f"  {row[1][0]}"
        values = [f"{name} {cell}" for name, (cell, _) in zip(names[2:], row[2:], strict=True)]
        lines += [[(title, HEAD)], *page.listed(values, "  ", between="  ", first="  ")]
    return lines


def jacobian_screen(page: Page, dump: Dump, trace: LayerTrace, head: int) -> list[Line]:
    """diag(a) − a·aᵀ of the dump's last row, and its properties as computed."""
    row = dump.n_queries - 1
    position = dump.start + row
    jacobian, facts = jacobian_facts(trace.seen_scores(head, row))
    labels = [page.label(dump.tokens[i].raw) for i in range(position + 1)]
    kv = head // dump.config.group_size
    where = f"layer {trace.layer} head {head} → kv {kv}"
    size = f"{position + 1} × {position + 1}"
    lines = page.listed(("softmax Jacobian", where, f"row {position} {labels[position]}", size), "  ", HEAD)
    meaning = "J = diag(a) − a·aᵀ: cell (i, j) is ∂a_i/∂s_j, how the weight on key i answers a push on score j."
    lines += [*page.wrap(meaning, " "), []]
    lines += matrix(page, list(enumerate(labels)), jacobian, labels, digits=3)
    tests = [
        (f"symmetric: max |J − Jᵀ| = {tiny(facts.asymmetry)}", facts.asymmetry < 1e-12),
        (f"rows sum to 0, a push on all scores alike changes nothing: max |J·1| = {tiny(facts.row_sum)}",
         facts.row_sum < 1e-12),
        (f"eigenvalues ≥ 0: from {facts.smallest_eigenvalue:.0e} to {facts.largest_eigenvalue:.4f} (never above ½)",
         facts.smallest_eigenvalue > -1e-12 and facts.largest_eigenvalue <= 0.5 + 1e-12),
        (f"central differences agree: max Δ {tiny(facts.numeric_gap)}", facts.numeric_gap < 1e-7),
    ]  # fmt: skip
    lines.append([])
    for text, ok in tests:
        style = "" if ok else BAD
        lines += page.wrap(text, "   ", style, first=" ✓ " if ok else " ✗ ")
    return lines


def blocked_screen(page: Page, dump: Dump, traces: Sequence[LayerTrace]) -> list[Line]:
    """Attention with an online softmax beside the plain one: largest difference, and peak memory of both."""
    block = max(4, min(64, len(dump.tokens) // 4))
    for trace in traces:
        if dump.config.attention_softcap is not None or isinstance(dump.config.specs[trace.layer], SlidingAttention):
            what = "a window" if dump.config.attention_softcap is None else "a cap of its scores"
            raise UsageError(f"--blocked computes attention over all tokens; layer {trace.layer} has {what}.")
    scale = dump.config.score_scale
    rows: list[list[Span]] = [[(name, DIM) for name in ("layer", "shape", "plain", "blocked", "max Δ")]]
    gaps, saved = [], []
    for trace in traces:
        plain, plain_bytes = _peak(partial(_plain, trace, scale))
        mixed, mixed_bytes = _peak(partial(_blocked, trace, block, scale))
        gaps.append(largest_difference(plain, mixed))
        saved.append(plain_bytes > mixed_bytes)
        shape = " × ".join(str(n) for n in trace.pattern_HTS.shape)
        cells = (str(trace.layer), shape, format_bytes(plain_bytes), format_bytes(mixed_bytes), tiny(gaps[-1]))
        rows.append([(cell, "") for cell in cells])
    title = ("online softmax", f"blocks of {block} × {block}", "peak memory beside q, k and v")
    lines = page.listed(title, "  ", HEAD)
    numbers = page.columns(rows, (False, False, True, True, True))
    if not page.fits(numbers):
        numbers = [line for row in rows[1:] for line in _in_words(page, row)]
    lines += [[], *numbers, []]
    why = (
        "Plain attention holds all scores at once. Blocked attention holds one block of them: it keeps a running "
        "maximum and sum for each row, and rescales what it has when a larger score comes. The result is the same, "
        f"here within {tiny(max(gaps))}."
    )
    if not all(saved):
        why += " On so few tokens the blocks cost more than they save; give a longer text."
    return [*lines, *page.wrap(why, " ", DIM)]


def _in_words(page: Page, row: Sequence[Span]) -> list[Line]:
    layer, shape, plain, blocked, gap = (cell for cell, _ in row)
    return page.listed(
        (f"layer {layer}: {shape}", f"plain {plain}", f"blocked {blocked}", f"max Δ {gap}"), "  ", first=" "
    )


def _plain(trace: LayerTrace, scale: float) -> Array:
    return attend(trace.rope_q_HTE, trace.cache_k_KSE, trace.cache_v_KSE, trace.mask_TS, scale)[0]


def _blocked(trace: LayerTrace, block: int, scale: float) -> Array:
    q_HTE, k_KSE, v_KSE = trace.rope_q_HTE, trace.cache_k_KSE, trace.cache_v_KSE
    return attend_blocked(q_HTE, k_KSE, v_KSE, trace.start, q_block=block, k_block=block, scale=scale)


def _peak(compute: Callable[[], Array]) -> tuple[Array, int]:
    """The result, and the most bytes NumPy held while computing it."""
    compute()  # once unmeasured: first calls allocate what later ones reuse
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        result = compute()
        return result, tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
