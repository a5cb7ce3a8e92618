"""A page of text for one width: wrapped lines, Rich tables where they fit, ASCII where it must be.

Everything a command wants to show is collected here and written at once.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from glasscli.cli import console
from glasscli.cli.console import Color

if TYPE_CHECKING:
    from rich.text import Text

ASCII = (
    {"×": "x", "·": "-", "−": "-", "→": "->", "≤": "<=", "≈": "~", "…": "~", "█": "#", "─": "-", "²": "^2"}
    | {"▏": ".", "▎": ".", "▍": ":", "▌": ":", "▋": "+", "▊": "+", "▉": "#", "│": "|", "┤": "|", "└": "+"}
    | {"µ": "u", "✓": "ok", "✗": "no", "⌈": "ceil(", "⌉": ")", "–": "-"}
)
CODES = {"bold": "1", "dim": "2", "green": "32", "yellow": "33", "red": "31", "cyan": "36", "magenta": "35"}


# A space that a line may break at: not the one between a number and its unit.
SPACE = re.compile(r" (?!(?:[KMGTPEZY]iB|B|TB/s|GB/s|ms|[µu]s|ns|s|h|%)(?![A-Za-z]))")

TRAILING = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$")  # spaces at the end of a line, before it goes back to plain


def cells(text: str) -> int:
    """Columns that `text` takes on a terminal: two for wide characters, none for combining ones."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Screen:
    """Collects lines no wider than the terminal."""

    def __init__(self, color: Color = Color.auto) -> None:
        self.width = console.width()
        self.colored = console.use_color(color)
        self.unicode = console.unicode_ok()
        self.color = color
        self.lines: list[str] = []

    def plain(self, text: str) -> str:
        """`text` with nothing that could steer the terminal, in ASCII if the terminal can't do more."""
        text = console.printable(text)
        return text if self.unicode else console.in_ascii(text, ASCII)

    def paint(self, text: str, style: str) -> str:
        """`text` in `style` (words of CODES), if this screen has colours."""
        codes = ";".join(CODES[word] for word in style.split())
        return f"\x1b[{codes}m{text}\x1b[0m" if self.colored and codes else text

    def blank(self) -> None:
        """An empty line, unless the page is empty or the last line already is."""
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def say(self, text: str, style: str = "", indent: int = 0) -> None:
        """Wrap `text` at spaces; the lines after the first are indented by `indent`."""
        self.flow("", SPACE.split(text), style=style, gap=1, indent=indent)

    def flow(self, label: str, pieces: Iterable[str], style: str = "", gap: int = 2, indent: int | None = None) -> None:
        """`label`, then `pieces` kept whole where the width allows, `gap` apart and hanging under the first."""
        label, pieces = self.plain(label), [self.plain(piece) for piece in pieces]
        hang = cells(label) if indent is None else indent
        hang = hang if 4 * hang <= self.width else 2
        label = label if label.strip() else label[:hang]
        if cells(label) > self.width:
            label, pieces = "", [label.strip(), *pieces]
        lines, line = [], label
        for piece in self.pieces(pieces, self.width - hang):
            empty = not line.strip() or line == label
            joined = line + ("" if empty else " " * (1 if piece.startswith("\0") else gap)) + piece.lstrip("\0")
            if cells(joined) > self.width and line.strip():
                lines.append(line.rstrip())
                joined = " " * hang + piece.lstrip("\0")
            line = joined
        lines.append(line.rstrip())
        if label.strip() and lines[0].startswith(label):
            lines[0] = self.paint(label, "dim") + (self.paint(lines[0][len(label) :], style))
            lines[1:] = [self.paint(text, style) for text in lines[1:]]
        else:
            lines = [self.paint(text, style) for text in lines]
        self.lines += lines

    def pieces(self, pieces: Iterable[str], room: int) -> Iterable[str]:
        """`pieces`, those wider than `room` in words, and words wider than that in parts.

        A NUL before a word says that a single space belongs before it.
        """
        for piece in pieces:
            words = [piece] if cells(piece) <= room else SPACE.split(piece)
            for i, word in enumerate(words):
                head, rest = cut(word, room)
                yield ("\0" if i else "") + head
                while rest:
                    head, rest = cut(rest, room)
                    yield head

    def table(
        self,
        headers: Sequence[str],
        rows: Sequence[Sequence[str]],
        left: Sequence[int] = (),
        sections: Sequence[int] = (),
        bold: int | None = None,
    ) -> bool:
        """Draw a table and say True, or do nothing and say False if it is wider than the screen.

        Columns in `left` are flush left, the others flush right; a gap follows each row in `sections`;
        column `bold` stands out.
        """
        n_columns = len(headers)
        widest = [max(cells(row[i]) for row in [headers, *rows]) for i in range(n_columns)]
        if sum(widest) + 2 * (n_columns - 1) > self.width:
            return False
        gap = 3 if sum(widest) + 3 * (n_columns - 1) <= self.width else 2
        from rich import box
        from rich.table import Table

        lines = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
        rules = box.Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
        drawn = Table(
            box=rules if self.unicode else lines,
            show_edge=False,
            pad_edge=False,
            padding=(0, gap - 1, 0, 0),  # the box puts one more column between
            header_style="bold" if self.colored else "",
        )
        for i, header in enumerate(headers):
            style = "bold" if i == bold else ""
            drawn.add_column(self.text(header), justify="left" if i in left else "right", no_wrap=True, style=style)
        for i, row in enumerate(rows):
            drawn.add_row(*map(self.text, row), end_section=i in sections)
        rich = console.rich_console(self.color)
        with rich.capture() as capture:
            rich.print(drawn)
        self.lines += [TRAILING.sub(r"\1", line) for line in capture.get().rstrip("\n").split("\n")]
        return True

    def text(self, cell: str) -> "Text":
        """A table cell that no markup can touch."""
        from rich.text import Text

        return Text(self.plain(cell))

    def show(self) -> None:
        """Write the page to stdout."""
        console.write("\n".join(self.lines))


def cut(text: str, width: int) -> tuple[str, str]:
    """`text` in two, the first part at most `width` cells."""
    taken = used = 0
    for c in text:
        used += cells(c)
        if used > width and taken:
            break
        taken += 1
    return text[:taken], text[taken:]
