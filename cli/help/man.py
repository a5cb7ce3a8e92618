"""The manual page glass.1, from the same parts as the help of commands and topics.

Source: groff's man(7). Only what mandoc knows too is used, and only ASCII: other characters are escapes.
"""

from collections.abc import Iterable, Iterator

from glasscli import __version__
from glasscli.cli.commands import COMMANDS, summary
from glasscli.cli.help.command import command_parts
from glasscli.cli.help.overview import EXAMPLES, MORE
from glasscli.cli.help.parts import Heading, Part, Prose, Row, Sample, Table, Usage, table
from glasscli.cli.help.topics import TOPICS, topic_parts, topic_summary

DATE = "2026-11-30"
NAME = "run a small Llama-style model, look inside, size any model's KV cache"


def man_page() -> str:
    """The whole page, in roff."""
    lines = [f'.TH GLASS 1 "{DATE}" "glass {__version__}" "User Commands"']
    lines += [".SH NAME", plain(f"glass - {NAME}"), ".SH SYNOPSIS", ".B glass", plain("COMMAND [OPTIONS]")]
    lines += section("COMMANDS", [table((f"glass {name}", summary(name)) for name in COMMANDS)])
    lines += section("HELP AND SHELLS", [table(MORE)])
    lines += section("EXAMPLES", [Sample(EXAMPLES)])
    for name in COMMANDS:
        lines += section(f"GLASS {name.upper()}", command_parts(name))
    for name in TOPICS:
        lines += section(name.upper(), [Prose(f"{topic_summary(name)}."), *topic_parts(name)])
    return "\n".join(lines) + "\n"


def section(title: str, parts: Iterable[Part]) -> Iterator[str]:
    """A section of the page."""
    yield f'.SH "{plain(title)}"'
    fresh = True
    for part in parts:
        yield from _lines(part, fresh)
        fresh = isinstance(part, Heading)


def _lines(part: Part, fresh: bool) -> Iterator[str]:
    """A part; `fresh` behind a heading, where a paragraph begins by itself."""
    match part:
        case Heading(text):
            yield f'.SS "{plain(text)}"'
        case Usage(text):
            yield from [] if fresh else [".PP"]
            yield f"Usage: \\fB{plain(text)}\\fR"
        case Prose(text):
            yield from [] if fresh else [".PP"]
            yield plain(text)
        case Table(rows):
            for row in rows:
                yield from _row(row)
        case Sample(commands):
            yield from [] if fresh else [".PP"]
            yield ".nf"
            yield from (f".RS 4\n{plain(command)}\n.RE" for command in commands)
            yield ".fi"


def _row(row: Row) -> Iterator[str]:
    yield ".TP"
    yield f"\\fB{plain(row.name)}\\fR" + (f" \\fI{plain(row.value)}\\fR" if row.value else "")
    yield plain(row.text) if row.text else "\\&"


def plain(text: str) -> str:
    """Text in which nothing is a request or an escape of roff."""
    text = (
        text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq").replace("'", "\\(aq").replace("`", "\\(ga")
    )
    text = text.replace("^", "\\(ha").replace("~", "\\(ti")
    escaped = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in text)
    return f"\\&{escaped}" if escaped.startswith(".") else escaped
