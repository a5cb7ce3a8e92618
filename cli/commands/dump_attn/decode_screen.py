"""One decode step: a single query, its scores against the cache, and the weights as bars."""

from collections.abc import Sequence

import numpy as np

from glasscli.arrays import Array
from glasscli.cli.commands.dump_attn.figures import share
from glasscli.cli.commands.dump_attn.layer_screen import prompt_lines
from glasscli.cli.page.cells import cells, crop, pad
from glasscli.cli.page.page import Line, Page, Span
from glasscli.cli.page.style import ACCENT, BAD, DIM, HEAD, tint
from glasscli.inspect.checks import largest_difference, tiny
from glasscli.inspect.dump import Dump
from glasscli.inspect.measures import measure_heads
from glasscli.inspect.trace import LayerTrace
from glasscli.units import format_bytes

MAX_KEYS = 64
CLOSE = 1e-4
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def decode_screen(
    page: Page,
    dump: Dump,
    trace: LayerTrace,
    heads: Sequence[int],
    prefill: LayerTrace | None,
    demo: bool = False,
) -> list[Line]:
    """The step of a dump with a single query.

    Args:
        prefill: the same layer as one prefill of all tokens computes it, to compare with.
    """
    position = dump.start
    one = len(heads) == 1
    who = f" head {heads[0]} → kv {heads[0] // dump.config.group_size}" if one else ""
    if dump.mode == "decode":
        what, size = "decode step", f"1 query × {position + 1} keys ({position} cached + 1 new)"
    else:
        token = page.label(dump.tokens[position].raw)
        what, size = f"row {position} {token} of the prefill", f"1 query × {position + 1} keys"
    lines = page.listed((what, f"layer {trace.layer}{who}", f"start {position}", size), "  ", HEAD)
    lines += prompt_lines(page, dump, demo)
    if dump.mode == "decode":
        lines += [*_facts(page, dump), *_compare(page, dump, trace, prefill)]
    return [*lines, [], *_bars(page, dump, trace, heads)]


def _facts(page: Page, dump: Dump) -> list[Line]:
    position = dump.start
    per_token = 2 * 4 * dump.config.n_kv_heads * dump.config.head_dim
    n_keys = int(dump.layers[0].mask_TS[-1].sum())
    reads = f"reads {format_bytes(per_token * n_keys)} of keys and values, adds {format_bytes(per_token)}"
    token = page.label(dump.tokens[position].raw)
    chosen = f", and chose {page.label(dump.chosen[0].raw)}" if dump.chosen else ""
    return page.wrap(f"query {token} {reads}{chosen}", "  ", first=" ")


def _compare(page: Page, dump: Dump, trace: LayerTrace, prefill: LayerTrace | None) -> list[Line]:
    if prefill is None:
        return page.wrap("not compared: one prefill of all tokens would be too large", "  ", DIM, first=" ")
    position = dump.start
    weights = largest_difference(
        trace.pattern_HTS[:, 0, : position + 1], prefill.pattern_HTS[:, position, : position + 1]
    )
    out = largest_difference(trace.out_TD[0], prefill.out_TD[position])
    n = len(prefill.out_TD)
    size = max(1.0, float(np.abs(prefill.out_TD[position]).max()))  # float32 rounds in proportion
    ok = weights < CLOSE and out < CLOSE * size
    says = "equals" if ok else "DIFFERS from"
    text = f"{says} row {position} of the prefill {n} × {n}: max Δ {tiny(weights)} in softmax, {tiny(out)} in out"
    return page.wrap(text, "  ", "" if ok else BAD, first=" ")


def _bars(page: Page, dump: Dump, trace: LayerTrace, heads: Sequence[int]) -> list[Line]:
    position = dump.start
    weights = trace.pattern_HTS[list(heads), 0, : position + 1]
    scores = np.stack([trace.seen_scores(head, 0) for head in heads])
    keys = _shown_keys(weights)
    labels = [page.label(dump.tokens[key].raw) for key in keys]
    n_digits = len(str(position))
    label = min(max(cells(name) for name in labels), 16, max(5, page.width // 5))
    one = len(heads) == 1
    room = page.width - (n_digits + label + 3)
    fixed = 15 if one else 7  # score and weight, or weight alone, with the gaps around them
    across = 1 if one else max(1, min(len(heads), room // (fixed + 8)))
    across = -(-len(heads) // (-(-len(heads) // across)))
    bar = max(4, min(40, room // across - fixed))
    full = float(weights.max())
    lines: list[Line] = []
    for first in range(0, len(heads), across):
        band = range(first, min(first + across, len(heads)))
        if lines:
            lines.append([])
        lines += _bar_head(page, dump, heads, band, n_digits + label + 3, bar, one)
        for key, name in zip(keys, labels, strict=True):
            line: Line = [(f" {key:>{n_digits}} ", DIM), (pad(name, label) + " ", ACCENT)]
            for i in band:
                line.append((f"{scores[i, key]:8.2f}" if one else "", ""))
                line.append((f"{share(float(weights[i, key])):>5} ", ""))
                color = tint(heads[i] // dump.config.group_size)
                drawn = _bar(page, float(weights[i, key]) / full, bar)
                line.append((drawn + " " if one else pad(drawn, bar) + " ", color))
            if key == position and one:
                line.append((page.safe("← itself"), DIM))
            lines.append(_fit(line, page.width))
    lines += [[], [(f" longest bar = {share(full)}", DIM)]]
    return [*lines, *_left_out(page, weights, keys)]


def _bar_head(
    page: Page, dump: Dump, heads: Sequence[int], band: range, indent: int, bar: int, one: bool
) -> list[Line]:
    if one:
        return [[(" " * indent + "   score  softmax", DIM)]]
    line: Line = [(" " * indent, "")]
    for i in band:
        kv = heads[i] // dump.config.group_size
        line.append((pad(page.safe(f" head {heads[i]} · kv {kv}"), bar + 7), tint(kv)))
    return [line]


def _fit(line: Line, width: int) -> Line:
    """`line` without its last pieces where they do not fit."""
    used, kept = 0, []
    for text, style in line:
        if used + cells(text.rstrip()) > width:
            break
        used += cells(text)
        kept.append((text, style))
    return kept


def _shown_keys(weights: Array) -> list[int]:
    """All keys, or of many those that some head looks at most, in order."""
    n_keys = weights.shape[1]
    if n_keys <= MAX_KEYS:
        return list(range(n_keys))
    best = np.argsort(-weights.max(axis=0), kind="stable")[: MAX_KEYS - 1]
    return sorted({*best.tolist(), n_keys - 1})


def _left_out(page: Page, weights: Array, keys: Sequence[int]) -> list[Line]:
    left = weights.shape[1] - len(keys)
    if not left:
        return []
    rest = 1 - weights[:, list(keys)].sum(axis=1)
    text = f"… {left} more keys, with {share(float(rest.max()))} of the weight at most"
    return page.wrap(text, "  ", DIM, first=" ")


def _bar(page: Page, part: float, width: int) -> str:
    """A bar of `part` of `width` cells."""
    if not page.unicode:
        return "#" * round(part * width)
    eighths = round(part * width * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def chosen_table(page: Page, dump: Dump, trace: LayerTrace, heads: Sequence[int]) -> list[Line]:
    """For generated text: each step, the token it chose, and what each head looked at most."""
    group = dump.config.group_size
    rows: list[list[Span]] = [
        [("step", DIM), ("reads", DIM), ("chose", DIM), *((f"head {h}", tint(h // group)) for h in heads)]
    ]
    for i, token in enumerate(dump.chosen):
        position = dump.start + i
        row = [
            (str(position), DIM),
            (_short(page, dump, position), ACCENT),
            (crop(page.label(token.raw), 10), HEAD),
        ]
        measures = measure_heads(
            trace.pattern_HTS[:, i : i + 1, : position + 1],
            position,
            dump.token_ids[: position + 1],
            dump.config.n_kv_heads,
        )
        for head in heads:
            link = measures[head].strongest
            weight = share(link.weight if link else None)
            key = link.key if link else position
            row.append((f"{_short(page, dump, key)}[{key}] {weight}", ""))
        rows.append(row)
    lines = page.columns(rows, (True, False, False, *[False] * len(heads)))
    if page.fits(lines):
        return lines
    return [line for row in rows[1:] for line in _stacked_choice(page, row, heads)]


def _stacked_choice(page: Page, row: Sequence[Span], heads: Sequence[int]) -> list[Line]:
    first: Line = [(f"{row[0][0]} {row[1][0]}", ACCENT), (" → ", ""), row[2]]
    links = [f"h{head} {text}" for head, (text, _) in zip(heads, row[3:], strict=True)]
    return [first, *page.listed(links, "  ", between="  ", first="  ")]


def _short(page: Page, dump: Dump, position: int) -> str:
    return crop(page.label(dump.tokens[position].raw), 10)
