"""Rows of figures as a table where the page is wide enough, and below each other where it is not."""

from collections.abc import Sequence

from glasscli.cli.page.page import Line, Page, Span
from glasscli.cli.page.style import DIM, HEAD


def table_or_stack(
    page: Page, names: Sequence[str], rows: Sequence[Sequence[Span]], right: Sequence[bool], titles: int = 1
) -> list[Line]:
    """A table with a dimmed head; where that is too wide, each row's title, and under it its figures by name.

    Args:
        right: which columns are flush right.
        titles: how many columns from the left name a row.
    """
    head: list[Span] = [(name, DIM) for name in names]
    for gap, indent in ((2, 1), (1, 0)):
        lines = page.columns([head, *rows], right, gap, indent)
        if page.fits(lines):
            return lines
    lines = []
    for row in rows:
        title = "  ".join(text for text, _ in row[:titles] if text)
        figures = [
            " ".join(filter(None, (name, text)))
            for name, (text, _) in zip(names[titles:], row[titles:], strict=True)
            if text
        ]
        lines += [*page.wrap(title, "  ", HEAD, first=""), *page.listed(figures, "  ", between="  ", first="  ")]
    return lines
