"""Text measured in terminal cells: a wide character takes two, a combining one none, an emoji of several parts two.

The only place that counts them. Rich knows the widths; it is imported for texts that hold more than our own signs.
"""

from collections.abc import Iterable, Iterator

from glasscli.cli.page.ascii import ASCII

ONE_CELL = frozenset({*map(chr, range(0x20, 0x7F)), *ASCII, *"·●○▲△■□◆◇"})  # what our own texts are made of

TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))  # the five skin tones
LETTERS = frozenset(map(chr, range(0x1F1E6, 0x1F200)))  # two of them are a flag
AS_EMOJI = "\ufe0f"  # after a character: draw it as an emoji


def cells(text: str) -> int:
    """Cells that `text` takes on a terminal.

    A joined family, a flag and an emoji with a skin tone take two, as kitty, foot, Ghostty, WezTerm, Konsole and
    Windows Terminal draw them. Older terminals draw the parts of a family side by side.
    """
    if ONE_CELL.issuperset(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text) + (0 if TONES.isdisjoint(text) else _tones_apart(text))


def _tones_apart(text: str) -> int:
    """Cells of the skin tones in `text` that have no wide emoji to colour. Rich takes every tone for a part of one."""
    from rich.cells import cell_len

    more = 0
    for before, c in zip(" " + text, text, strict=False):
        if c in TONES:
            is_emoji = cell_len(before + AS_EMOJI) == 2
            more += 2 - cell_len(before) if is_emoji else 2  # a narrow emoji such as ☝ becomes wide
    return more


def clusters(text: str) -> Iterator[str]:
    """The parts of `text` that a terminal draws as one: nothing that is joined or combined is parted."""
    if ONE_CELL.issuperset(text):
        yield from text
        return
    from rich.cells import split_graphemes

    half = ""  # of a flag, which is two letters
    for start, end, _ in split_graphemes(text)[0]:
        part = text[start:end]
        is_letter = part in LETTERS
        if half and not is_letter:
            yield half
        if half or not is_letter:
            yield half + part if is_letter else part
            half = ""
        else:
            half = part
    if half:
        yield half


def cut(text: str, width: int) -> tuple[str, str]:
    """`text` in two, the first part at most `width` cells wide, but never empty while there is text."""
    taken = used = 0
    for part in clusters(text):
        used += cells(part)
        if used > width and taken:
            break
        taken += len(part)
    return text[:taken], text[taken:]


def crop(text: str, width: int, mark: str = "…") -> str:
    """`text` in at most `width` cells; what is cut ends in `mark`."""
    if cells(text) <= width:
        return text
    if width < cells(mark):
        return mark[: max(0, width)]
    room = width - cells(mark)
    head, _ = cut(text, room)
    return (head if cells(head) <= room else "") + mark


def pad(text: str, width: int, right: bool = False) -> str:
    """`text` cropped or filled to exactly `width` cells; `right` puts it at the right end."""
    text = crop(text, width)
    fill = " " * (width - cells(text))
    return fill + text if right else text + fill


def join_fitting(start: str, pieces: Iterable[str], width: int) -> str:
    """`start` and those of the pieces that fit behind it, two spaces apart."""
    line = start
    for piece in pieces:
        if cells(line) + 2 + cells(piece) <= width:
            line += f"  {piece}"
    return line
