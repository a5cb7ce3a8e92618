"""Measures of heads as tables, beside those of a head that ignores content."""

from collections.abc import Sequence

from glasscli.cli.commands.dump_attn.figures import bits, percent, reach, share
from glasscli.cli.page.page import Line, Page, Span
from glasscli.cli.page.style import ACCENT, DIM, HEAD, tint
from glasscli.inspect.dump import Dump
from glasscli.inspect.measures import MEANING, HeadMeasures

COLUMNS = ("sink", "prev", "self", "dup", "induct")
LEGEND = {
    "sink": "first", "prev": "before", "self": "itself", "dup": "same token", "induct": "what followed",
    "reach": "distance",
}  # fmt: skip


def measure_legend(page: Page) -> list[Line]:
    """Where each measure looks, in a word or two; `--explain` says more."""
    return page.flow(" ", [f"{name}: {where}" for name, where in LEGEND.items()], DIM)


def measure_glossary(page: Page) -> list[Line]:
    """What each measure is."""
    lines = page.wrap("measures: means over the rows of a head, the first token's left out", "  ", HEAD, first="")
    for name, meaning in MEANING.items():
        lines += page.wrap(f"{name:<9}{meaning}", " " * 13, first="    ")
    uniform = "The same numbers for a head that spreads its weight evenly; what a head is above them it has learned."
    return lines + page.wrap(f"{'uniform':<9}{uniform}", " " * 13, first="    ")


def measure_table(page: Page, dump: Dump, measures: Sequence[HeadMeasures], uniform: HeadMeasures) -> list[Line]:
    """A line a head and one for the uniform baseline, two or more where the page is narrow; and a legend."""
    return [*_table(page, dump, measures, uniform), *measure_legend(page)]


def _table(page: Page, dump: Dump, measures: Sequence[HeadMeasures], uniform: HeadMeasures) -> list[Line]:
    head: list[Span] = [(name, DIM) for name in ("head", "kv", "entropy", "", *COLUMNS, "reach", "strongest link")]
    rows = [_row(page, dump, m) for m in measures]
    right = (False, False, True, *[True] * 7, False)
    lines = page.columns([head, *rows, _row(page, dump, uniform)], right)
    if page.fits(lines):
        return lines
    lines = page.columns([row[:-1] for row in (head, *rows, _row(page, dump, uniform))], right[:-1])
    if page.fits(lines):
        links = [f"{m.head}: {strongest(page, dump, m)}" for m in measures if m.strongest]
        label = " strongest link  "
        return [*lines, [], *page.listed(links, " " * len(label), between="   ", first=label)]
    return _stacked(page, dump, [*measures, uniform])


def _row(page: Page, dump: Dump, m: HeadMeasures) -> list[Span]:
    baseline = m.head is None
    style = DIM if baseline else ""
    link = "← a head that ignores content" if baseline else strongest(page, dump, m)
    return [
        ("uniform" if baseline else str(m.head), style or ACCENT),
        ("", "") if m.kv_head is None else (str(m.kv_head), tint(m.kv_head)),
        (bits(m.entropy_bits), style),
        (percent(m.entropy_share), style),
        *((share(m.as_dict()[name]), style) for name in COLUMNS),
        (reach(m.reach), style),
        (link, style),
    ]


def _stacked(page: Page, dump: Dump, measures: Sequence[HeadMeasures]) -> list[Line]:
    lines: list[Line] = []
    for m in measures:
        name = "uniform" if m.head is None else f"head {m.head} · kv {m.kv_head}"
        entropy = f"entropy {bits(m.entropy_bits)} {percent(m.entropy_share)}"
        values = [f"{name} {share(m.as_dict()[name])}" for name in COLUMNS]
        values.append(f"reach {reach(m.reach)}")
        style = DIM if m.head is None else HEAD
        lines += page.listed((name, entropy), "  ", style)
        lines += page.listed(values, "  ", DIM if m.head is None else "", between="  ", first="  ")
        if m.head is not None and m.strongest is not None:
            lines += page.wrap("strongest " + strongest(page, dump, m), "  ")
    return lines


def strongest(page: Page, dump: Dump, m: HeadMeasures) -> str:
    """`·the[6] ← ·Alice,[4] .49`: who looks at whom."""
    if m.strongest is None:
        return "–"
    query, key, weight = m.strongest.query, m.strongest.key, m.strongest.weight
    labels = [page.label(dump.tokens[i].raw) for i in (query, key)]
    return f"{labels[0]}[{query}] ← {labels[1]}[{key}] {share(weight)}"
