"""Text in lines of a width: prose, pieces behind a label, items between separators. All fill their lines in one way."""

import re
from collections.abc import Iterable, Iterator, Sequence

from glasscli.cli.page.cells import cells, cut

# A space that a line of figures may break at: not the one between a number and its unit.
SPACE = re.compile(r" (?!(?:[KMGTPEZY]iB|B|TB/s|GB/s|ms|[µu]s|ns|s|h|%)(?![A-Za-z]))")


def fill(
    pieces: Iterable[tuple[str, str]], width: int, first: str = "", hang: str = "", whole: bool = False
) -> list[str]:
    """Pieces, each with what joins it to the one before, in lines of at most `width` cells.

    Args:
        first: what the first line begins with; `hang`: what the others do.
        whole: leave a piece that is wider than a line as it is; otherwise it is cut.
    """
    lines: list[str] = []
    line, fresh = first, True
    for joint, piece in pieces:
        joined = line + ("" if fresh else joint) + piece
        if not fresh and cells(joined) > width:
            lines.append(line)
            line, joined = hang, hang + piece
        while not whole and cells(joined) > width:
            head, piece = cut(piece, width - cells(line))
            if not piece:
                break
            lines.append(line + head)
            line, joined = hang, hang + piece
        line, fresh = joined, False
    return [*lines, line]


def wrap(text: str, width: int, first: str = "", hang: str = "") -> list[str]:
    """Prose, broken at spaces."""
    return fill(((" ", word) for word in text.split(" ")), width, first, hang)


def listed(items: Sequence[str], width: int, between: str, first: str = "", hang: str = "") -> list[str]:
    """Items with `between` between two, broken there: no line begins or ends with it.

    An item wider than a line is broken at spaces, two cells further in.
    """
    lines = fill(((between, item) for item in items), width, first, hang, whole=True)
    return [part for line in lines for part in wrap(line, width, hang=hang + "  ")]


def flow(label: str, pieces: Sequence[str], width: int, gap: int, indent: int | None) -> tuple[str, list[str]]:
    """Pieces kept whole where the width allows, `gap` apart and hanging under the first, behind `label`.

    Args:
        indent: cells in front of further lines; the label's width when None. Never more than a quarter of the width.

    Returns:
        the label as the first line begins with it; the lines.
    """
    hang = cells(label) if indent is None else indent
    hang = hang if 4 * hang <= width else 2
    label = label if label.strip() else label[:hang]
    if cells(label) > width:
        label, pieces = "", [label.strip(), *pieces]
    parts = list(_parts(pieces, width - hang, " " * gap))
    if label.strip():  # a piece that has no room beside it goes below it
        parts = [("", label), *(("" if i == 0 else joint, part) for i, (joint, part) in enumerate(parts))]
    lines = fill(parts, width, "" if label.strip() else label, " " * hang)
    return label, [line.rstrip() for line in lines]


def _parts(pieces: Iterable[str], room: int, joint: str) -> Iterator[tuple[str, str]]:
    """`pieces`, those wider than `room` in words, and words wider than that in parts, with what joins each."""
    for piece in pieces:
        for i, word in enumerate([piece] if cells(piece) <= room else SPACE.split(piece)):
            head, rest = cut(word, room)
            yield (" " if i else joint), head
            while rest:
                head, rest = cut(rest, room)
                yield joint, head
