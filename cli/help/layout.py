"""Parts of help as lines for a terminal or a pipe, of any width. Imports little: `glass --help` must come at once."""

from collections.abc import Iterable, Sequence

from glasscli.cli import console
from glasscli.cli.console import Color
from glasscli.cli.help.parts import Heading, Part, Prose, Row, Sample, Table, Usage
from glasscli.cli.page.ascii import in_ascii
from glasscli.cli.page.cells import cells
from glasscli.cli.page.style import DIM, paint
from glasscli.cli.page.wrap import wrap

WIDEST = 120  # of lines that are still read with ease
LONGEST_NAME = 30  # in the column of names; what is longer has a line of its own
LEAST_ROOM = 24  # for what is said beside a name; where there is less, it goes below
SHORT = 12  # a value in quotes; what is longer is a text, perhaps behind an option that takes none
HEAD, NAME, VALUE = "bold green", "bold cyan", "cyan"
ASIDES = ("[default:", "[env:")

Span = tuple[str, str]
Line = list[Span]


def show(parts: Iterable[Part], color: Color = Color.auto) -> None:
    """Write `parts` to stdout, as wide and as colourful as that is."""
    console.write(text_of(parts, color))


def text_of(parts: Iterable[Part], color: Color = Color.auto) -> str:
    """`parts` as stdout shows them."""
    colored, truecolor = console.use_color(color), console.has_truecolor()
    lines = lines_of(parts, console.width(), console.unicode_ok())
    return "\n".join(
        "".join(paint(text, style, truecolor) if colored and text else text for text, style in line) for line in lines
    )


def lines_of(parts: Iterable[Part], width: int, unicode: bool = True) -> list[Line]:
    """`parts` as lines of at most `width` columns: an empty line before each heading and between paragraphs.

    All options of a page are in one column, what is said of them in another; other tables have columns of their own.
    """
    parts, width = list(parts), min(width, WIDEST)
    options = _column(row for part in parts if isinstance(part, Table) for row in part.rows if _is_option(row))
    lines: list[Line] = []
    for i, part in enumerate(parts):
        if i and not isinstance(parts[i - 1], Heading):
            lines.append([])
        column = 0
        if isinstance(part, Table):
            column = options if _is_option(part.rows[0]) else _column(part.rows)
        lines += _lines(part, width, column, unicode, indent="  " if _below_heading(parts[:i]) else "")
    return lines


def _is_option(row: Row) -> bool:
    return row.name.startswith("-")


def _column(rows: Iterable[Row]) -> int:
    """How wide a column of names is: as the longest that is not too long for one."""
    return max((n for row in rows if (n := cells(_title(row))) <= LONGEST_NAME), default=LONGEST_NAME)


def _below_heading(parts: Sequence[Part]) -> bool:
    return any(isinstance(part, Heading) for part in parts)


def _lines(part: Part, width: int, column: int, unicode: bool, indent: str) -> list[Line]:
    def plain(text: str) -> str:
        return text if unicode or text.isascii() else in_ascii(text, "-")

    match part:
        case Usage(text):
            first, *more = wrap(plain(f"Usage: {text}"), width, hang="  ")
            return [[("Usage:", HEAD), (first[6:], "")], *([(line, "")] for line in more)]
        case Heading(text):
            return [[(line, HEAD)] for line in wrap(plain(f"{text}:"), width)]
        case Prose(text):
            return _asides(wrap(plain(text), width, indent, indent))
        case Table(rows):
            safe = (Row(plain(row.name), plain(row.value), plain(row.text)) for row in rows)
            return [line for row in safe for line in _row(row, width, column)]
        case Sample(commands):
            return [[(line, "")] for command in commands for line in command_lines(plain(command), width)]


def _title(row: Row) -> str:
    return f"{row.name} {row.value}".rstrip()


def _row(row: Row, width: int, column: int) -> list[Line]:
    """A row: what is said beside its name, or below it where there is no room."""
    start, title = 2 + column + 2, _title(row)
    beside = width - start >= max(LEAST_ROOM, width // 2)
    hang = " " * (start if beside else 6)
    if beside and row.text and cells(title) <= column:
        first, *more = wrap(row.text, width, hang, hang)
        head: Line = [("  ", ""), (row.name, NAME), (f" {row.value}" if row.value else "", VALUE)]
        said = _asides([first[2 + cells(title) :], *more])
        return [[*head, *said[0]], *said[1:]]
    names = wrap(title, width, "  ", "    ")
    cut = len(names[0]) if len(names) > 1 else 2 + len(row.name)
    lines: list[Line] = [[(names[0][:cut], NAME), (names[0][cut:], VALUE)], *([(line, NAME)] for line in names[1:])]
    return [*lines, *(_asides(wrap(row.text, width, hang, hang)) if row.text else [])]


def _asides(lines: Iterable[str]) -> list[Line]:
    """Lines in which defaults and variables, in brackets and perhaps over several lines, are dimmed."""
    made: list[Line] = []
    inside = False
    for line in lines:
        spans: Line = []
        while line:
            ends = [line.find("]") + 1] if inside else [line.find(aside) for aside in ASIDES]
            at = min((end for end in ends if end >= inside), default=len(line))
            spans.append((line[:at], DIM if inside else ""))
            inside = line[at - 1] != "]" if inside else at < len(line)
            line = line[at:]
        made.append(spans)
    return made


def command_lines(command: str, width: int) -> list[str]:
    """A command line in lines that can be copied together, each but the last with a backslash at its end.

    They are broken between words, not between an option and its value; a double-quoted word wider than a line also at
    its own spaces, and goes on in the first column: what stands before it would be part of the word.
    """
    if 2 + cells(command) <= width:
        return [f"  {command}"]
    import shlex

    words = shlex.shlex(command, posix=False, punctuation_chars="|")
    words.whitespace_split, words.commenters = True, ""
    lines, line = [], " "
    for word in _with_values(words):
        if line.strip() and cells(line) + 1 + cells(word) + 2 > width:
            lines.append(f"{line} \\")
            line = "   "
        line += f" {word}"
        while word.startswith('"') and cells(line) + 2 > width and (at := line.rfind(" ", 5, width - 1)) > 0:
            lines.append(f"{line[: at + 1]}\\")
            line = line[at + 1 :]
    return [*lines, line]


def _with_values(words: Iterable[str]) -> list[str]:
    """Words of a command line, each option in one with what follows it, and so a pipe sign and `glass`."""
    made: list[str] = []
    for word in words:
        before = made[-1] if made else ""
        value = before.startswith("-") and " " not in before and not word.startswith(("-", "|"))
        value = value and (len(word) <= SHORT or not word.startswith('"'))
        if value or before in ("|", "glass", "| glass"):
            made[-1] += f" {word}"
        else:
            made.append(word)
    return made
