"""A screen as an SVG: what a terminal shows, in its colours, on a light page and on a dark one.

The picture asks for no font and nothing else: it takes whichever monospaced one is there, and holds every run of
characters to its columns. Shades of blocks are drawn, not written, so that they meet in every font.
"""

from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from rich.text import Text

CELL, LINE, FONT, EDGE = 8.4, 18, 14, 16  # px: a column, a row, the letters, the space around
SHADES = {"█": 1.0, "▓": 0.75, "▒": 0.5, "░": 0.25}
# Ground and letters, by what the reader's page is; programs that ask no such question see the dark one.
DARK, LIGHT = ("#16191d", "#d8dade"), ("#ffffff", "#1f2328")
FAINT = 0.66  # opacity of dim letters
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"


class Run(NamedTuple):
    """Characters of one look that stand side by side."""

    text: str
    row: int
    column: int
    style: Style


def runs(screen: str) -> Iterator[Run]:
    """The runs of a screen with ANSI escapes; blanks without a ground of their own are left out."""
    for row, line in enumerate(screen.splitlines()):
        text, column = Text.from_ansi(line), 0
        for part in text.divide(sorted({edge for span in text.spans for edge in (span.start, span.end)})):
            looks = [span.style for span in part.spans if isinstance(span.style, Style)]
            style = Style.combine([Style.null(), *looks])
            for piece in _alike(part.plain):
                if piece.strip() or style.bgcolor:
                    yield Run(piece, row, column, style)
                column += cell_len(piece)


def svg(screen: str, columns: int, title: str) -> str:
    """The picture of a screen of `columns` columns with ANSI escapes."""
    width = round(columns * CELL + 2 * EDGE)
    height = len(screen.splitlines()) * LINE + 2 * EDGE
    body = "\n".join(_drawn(run) for run in runs(screen))
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"
 width="{width}" height="{height}" role="img" xml:space="preserve">
<title>{escape(title)}</title>
<style>
text {{ font: {FONT}px {FONTS}; white-space: pre; fill: {DARK[1]} }}
.ground {{ fill: {DARK[0]}; stroke: #8b949e; stroke-opacity: .5 }}
.block {{ fill: {DARK[1]} }}
@media (prefers-color-scheme: light) {{
  text, .block {{ fill: {LIGHT[1]} }}
  .ground {{ fill: {LIGHT[0]} }}
}}
</style>
<rect class="ground" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>
{body}
</svg>
"""


def _alike(text: str) -> Iterator[str]:
    """`text` cut so that a run of one shade stands alone."""
    start = 0
    for at in range(1, len(text) + 1):
        same = at < len(text) and (text[at] == text[start] if text[start] in SHADES else text[at] not in SHADES)
        if not same:
            yield text[start:at]
            start = at


def _drawn(run: Run) -> str:
    style, x, top = run.style, EDGE + run.column * CELL, EDGE + run.row * LINE
    box = f'x="{x:.1f}" y="{top}" width="{cell_len(run.text) * CELL:.1f}" height="{LINE}"'
    drawn = f'<rect {box} fill="{_hex(style.bgcolor)}"/>' if style.bgcolor else ""
    css = [f"fill: {_hex(style.color)}"] if style.color else []
    css += ["font-weight: bold"] * bool(style.bold) + ["text-decoration: underline"] * bool(style.underline)
    look = f' style="{"; ".join(css)}"' if css else ""
    look += f' opacity="{FAINT}"' if style.dim else ""
    if run.text[0] in SHADES:
        return drawn + f'<rect class="block" {box} fill-opacity="{SHADES[run.text[0]]}"{look}/>'
    text = run.text.strip(" ")
    if not text:
        return drawn
    x += (len(run.text) - len(run.text.lstrip(" "))) * CELL
    place = f'x="{x:.1f}" y="{top + FONT}" textLength="{cell_len(text) * CELL:.1f}"'
    return drawn + f"<text {place}{look}>{escape(text)}</text>"


def _hex(color: Color) -> str:
    return color.get_truecolor().hex
