"""The page that a command writes on: how wide it is, what it can show, and how lines for it are made.

Views build `Line`s with a page's methods and hand them to `show`; none of them prints. What a method is given is made
harmless first, in ASCII where the terminal has no more, so that no data can steer a terminal and widths are true.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from glasscli.cli import console
from glasscli.cli.console import Color
from glasscli.cli.page import wrap
from glasscli.cli.page.ascii import in_ascii
from glasscli.cli.page.cells import cells
from glasscli.cli.page.style import DIM, paint

Span = tuple[str, str]  # text, style
Line = list[Span]

STDERR_WIDTH = 80  # of a terminal that doesn't know its own


@dataclass(frozen=True)
class Page:
    """Where lines go.

    Attributes:
        width: columns to fill.
        unicode: whether it can show more than ASCII; if not, `dot` stands for a middle dot.
        colored, truecolor: whether styles are shown, and colours in 24 bits.
        terminal: whether a person reads it: hints are for them, and what a pipe gets is never cut short.
    """

    width: int = 100
    unicode: bool = True
    colored: bool = False
    truecolor: bool = False
    terminal: bool = False
    dot: str = "-"
    write: Callable[[str], None] = console.write

    @classmethod
    def of_stdout(cls, color: Color = Color.auto, dot: str = "-") -> "Page":
        """The page that stdout is."""
        stdout = sys.stdout
        colored, truecolor = console.use_color(color, stdout), console.has_truecolor()
        return cls(console.width(), console.unicode_ok(), colored, truecolor, console.is_terminal(), dot)

    @classmethod
    def of_stderr(cls, color: Color = Color.auto, dot: str = "-") -> "Page":
        """The page that stderr is; what can't be written there is left out."""
        stderr = sys.stderr
        colored, truecolor = console.use_color(color, stderr), console.has_truecolor()
        width, terminal = console.width(stderr, STDERR_WIDTH), console.is_terminal(stderr)
        return cls(width, console.unicode_ok(stderr), colored, truecolor, terminal, dot, console.write_stderr)

    def safe(self, text: str) -> str:
        """`text` in characters that this page can show, none of which steers a terminal."""
        if text.isprintable() and (self.unicode or text.isascii()):
            return text
        text = console.printable(text)
        return text if self.unicode else in_ascii(text, self.dot)

    def label(self, data: bytes) -> str:
        """A token's bytes as a label, see `label_of`."""
        from glasscli.tokenizer.pieces import label_of

        return label_of(data, ascii_only=not self.unicode)

    def fits(self, lines: Iterable[Line]) -> bool:
        """Whether no line is wider than the page."""
        return all(line_width(line) <= self.width for line in lines)

    def wrap(self, text: str, hang: str = "", style: str = "", first: str | None = None) -> list[Line]:
        """Prose. Lines begin with `hang`, the first with `first` if that is given."""
        begin = hang if first is None else first
        return [[(line, style)] for line in wrap.wrap(self.safe(text), self.width, self.safe(begin), hang)]

    def listed(
        self, items: Iterable[str], hang: str = "", style: str = "", between: str = " · ", first: str = ""
    ) -> list[Line]:
        """Items with something between them, broken there. Lines begin with `hang`, the first with `first`."""
        safe = [self.safe(item) for item in items]
        return [[(line, style)] for line in wrap.listed(safe, self.width, self.safe(between), first, hang)]

    def say(self, text: str, style: str = "", indent: int = 0) -> list[Line]:
        """A sentence with figures: no number is parted from its unit. Further lines are indented."""
        return self.flow("", wrap.SPACE.split(text), style, 1, indent)

    def flow(
        self, label: str, pieces: Iterable[str], style: str = "", gap: int = 2, indent: int | None = None
    ) -> list[Line]:
        """A dimmed label, then pieces kept whole where the width allows, `gap` apart and hanging under the first."""
        label, lines = wrap.flow(self.safe(label), [self.safe(p) for p in pieces], self.width, gap, indent)
        made: list[Line] = [[(line, style)] for line in lines]
        if label.strip() and lines[0].startswith(label):
            made[0] = [(label, DIM), (lines[0][len(label) :], style)]
        return made

    def columns(
        self, rows: Sequence[Sequence[Span]], right: Sequence[bool], gap: int = 2, indent: int = 1, padded: bool = False
    ) -> list[Line]:
        """Rows of cells as lines, columns as wide as their widest cell; `right` tells how each is aligned.

        Args:
            padded: a cell's style goes on into the gap behind it.
        """
        safe = [[(self.safe(text), style) for text, style in row] for row in rows]
        widths = [max(cells(row[i][0]) for row in safe if i < len(row)) for i in range(len(right))]
        lines: list[Line] = []
        for row in safe:
            line: Line = [(" " * indent, "")]
            for i, (text, style) in enumerate(row):
                fill = (" " * (widths[i] - cells(text)), style if padded else "")
                line += [fill, (text, style)] if right[i] else [(text, style), fill]
                line += [(" " * (gap - 1), style if padded else ""), (" ", "")]
            lines.append(line[:-2])
        return lines

    def table(
        self,
        headers: Sequence[str],
        rows: Sequence[Sequence[str]],
        left: Sequence[int] = (),
        sections: Sequence[int] = (),
        bold: int | None = None,
    ) -> list[Line]:
        """A ruled table, or no line at all where it would be wider than the page.

        Columns in `left` are flush left, the others flush right; an empty line follows each row in `sections`;
        column `bold` stands out.
        """
        styled = [[(cell, "bold" if n == 0 or i == bold else "") for i, cell in enumerate(row)]
                  for n, row in enumerate((headers, *rows))]  # fmt: skip
        right = [i not in left for i in range(len(headers))]
        for gap in (3, 2):
            lines = self.columns(styled, right, gap, indent=0, padded=True)
            if self.fits(lines):
                break
        else:
            return []
        lines.insert(1, [("─" * line_width(lines[0]), "")])
        for at in sorted(sections, reverse=True):
            if at + 1 < len(rows):
                lines.insert(at + 3, [])
        return lines

    def render(self, line: Line) -> str:
        """A line as it is written: no spaces at its end, escape sequences where colour is wanted."""
        spans = [(self.safe(text), style) for text, style in line]
        while spans and not spans[-1][0].rstrip(" "):
            spans.pop()
        if spans:
            spans[-1] = (spans[-1][0].rstrip(" "), spans[-1][1])
        return "".join(paint(text, style, self.truecolor) if self.colored and text else text for text, style in spans)

    def show(self, lines: Iterable[Line]) -> None:
        """Write the lines."""
        texts = [self.render(line) for line in lines]
        if texts:
            self.write("\n".join(texts))


def line_width(line: Line) -> int:
    """Cells that a line takes."""
    return sum(cells(text) for text, _ in line)


def add(line: Line, text: str, style: str) -> None:
    """Put `text` at the end of a line, in one piece with what has the same style."""
    if line and line[-1][1] == style:
        line[-1] = (line[-1][0] + text, style)
    else:
        line.append((text, style))


def spaced(*blocks: list[Line]) -> list[Line]:
    """Blocks of lines with an empty line between two; blocks that hold nothing are left out."""
    found = [block for block in blocks if block]
    return [line for i, block in enumerate(found) for line in ([[], *block] if i else block)]
