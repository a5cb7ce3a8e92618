"""What a page of help is made of, whatever it will be shown on: a terminal, a pipe, a man page."""

from collections.abc import Iterable


class _Said:
    __match_args__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Usage(_Said):
    """How a command is called."""


class Heading(_Said):
    """What the parts behind it are about."""


class Prose(_Said):
    """A paragraph."""


class Row:
    """A name, what stands for its value, and what is said of it."""

    def __init__(self, name: str, value: str, text: str) -> None:
        self.name, self.value, self.text = name, value, text


class Table:
    """Rows, one below the other."""

    __match_args__ = ("rows",)

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)


class Sample:
    """Command lines, there to be copied."""

    __match_args__ = ("lines",)

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)


Part = Usage | Heading | Prose | Table | Sample


def table(rows: Iterable[tuple[str, str]]) -> Table:
    """Rows of a name and what is said of it."""
    return Table(Row(name, "", text) for name, text in rows)


def parts_of(text: str) -> list[Part]:
    """The parts of a docstring or an epilog: paragraphs, and after a line with a backspace, blocks kept as they are.

    A block's first line is its heading if it ends in a colon. The lines below are command lines if one begins with
    `glass`, else rows: a name, two spaces or more, and what is said of it, which goes on in lines that are indented.
    """
    found: list[Part] = []
    for block in "\n".join(line.rstrip() for line in text.strip().splitlines()).split("\n\n"):
        first, *rest = block.strip("\n").splitlines() or [""]
        if first.strip() != "\b":
            found.append(Prose(" ".join(block.split())))
            continue
        if rest and rest[0].endswith(":"):
            found.append(Heading(rest.pop(0)[:-1].strip()))
        if any(line.lstrip().startswith("glass ") for line in rest):
            found.append(Sample(line.strip() for line in rest))
        else:
            found.append(table(_rows(rest)))
    return found


def _rows(lines: Iterable[str]) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    deepest = 4  # a name stands further left than what goes on
    for line in lines:
        name, _, text = line.strip().partition("  ")
        if rows and len(line) - len(line.lstrip()) >= deepest:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
        else:
            rows.append((name, text.strip()))
    return rows
