"""stdout for the answer, stderr for everything else; colour, width, escapes.

Decoration follows the stream (`isatty`), the environment (`NO_COLOR`, `TERM`) and `--color`, as `bat` does.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum

from glasscli import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TextIO

PIPE_WIDTH = 100
NARROWEST, WIDEST = 20, 2000  # a plot of a billion columns would fill the memory


class Color(StrEnum):
    """When to colour: `auto` colours a terminal that wants it."""

    auto = "auto"
    always = "always"
    never = "never"


def is_terminal(stream: "TextIO | None" = None) -> bool:
    """Whether `stream` (default: stdout) is a terminal. A closed stream is none."""
    stream = sys.stdout if stream is None else stream
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def use_color(color: Color = Color.auto, stream: "TextIO | None" = None) -> bool:
    """Whether to colour `stream`. `--color` beats the environment; an empty `NO_COLOR` counts as unset.

    `CLICOLOR_FORCE` (other than 0) and `FORCE_COLOR` colour a pipe, and change no width; `CLICOLOR=0` colours nothing.
    Source: bixense.com/clicolors, no-color.org, force-color.org.
    """
    if color is not Color.auto:
        return color is Color.always
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return os.environ.get("CLICOLOR") != "0" and is_terminal(stream)


def color_in(args: Sequence[str]) -> Color:
    """What `--color` says among `args` that nobody has read yet; `auto` where it says nothing that can be meant."""
    found = Color.auto
    words = [word for arg in args for word in arg.split("=", 1)]
    for i, word in enumerate(words[1:]):
        if words[i] == "--color" and word in set(Color):
            found = Color(word)
    return found


def has_truecolor() -> bool:
    """Whether terminals here show 24-bit colours, not just 256."""
    return "truecolor" in os.environ.get("COLORTERM", "")


def width(stream: "TextIO | None" = None, unknown: int = PIPE_WIDTH) -> int:
    """Columns to fill: `COLUMNS`, else the terminal's, else `unknown`. From 20 to 2,000.

    Args:
        stream: stdout by default.
        unknown: for a pipe, and for a terminal that says 0: it doesn't know.
    """
    stream = sys.stdout if stream is None else stream
    columns = os.environ.get("COLUMNS", "")
    found = int(columns[:10]) if columns.isdecimal() else 0
    if not found and is_terminal(stream):
        try:
            found = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            found = 0
    return max(NARROWEST, min(found or unknown, WIDEST))


def unicode_ok(stream: "TextIO | None" = None) -> bool:
    """Whether `stream` (default: stdout) can carry block characters; if not, views use ASCII."""
    stream = sys.stdout if stream is None else stream
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "")
    return encoding.startswith("utf")


def printable(text: str, keep: str = "") -> str:
    """`text` with every control character made visible, so that no data can steer a terminal.

    Escapes C0, C1, DEL, line and paragraph separators, bidirectional overrides and lone surrogates as
    `\\xNN` or `\\uNNNN`; characters in `keep` stay.
    """
    if text.isprintable():  # none of them is
        return text
    return "".join(c if c in keep or not _steers(c) else _escape(c) for c in text)


def _steers(c: str) -> bool:
    code = ord(c)
    return (
        code < 0x20
        or 0x7F <= code < 0xA0
        or code in (0x200E, 0x200F, 0x2028, 0x2029, 0x061C, 0xFEFF)
        or 0x202A <= code <= 0x202E
        or 0x2066 <= code <= 0x2069
        or 0xD800 <= code <= 0xDFFF
    )


def _escape(c: str) -> str:
    return f"\\x{ord(c):02x}" if ord(c) < 0x100 else f"\\u{ord(c):04x}"


def write(text: str) -> None:
    """Write `text` and a newline to stdout, escaping what its encoding can't carry."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    write_bytes((text + "\n").encode(encoding, "backslashreplace"))


def write_text(text: str) -> None:
    """Write `text` to stdout: its very characters as UTF-8 into a pipe, harmless ones on a terminal."""
    shown = printable(text, keep="\n\t") if is_terminal() else text
    write_bytes(shown.encode("utf-8", "surrogatepass"))


def write_json(document: "Mapping[str, Any] | Sequence[Any]", indent: int | None = 2) -> None:
    """Write strict JSON to stdout: no NaN, no infinity, ASCII only, so that every reader takes it."""
    import json

    write_bytes((json.dumps(document, indent=indent, allow_nan=False) + "\n").encode("ascii"))


def write_csv(columns: Sequence[str], table: Iterable[Mapping[str, object]]) -> None:
    """Write a CSV table with a header to stdout, lines ending in a single newline.

    Texts, which may be a stranger's, become cells that steer no terminal and compute nothing.
    """
    import csv
    import io

    from glasscli.csv_cell import cell

    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow({name: cell(printable(x)) if isinstance(x, str) else x for name, x in row.items()})
    write(text.getvalue().removesuffix("\n"))


def write_bytes(data: bytes) -> None:
    """Write all of `data` to stdout. Under PYTHONUNBUFFERED=1 Python's own streams may write a part and say nothing."""
    sys.stdout.flush()
    stream = sys.stdout.buffer
    while data:
        data = data[stream.write(data) :]


def write_stderr(text: str) -> None:
    """Write `text` and a newline to stderr. A closed or full stderr changes nothing."""
    write_raw_stderr(text + "\n")


def write_raw_stderr(text: str) -> None:
    """Write `text` to stderr as it is. A closed or full stderr changes nothing."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, AttributeError, ValueError):
        pass


def note(text: str) -> None:
    """Say something beside the answer, on stderr. A closed or full stderr changes nothing."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    text = printable(text, keep="\n").encode(encoding, "backslashreplace").decode(encoding)
    write_stderr("\n".join(_said(text, width(sys.stderr) if is_terminal(sys.stderr) else None)))


def _said(text: str, columns: int | None) -> Iterator[str]:
    """Lines of a message: `glass:` before the first, the others below its first word.

    Args:
        columns: a terminal's, which are filled with whole words. Lines of a pipe stay as they are, and so does a
            command to copy: the terminal itself breaks it without a character between.
    """
    start = "glass: "
    for line in text.split("\n"):
        if columns is None or line.startswith("Try: "):
            yield start + line
        else:
            from glasscli.cli.page.wrap import SPACE, fill

            hang = " " * len(start)
            yield from fill(((" ", word) for word in SPACE.split(line)), columns, start, hang, whole=True)
        start = " " * len(start)


_details: set[str] | None = None  # what was told of a run with -v; None in one without


@contextmanager
def telling(verbose: bool) -> Iterator[None]:
    """A run of a command in which `detail` speaks, if `verbose`; at its end, how long it took."""
    global _details
    import time

    begun = time.perf_counter()
    _details = set() if verbose else None
    try:
        yield
        detail(f"{time.perf_counter() - begun:.2f} s in all")
    finally:
        _details = None


def detail(text: str) -> None:
    """Say how the answer comes about, on stderr and once a run, if -v was given."""
    if _details is not None and text not in _details:
        _details.add(text)
        note(text)
