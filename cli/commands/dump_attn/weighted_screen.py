"""Weights times the length of what they fetch, and what is left of each head's sink."""

from collections.abc import Sequence

from glasscli.cli.commands.dump_attn.figures import number, share
from glasscli.cli.commands.dump_attn.head_table import head_table
from glasscli.cli.commands.dump_attn.heatmap import Map, heatmaps
from glasscli.cli.commands.dump_attn.layer_screen import head_titles, header
from glasscli.cli.commands.dump_attn.numbers import matrix
from glasscli.cli.page.page import Line, Page
from glasscli.cli.page.style import DIM, HEAD
from glasscli.inspect.dump import Dump
from glasscli.inspect.trace import LayerTrace
from glasscli.inspect.weighted import WeightedHead, weigh

NAMES = ("weight on the first", "of A·‖v‖", "‖v‖ first", "‖v‖ others", "from – to")


def weighted_screen(
    page: Page, dump: Dump, trace: LayerTrace, heads: Sequence[int], *, log: bool = False, demo: bool = False
) -> list[Line]:
    """Maps of A·‖v‖, the lengths of all values, and each head's first token against the others."""
    found = weigh(trace)
    labels = [page.label(token.raw) for token in dump.tokens]
    maps = []
    for head in heads:
        kv = found.heads[head].kv_head
        maps.append(Map(head_titles(head, kv), found.shares(head), trace.seen[head], kv))
    lines = header(page, dump, trace, heads, demo, "A·‖v‖: weights times the length of what they fetch")
    lines += [[], *heatmaps(page, maps, labels, dump.start, log, name="A·‖v‖")]
    lines += page.wrap("1 is a whole weight on the longest value of the KV head", " ", DIM)
    kv_heads = sorted({found.heads[head].kv_head for head in heads})
    lines += [[], *page.wrap("‖v‖ of each key", "  ", HEAD, first=" ")]
    lines += matrix(page, [(kv, "kv") for kv in kv_heads], found.lengths_KS[kv_heads], labels, digits=1)
    return [*lines, [], *_table(page, [found.heads[head] for head in heads]), [], *page.say(WHY, DIM, 1)]


WHY = (
    " A head that has found nothing rests on the first token. Where the value there is short, that weight fetches "
    "little: compare its share of the weights with its share of A·‖v‖."
)


def _table(page: Page, heads: Sequence[WeightedHead]) -> list[Line]:
    rows = []
    for h in heads:
        span = "–" if h.least is None or h.most is None else f"{number(h.least)} – {number(h.most)}"
        figures = (share(h.sink), share(h.fetched), _length(h.sink_length), _length(h.mean_length), span)
        rows.append((h.head, h.kv_head, figures))
    return head_table(page, NAMES, rows, [True] * 5)


def _length(value: float | None) -> str:
    return "–" if value is None else number(value)
