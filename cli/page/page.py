"""What all screens of `dump-attn` are made of: lines of styled pieces that fit a width counted in cells.

Views build `Line`s and never print. Colour repeats what the characters say; without colour nothing is lost.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from glasscli.cli.console import (
    Color,
    in_ascii,
    is_terminal,
    printable,
    rich_console,
    unicode_ok,
    use_color,
    width,
    write,
)
from glasscli.cli.page.cells import pad
from glasscli.inspect.dump import Token
from glasscli.tokenizer.pieces import label_of

Span = tuple[str, str]  # text, Rich style
Line = list[Span]

HEAD = "bold"
DIM = "dim"
ACCENT = "cyan"
BAD = "bold red"
# One tint for each key/value head, so that query heads that share one are seen together. All differ in
# lightness too, for eyes that don't tell hues apart.
KV_TINTS = ("#3f97cf", "#c98a1f", "#a578cf", "#5f9e5f")

CUT = "~"  # what stands for "…" without Unicode, as wide as that
# Without Unicode: what our own texts use, in ASCII. Tokens have an ASCII form of their own.
_ASCII = {
    "·": ".", "−": "-", "–": "-", "—": "-", "─": "-", "→": "->", "←": "<-", "×": "x", "√": "sqrt", "ᵀ": "^T",
    "Σ": "sum ", "Δ": "diff", "≤": "<=", "≥": ">=", "²": "^2", "∞": "inf", "…": CUT, "½": "1/2", "∂": "d",
    "█": "#", "▓": "=", "▒": "-", "░": ":", "λ": "eigenvalue ", "✓": "ok", "✗": "NO", "‖": "|", "’": "'",
}  # fmt: skip


@dataclass(frozen=True)
class Page:
    """Where a screen goes: how wide it is, and what it can show."""

    width: int
    unicode: bool
    color: Color
    terminal: bool

    @classmethod
    def of_stdout(cls, color: Color = Color.auto) -> "Page":
        """The page that stdout is."""
        return cls(width(), unicode_ok(), color, is_terminal())

    def safe(self, text: str) -> str:
        """`text` in characters that this page can show, none of which steers a terminal."""
        text = printable(text)
        return text if self.unicode else in_ascii(text, _ASCII)

    def token(self, token: Token) -> str:
        """A token's label."""
        return label_of(token.raw, ascii_only=not self.unicode)

    def text(self, text: str) -> str:
        """A whole text on one line, labelled as tokens are, but with spaces as spaces."""
        words = text.encode("utf-8", "surrogatepass").split(b" ")
        return " ".join(label_of(word, ascii_only=not self.unicode) for word in words)

    def show(self, lines: Iterable[Line]) -> None:
        """Print the lines, in colour if that is wanted."""
        if not self.unicode:
            lines = [[(text.replace("…", CUT), style) for text, style in line] for line in lines]
        if not use_color(self.color):
            for line in lines:
                write("".join(text for text, _ in line).rstrip())
            return
        from rich.text import Text

        console = rich_console(self.color)
        for line in lines:
            text = Text.assemble(*line, end="")
            text.rstrip()
            console.print(text, no_wrap=True, crop=False, overflow="ignore", end="\n")


def line_width(line: Line) -> int:
    """Cells that a line takes."""
    return sum(cell_len(text) for text, _ in line)


def add(line: Line, text: str, style: str) -> None:
    """Put `text` at the end of a line, in one piece with what has the same style."""
    if line and line[-1][1] == style:
        line[-1] = (line[-1][0] + text, style)
    else:
        line.append((text, style))


def fits(page: Page, lines: Iterable[Line]) -> bool:
    """Whether no line is wider than the page."""
    return max((line_width(line) for line in lines), default=0) <= page.width


def table(rows: Sequence[Sequence[Span]], right: Sequence[bool], gap: int = 2, indent: int = 1) -> list[Line]:
    """Rows of cells as lines, columns as wide as their widest cell; `right` tells how each is aligned."""
    widths = [max(cell_len(row[i][0]) for row in rows if i < len(row)) for i in range(len(right))]
    lines: list[Line] = []
    for row in rows:
        line: Line = [(" " * indent, "")]
        for i, (text, style) in enumerate(row):
            line.append((pad(text, widths[i], right[i]), style))
            line.append((" " * gap, ""))
        lines.append(line[:-1])
    return lines


def wrap(text: str, cells: int, indent: str = "", style: str = "", first: str | None = None) -> list[Line]:
    """`text` in lines of at most `cells` cells, broken at spaces where that is possible."""
    lines, current = [], first if first is not None else indent
    fresh = True
    for word in text.split(" "):
        while True:
            joined = current + ("" if fresh else " ") + word
            if cell_len(joined) <= cells:
                current, fresh = joined, False
                break
            if not fresh:
                lines.append(current)
                current, fresh = indent, True
                continue
            head = word
            while len(head) > 1 and cell_len(current + head) > cells:
                head = head[:-1]
            lines.append(current + head)
            current, word = indent, word[len(head) :]
            if not word:
                break
    if not fresh:
        lines.append(current)
    return [[(line, style)] for line in lines]


def flow(
    page: Page, parts: Sequence[str], indent: str = "", style: str = "", between: str = " · ", first: str = ""
) -> list[Line]:
    """`parts` with something between them, broken between parts only; no line begins or ends with it."""
    texts: list[str] = []
    current, fresh = first, True
    for part in parts:
        joined = current + page.safe(part if fresh else between + part)
        if not fresh and cell_len(joined) > page.width:
            texts.append(current)
            joined = indent + page.safe(part)
        current, fresh = joined, False
    return [line for text in [*texts, current] for line in wrap(text, page.width, indent + "  ", style, first="")]


def share(value: float | None) -> str:
    """A share of one with two digits and no zero in front: `.21`, `1.00`; `–` for none."""
    if value is None:
        return "–"
    text = f"{value:.2f}"
    return text[1:] if text.startswith("0") else text


def number(value: float) -> str:
    """A number with about three digits."""
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.2f}"
    return f"{value:.1e}" if abs(value) < 0.01 or abs(value) >= 1e5 else f"{value:.0f}"


def tint(kv_head: int) -> str:
    """The colour of a key/value head."""
    return KV_TINTS[kv_head % len(KV_TINTS)]
