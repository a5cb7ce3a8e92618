"""The whole screen of one layer, and that of one of its heads: header, steps with their checks, maps, measures."""

import math
from collections.abc import Sequence

import numpy as np

from glasscli.cli.ablated import without_words
from glasscli.cli.commands.dump_attn.figures import bits, number, percent, share
from glasscli.cli.commands.dump_attn.heatmap import Map, heatmaps
from glasscli.cli.commands.dump_attn.measures import measure_legend, measure_table
from glasscli.cli.commands.dump_attn.numbers import matrix
from glasscli.cli.page.cells import cells, crop
from glasscli.cli.page.page import Line, Page, Span
from glasscli.cli.page.style import ACCENT, BAD, DIM, HEAD
from glasscli.inspect.checks import Check, check_layer
from glasscli.inspect.dump import Dump
from glasscli.inspect.steps import step_array, steps_of
from glasscli.inspect.trace import LayerTrace

MAX_NUMBERS = 24  # rows and columns of weights that are still read, not scrolled past


def layer_screen(
    page: Page, dump: Dump, trace: LayerTrace, heads: Sequence[int], *, log: bool = False, demo: bool = False
) -> list[Line]:
    """Everything about one layer that fits a screen."""
    lines = header(page, dump, trace, heads, demo)
    lines += [[], *steps_table(page, dump, trace), []]
    lines += layer_maps(page, dump, trace, heads, log)
    measures = dump.measures(trace)
    return [*lines, [], *measure_table(page, dump, [measures[head] for head in heads], dump.uniform())]


def head_screen(page: Page, dump: Dump, trace: LayerTrace, head: int, log: bool, demo: bool) -> list[Line]:
    """The screen of one head."""
    lines = header(page, dump, trace, [head], demo)
    lines += [[], *layer_maps(page, dump, trace, [head], log)]
    n_queries, n_keys = trace.mask_TS.shape
    if max(n_queries, n_keys) <= MAX_NUMBERS and 20 + 5 * n_keys <= page.width:
        labels = [page.label(token.raw) for token in dump.tokens]
        rows = [(dump.start + i, labels[dump.start + i]) for i in range(n_queries)]
        lines += [[], *matrix(page, rows, trace.pattern_HTS[head], labels, ~trace.mask_TS)]
    m, uniform = dump.measures(trace)[head], dump.uniform()
    if page.width >= 60:
        return [*lines, [], *measure_table(page, dump, [m], uniform)]
    lines += [
        [],
        *page.wrap(f"entropy {bits(m.entropy_bits)} ({percent(m.entropy_share)} of max)"),
    ]
    for name, value in m.as_dict().items():
        if name.startswith("entropy") or name == "reach":
            continue
        base = uniform.as_dict()[name]
        lines += page.wrap(f"{name:<7} {share(value):>4}  (uniform {share(base)})")
    return [*lines, *measure_legend(page)]


def header(
    page: Page, dump: Dump, trace: LayerTrace, heads: Sequence[int], demo: bool = False, what: str = ""
) -> list[Line]:
    """Which layer, how its heads share, which tokens."""
    config = dump.config
    n_queries, n_keys = trace.mask_TS.shape
    if len(heads) == 1 and config.n_heads > 1:
        shared = f"head {heads[0]} → kv {heads[0] // config.group_size}"
    else:
        shared = f"{_count(config.n_heads, 'query head')} → {_count(config.n_kv_heads, 'KV head')}"
        size = config.group_size
        shared += f" ({size} share one)" if size > 1 else ""
    parts = [
        f"layer {trace.layer} of 0–{config.n_layers - 1}",
        shared,
        f"head_dim {config.head_dim}",
        str(trace.pattern_HTS.dtype),
        f"{dump.mode} {n_queries} × {n_keys}" + (f" from {dump.start}" if dump.start else ""),
    ]
    parts += [what] if what else []
    parts += [without_words(dump.removed)] if dump.removed else []
    lines = page.listed(parts, "  ", HEAD)
    return [*lines, *prompt_lines(page, dump, demo)]


def prompt_lines(page: Page, dump: Dump, demo: bool = False) -> list[Line]:
    """The prompt of a dump, see `text_lines`."""
    text = dump.prompt if dump.prompt is not None else "".join(token.text or "" for token in dump.tokens)
    return text_lines(page, text, dump.n_prompt, demo)


def text_lines(page: Page, text: str, n_tokens: int, demo: bool) -> list[Line]:
    """A text, cut with a mark where it is long, how many tokens it makes, and whether it was ours to choose."""
    note = _count(n_tokens, "token") + ("   (demo text: give your own)" if demo else "")
    label = "prompt  "
    room = page.width - cells(label) - cells(note) - 3
    shown = one_line(page, text)
    if cells(shown) <= room or room >= 24:
        return [[(label, DIM), (crop(shown, room), ""), (f"   {note}", DIM)]]
    return [
        [(label, DIM), (crop(shown, page.width - cells(label)), "")],
        *page.wrap(note, " " * cells(label), DIM),
    ]


def one_line(page: Page, text: str) -> str:
    """A whole text on one line, labelled as tokens are, but with spaces as spaces."""
    return " ".join(page.label(word) for word in text.encode("utf-8", "surrogatepass").split(b" "))


def steps_table(page: Page, dump: Dump, trace: LayerTrace) -> list[Line]:
    """The steps in order: formula, shape, size of the numbers, and what was found to be true of them."""
    checks = check_layer(trace, dump.config)
    rows = [_step_row(dump, trace, name, checks.get(name)) for name in steps_of(dump.config, trace.layer)]
    heads = ["step", "formula", "shape", "rms", "min", "max", "check"]
    right = (False, False, False, True, True, True, False)
    wide = page.columns([[(name, DIM) for name in heads], *rows], right)
    if page.fits(wide):
        return wide
    short = [[row[0], (row[2][0].replace(" ", ""), row[2][1]), *row[3:]] for row in rows]
    del heads[1]
    with_checks = page.columns([[(name, DIM) for name in heads], *short], right[1:])
    if page.fits(with_checks):
        return _with_formulas(page, with_checks, rows)
    lines = page.columns(
        [[(name, DIM) for name in heads[:-1]], *(row[:-1] for row in short)], right[1:-1], gap=1, indent=0
    )
    return _with_formulas(page, lines, rows, checks=True)


def _with_formulas(
    page: Page, lines: Sequence[Line], rows: Sequence[Sequence[Span]], checks: bool = False
) -> list[Line]:
    """A narrow form: each step's formula, and where asked for its check, under its numbers."""
    stacked = [lines[0]]
    for line, row in zip(lines[1:], rows, strict=True):
        stacked.append(line)
        stacked += page.wrap(row[1][0], "    " if checks else " " * 10, DIM)
        if checks and row[6][0]:
            stacked += page.wrap(row[6][0], "    ", row[6][1])
    return stacked


def _step_row(dump: Dump, trace: LayerTrace, name: str, check: Check | None) -> list[Span]:
    step, values = steps_of(dump.config, trace.layer)[name], step_array(trace, name)
    shape = " × ".join(str(n) for n in values.shape)
    row: list[Span] = [(name, ACCENT), (step.equation(dump.config), ""), (shape, "")]
    if name in ("cache", "mask"):
        row += [("", "")] * 3
    else:
        seen = values[np.isfinite(values)]
        rms = math.sqrt(float(np.einsum("i,i->", seen, seen, dtype=np.float64)) / seen.size)
        row += [(number(x), "") for x in (rms, float(seen.min()), float(seen.max()))]
    found = check.text if check else "→ residual stream" if name == "out" else ""
    return [*row, (found, "" if check is None or check.ok else BAD)]


def layer_maps(page: Page, dump: Dump, trace: LayerTrace, heads: Sequence[int], log: bool) -> list[Line]:
    """The patterns of `heads` as shaded maps."""
    group = dump.config.group_size
    maps = [
        Map(head_titles(head, head // group), trace.pattern_HTS[head], trace.mask_TS, head // group) for head in heads
    ]
    return heatmaps(page, maps, [page.label(token.raw) for token in dump.tokens], dump.start, log)


def head_titles(head: int, kv_head: int) -> tuple[str, ...]:
    """What stands above a head's map, from long to short."""
    return (f"head {head} · kv {kv_head}", f"h{head} · kv{kv_head}", f"h{head}")


def _count(n: int, name: str) -> str:
    return f"{n:,} {name}{'' if n == 1 else 's'}"
