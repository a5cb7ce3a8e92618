"""One layer read through a smaller cache, beside the full one: patterns side by side, and what changed in each head."""

from collections.abc import Sequence

from glasscli.cache.choice_text import parse_choice
from glasscli.cli.commands.dump_attn.figures import number, share
from glasscli.cli.commands.dump_attn.head_table import head_table
from glasscli.cli.commands.dump_attn.heatmap import Map, heatmaps
from glasscli.cli.commands.dump_attn.layer_screen import head_titles, header
from glasscli.cli.page.page import Line, Page
from glasscli.cli.page.style import DIM
from glasscli.inspect.cache_change import HeadChange, LayerChange, held_bytes, layer_change
from glasscli.inspect.dump import Dump
from glasscli.inspect.trace import LayerTrace
from glasscli.units import format_bytes

NAMES = ("moved", "most", "dropped", "scores Δ", "mix Δ")


def cache_screen(
    page: Page,
    dump: Dump,
    trace: LayerTrace,
    heads: Sequence[int],
    *,
    full_bytes: int,
    log: bool = False,
    demo: bool = False,
) -> list[Line]:
    """A layer of a dump that `cache_change.beside` made.

    Args:
        full_bytes: what the full cache holds for the dump's tokens, in all layers.
    """
    full = next(other for other in dump.full if other.layer == trace.layer)
    choice = parse_choice(dump.cache)
    change = layer_change(trace, full)
    lines = header(page, dump, trace, heads, demo)
    held = format_bytes(held_bytes(dump.config, choice, len(dump.tokens)))
    lines += page.flow("cache   ", [f"{choice.text}: {choice.says}", f"· {held} of {format_bytes(full_bytes)}"], gap=1)
    maps = []
    for head in heads:
        of_full = head // (len(full.pattern_HTS) // len(full.cache_k_KSE))
        kv = change.heads[head].kv_head
        maps.append(Map(head_titles(head, of_full), full.pattern_HTS[head], full.mask_TS, of_full))
        titles = (f"head {head} {choice.text}", f"h{head} {choice.text}", f"h{head}*")
        maps.append(Map(titles, trace.pattern_HTS[head], trace.seen[head], kv))
    labels = [page.label(token.raw) for token in dump.tokens]
    lines += [[], *heatmaps(page, maps, labels, dump.start, log), []]
    lines += _table(page, dump, [change.heads[head] for head in heads])
    return [*lines, [], *page.say(_why(change), DIM)]


def _table(page: Page, dump: Dump, heads: Sequence[HeadChange]) -> list[Line]:
    rows = []
    for change in heads:
        token = page.label(dump.tokens[change.query].raw)
        most = share(change.moved_most) + (f" {token}[{change.query}]" if change.moved_most else "")
        figures = (
            share(change.moved), most, share(change.dropped), number(change.score_rms), f"{100 * change.mix:.1f} %"
        )  # fmt: skip
        rows.append((change.head, change.kv_head, figures))
    return head_table(page, NAMES, rows, (True, False, True, True, True))


def _why(change: LayerChange) -> str:
    """What the columns mean, and how much of it comes from the layers below."""
    text = (
        "moved: the share of a query's weights that goes to other keys, ½ Σ|a − b|: mean, and most. dropped: weight on "
        "keys no longer held. Scores Δ: rms, of keys that both see. mix Δ: relative."
    )
    if change.layer == 0:
        return f"{text} Queries are the same in layer 0; out changes by {100 * change.out:.1f} %."
    return (
        f"{text} The layers below were read through the same cache: what enters this one has changed by "
        f"{100 * change.entered:.1f} %, what attention adds by {100 * change.out:.1f} %."
    )
