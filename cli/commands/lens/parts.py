"""Who writes a logit: what each head and MLP adds to it, as a table and as bars, and whether the sum is the logit."""

from collections.abc import Sequence

from glasscli.cli.page.figures import probability
from glasscli.cli.page.page import Line, Page, Span, line_width
from glasscli.cli.page.style import ACCENT, AGAINST, BAD, DIM, FOR, HEAD
from glasscli.inspect.attribution import Attribution, Contribution
from glasscli.inspect.checks import bound

LARGEST = 10
BAR = 30
SHORTEST_BAR = 6


def parts_lines(page: Page, found: Attribution) -> list[Line]:
    """Title, table, bars and check."""
    a = page.label(found.token.raw)
    if found.minus is None:
        title, chances = f"who writes the logit of {a}", f"p {probability(found.p)}"
    else:
        b = page.label(found.minus.raw)
        title = f"who writes how far {a} is above {b}"
        chances = f"p {probability(found.p)} against {probability(found.p_minus or 0.0)}"
    lines = page.listed((title, chances), "  ", HEAD)
    table = layers_table(page, found)
    blocks = [table] if page.fits(table) else []
    for block in (*blocks, bars(page, found.sorted()[:LARGEST])):
        lines += [[], *block]
    rest = len(found.contributions) - LARGEST
    if rest > 0:
        left = sum(part.logit for part in found.sorted()[LARGEST:])
        lines += page.wrap(f"{rest} more parts, {signed(left)} in all", " ", DIM)
    return [*lines, *check_line(page, found)]


def layers_table(page: Page, found: Attribution) -> list[Line]:
    """A row a layer: its heads, its MLP, and their sum."""
    kinds = [
        kind
        for kind in ("head", "mlp", "bias")
        if any(p.kind == kind and p.layer is not None for p in found.contributions)
    ]
    layers = sorted({part.layer for part in found.contributions if part.layer is not None})
    n_heads = 1 + max((part.head for part in found.contributions if part.head is not None), default=-1)
    names = [
        "",
        *(f"head {h}" for h in range(n_heads)),
        *("MLP" if kind == "mlp" else kind for kind in kinds[1:]),
        "sum",
    ]
    rows: list[list[Span]] = [[(name, DIM) for name in names]]
    for layer in layers:
        parts = [part for part in found.contributions if part.layer == layer]
        shown: list[float] = [part.logit for part in parts if part.kind == "head"]
        shown += [sum(part.logit for part in parts if part.kind == kind) for kind in kinds[1:]]
        rows.append([(f"layer {layer}", ACCENT), *(number(x) for x in shown), (signed(sum(shown)), HEAD)])
    blank = [("", "")] * (len(names) - 2)
    outside = [part for part in found.contributions if part.layer is None]
    rows += [[(part.label, ACCENT), *blank, (signed(part.logit), HEAD)] for part in outside]
    return page.columns(rows, [False, *[True] * (len(names) - 1)])


def bars(page: Page, parts: Sequence[Contribution]) -> list[Line]:
    """The largest parts, for and against."""
    most = max(abs(part.logit) for part in parts) or 1.0
    lines = page.columns([[(part.label, ACCENT), number(part.logit)] for part in parts], (False, True))
    room = min(BAR, page.width - max(map(line_width, lines)) - 2)
    for line, part in zip(lines, parts, strict=True):
        if room >= SHORTEST_BAR:
            line.append(("  " + "█" * round(room * abs(part.logit) / most), number(part.logit)[1]))
    return lines


def check_line(page: Page, found: Attribution) -> list[Line]:
    """Whether the parts sum to the logit that the run computed."""
    what = "the logit" if found.minus is None else "the difference of the logits"
    cap = "" if found.cap is None else f" before its cap of {found.cap:g}"
    says = "=" if found.ok else "IS NOT"
    text = f"Σ of {len(found.contributions)} parts = {found.total:+.4f} {says} {what} of the run{cap}"
    text += f", Δ {bound(found.relative_gap)} of the largest" if found.ok else f" {found.logit:+.4f}, Δ {found.gap:.2g}"
    return page.wrap(text, " ", "" if found.ok else BAD)


def number(value: float) -> Span:
    """A share with its sign, coloured by that."""
    return signed(value), "" if abs(value) < 0.005 else FOR if value > 0 else AGAINST


def signed(value: float) -> str:
    """`+1.25`, `−0.50`, `0.00`."""
    text = f"{value:+.2f}".replace("-", "−")
    return text[1:] if float(f"{value:.2f}") == 0 else text
