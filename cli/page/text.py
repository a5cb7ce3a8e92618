"""Running text on stdout, as it is or tinted: on a terminal harmless and, if wanted, broken at words."""

import sys

from glasscli.cli.console import printable, width, write_bytes
from glasscli.cli.page.flowing import Flowing
from glasscli.cli.page.style import paint


class RunningText:
    """Text that comes in pieces, each shown at once, in UTF-8 whatever the locale says.

    Attributes:
        at_line_start: whether the last piece ended a line.
    """

    def __init__(self, on_terminal: bool, wraps: bool = False) -> None:
        """On a terminal no character steers it; `wraps` breaks lines there between words, where it is `width` wide."""
        self._on_terminal = on_terminal
        self._flowing = Flowing(width) if on_terminal and wraps else None
        self.at_line_start = False

    def write(self, text: str, style: str = "") -> None:
        """Write a piece."""
        if not text:
            return
        self.at_line_start = text.endswith("\n")
        if self._flowing is None:
            write_text(text, style, self._on_terminal)
            return
        write_bytes(self._flowing.push(printable(text, keep="\n\t"), style).encode("utf-8", "surrogatepass"))
        sys.stdout.buffer.flush()


def write_text(text: str, style: str = "", on_terminal: bool = False) -> None:
    """Write `text` at once, in UTF-8 whatever the locale says. A terminal gets no character that steers it."""
    if on_terminal:
        text = printable(text, keep="\n\t")
    if style:  # line by line, or the colour would run to the terminal's edge
        text = "\n".join(paint(line, style) if line else "" for line in text.split("\n"))
    write_bytes(text.encode("utf-8", "surrogatepass"))
    sys.stdout.buffer.flush()
