"""Running text on stdout, as it is or tinted: never broken into lines, and on a terminal harmless."""

import sys

from glasscli.cli.console import printable, write_bytes
from glasscli.cli.page.style import paint


def write_text(text: str, style: str = "", on_terminal: bool = False) -> None:
    """Write `text` at once, in UTF-8 whatever the locale says. A terminal gets no character that steers it."""
    if on_terminal:
        text = printable(text, keep="\n\t")
    if style:  # line by line, or the colour would run to the terminal's edge
        text = "\n".join(paint(line, style) if line else "" for line in text.split("\n"))
    write_bytes(text.encode("utf-8", "surrogatepass"))
    sys.stdout.buffer.flush()
