"""A table with a row a head, or a block a head where the page is too narrow for it."""

from collections.abc import Sequence

from glasscli.cli.page.page import Line, Page, Span
from glasscli.cli.page.style import ACCENT, DIM, HEAD, tint


def head_table(
    page: Page, names: Sequence[str], heads: Sequence[tuple[int, int, Sequence[str]]], right: Sequence[bool]
) -> list[Line]:
    """The heads' figures below their names.

    Args:
        names: of the figures; head and KV head stand before them.
        heads: each a head, its KV head, and a figure a name.
        right: how each figure is aligned.
    """
    rows: list[list[Span]] = [[(name, DIM) for name in ("head", "kv", *names)]]
    for head, kv_head, figures in heads:
        rows.append([(str(head), ACCENT), (str(kv_head), tint(kv_head)), *((figure, "") for figure in figures)])
    lines = page.columns(rows, (False, False, *right))
    if page.fits(lines):
        return lines
    stacked: list[Line] = []
    for head, kv_head, figures in heads:
        stacked += page.listed((f"head {head}", f"kv {kv_head}"), "  ", HEAD)
        values = [f"{name} {figure}" for name, figure in zip(names, figures, strict=True)]
        stacked += page.listed(values, "  ", between="  ", first="  ")
    return stacked
