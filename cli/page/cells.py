"""Text measured in terminal cells, as Rich counts them: a wide character takes two, a combining one none."""

from collections.abc import Iterable

from rich.cells import cell_len


def crop(text: str, cells: int, mark: str = "…") -> str:
    """`text` in at most `cells` cells; what is cut ends in `mark`."""
    if cell_len(text) <= cells:
        return text
    room = max(0, cells - cell_len(mark))
    while cell_len(text) > room:
        text = text[:-1]
    return (text + mark)[: max(cells, 0)] if cells >= cell_len(mark) else mark[:cells]


def pad(text: str, cells: int, right: bool = False) -> str:
    """`text` cropped or filled to exactly `cells` cells; `right` puts it at the right end."""
    text = crop(text, cells)
    fill = " " * (cells - cell_len(text))
    return fill + text if right else text + fill


def join_fitting(start: str, pieces: Iterable[str], cells: int) -> str:
    """`start` and those of the pieces that fit behind it, two spaces apart."""
    line = start
    for piece in pieces:
        if cell_len(line) + 2 + cell_len(piece) <= cells:
            line += f"  {piece}"
    return line
