"""One cell of a pattern taken apart: the products of query and key, dimension by dimension, before and after RoPE."""

from glasscli.arrays import Array
from glasscli.cli.commands.dump_attn.layer_screen import prompt_lines
from glasscli.cli.page.figures import probability
from glasscli.cli.page.page import Line, Page, Span
from glasscli.cli.page.style import ACCENT, AGAINST, BAD, DIM, FOR, HEAD
from glasscli.inspect.checks import bound
from glasscli.inspect.dump import Dump
from glasscli.inspect.neurons import CellTerms, cell_terms, rotated_pairs
from glasscli.inspect.trace import LayerTrace

CLOSE = 1e-4  # of the largest term, or of 1: what rounding in float32 may leave
BAR = 12
NAMES = ("dim", "q", "k", "q·k", "q turned", "k turned", "turned q·k", "pair", "")


def cell_screen(page: Page, dump: Dump, trace: LayerTrace, head: int, place: tuple[int, int], demo: bool) -> list[Line]:
    """The score of query and key as a sum over the dimensions of a head."""
    cell = cell_terms(trace, dump.config, head, *place)
    labels = [page.label(dump.tokens[i].raw) for i in place]
    row, weight = cell.query - trace.start, trace.pattern_HTS[head, cell.query - trace.start, cell.key]
    where = f"layer {cell.layer} head {head} → kv {cell.kv_head}"
    who = f"{labels[0]}[{cell.query}] ← {labels[1]}[{cell.key}]"
    lines = page.listed(("one cell", where, who, f"{cell.query - cell.key} apart"), "  ", HEAD)
    lines += prompt_lines(page, dump, demo)
    size = max(1.0, float(abs(cell.terms).max()))
    ok = cell.gap < CLOSE * size
    total = f"Σ q·k·{cell.scale:.4g} = {cell.total:+.4f}"
    check = f"the score of the run{'' if ok else ' IS ANOTHER'}, Δ {bound(cell.gap / size)}"
    lines += [[], *page.flow(" ", [f"{total} = {check}"], "" if ok else BAD)]
    seen = trace.seen[head][row, cell.key]
    softmax = (
        f"softmax makes a weight of {probability(float(weight), 2)} of it" if seen else "the mask hides it: weight 0"
    )
    lines += page.wrap(f"{softmax}. {_apart(cell)}", " ")
    pairs = rotated_pairs(dump.config, trace.layer)
    return [*lines, [], *_table(page, cell, pairs), [], *page.say(_why(cell, bool(pairs)), DIM, 1)]


def _apart(cell: CellTerms) -> str:
    """What the score would be at no distance, where that is another."""
    at_0 = cell.at_distance_0
    if at_0 is None:
        return "The key was read into the cache before: how it was before rotation is not in this run."
    return f"At distance 0 the same two would score {at_0:+.4f}."


def _why(cell: CellTerms, turned: bool) -> str:
    text = f" q·k: a dimension's part of the score, times {cell.scale:.4g}."
    if turned:
        text += " Rotation mixes the two dimensions of a pair, no others; pair: both parts, after it."
    return text


def _table(page: Page, cell: CellTerms, pairs: list[tuple[int, int]]) -> list[Line]:
    """A line a dimension, pairs together; fewer columns where the page is narrow."""
    inside = {i for pair in pairs for i in pair}
    order = [*(i for pair in pairs for i in pair), *(i for i in range(len(cell.terms)) if i not in inside)]
    sums = {first: cell.terms[first] + cell.terms[second] for first, second in pairs}
    largest = max(float(abs(cell.terms).max()), 1e-30)
    head: list[Span] = [(name, DIM) for name in NAMES]
    rows = [head, *(_row(cell, i, sums.get(i), largest) for i in order)]
    unturned: tuple[int, ...] = () if pairs else (4, 5, 6, 7)
    for left_out in (unturned, (1, 2, 4, 5), (1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 8)):
        kept = [i for i in range(len(NAMES)) if i not in left_out]
        right = [*[True] * (len(kept) - 1), 8 not in kept]
        lines = page.columns([[row[i] for i in kept] for row in rows], right)
        if page.fits(lines):
            break
    return lines


def _row(cell: CellTerms, i: int, pair: float | None, largest: float) -> list[Span]:
    term = float(cell.terms[i])
    bar = "█" * round(BAR * abs(term) / largest)
    return [
        (str(i), ACCENT),
        *((_number(values, i), "") for values in (cell.plain_q, cell.plain_k, cell.plain_terms, cell.q, cell.k)),
        (f"{term:+.3f}", ""),
        ("" if pair is None else f"{pair:+.3f}", HEAD),
        (bar, FOR if term > 0 else AGAINST),
    ]


def _number(values: Array | None, i: int) -> str:
    return "–" if values is None else f"{values[i]:+.3f}"
