"""Where a prompt comes from: the command line, a pipe, a file. Never touches stdin unless it has to."""

import os
import sys
from pathlib import Path

from glasscli.cli.console import is_terminal, printable
from glasscli.errors import UsageError

STDIN = "-"
LONGEST = 64 * 1024**2  # bytes of a text; past this it is something else, such as /dev/zero


def prompt_text(prompt: str | None) -> str:
    """The prompt given, or what a pipe says when none is given or it is `-`.

    One newline at the end of a pipe is left out, so that `echo hi | glass …` reads like `glass … hi`.

    Raises:
        UsageError: there is none, or it is not UTF-8.
    """
    if prompt is None and (sys.stdin is None or is_terminal(sys.stdin)):
        raise UsageError('no prompt. Give one: glass generate "Once upon a time", or pipe one in.')
    if prompt is None or prompt == STDIN:
        text = decode(read_stdin(), "stdin")
        return text.removesuffix("\n").removesuffix("\r")
    return _repaired(prompt)


def given_text(text: str | None, file: str | None, demo: str | None = None) -> str:
    """What a command reads: what a file holds, the text given, `demo`, or what a pipe says.

    One newline at the end of a file is left out, as at that of a pipe.

    Raises:
        UsageError: as `check_sources`; there is none; it can't be read.
    """
    check_sources(text, file)
    if file is not None:
        return file_text(file).replace("\r\n", "\n").removesuffix("\n")
    return demo if text is None and demo is not None else prompt_text(text)


def check_sources(text: str | None, file: str | None) -> None:
    """Refuse a text beside a file."""
    if text is not None and file is not None:
        raise UsageError("a text and --file are two sources: choose one")


def is_typed(text: str | None) -> bool:
    """Whether a text stood on the command line."""
    return text not in (None, STDIN)


def prompt_lines(path: str) -> list[str]:
    """The lines of a file (`-`: of stdin), one prompt each.

    Raises:
        UsageError: the file can't be read, has no lines, or is not UTF-8.
    """
    text = file_text(path)
    if not text:
        raise UsageError(f"{'stdin' if path == STDIN else path}: is empty; expected one prompt a line")
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def file_text(path: str | Path) -> str:
    """All of a file (`-`: of stdin), as it is but for a byte-order mark.

    Raises:
        UsageError: it can't be read, is not UTF-8, or is too long.
    """
    path = str(path)
    return decode(_read(path), "stdin" if path == STDIN else path)


def _read(path: str) -> bytes:
    try:
        if path == STDIN:
            data = read_stdin()
        else:
            with Path(path).open("rb") as file:
                data = file.read(LONGEST + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: can't be read ({getattr(error, 'strerror', None) or error})") from None
    check_length(data, path)
    return data


def read_stdin() -> bytes:
    """All bytes of stdin, which must not be longer than `LONGEST`."""
    if sys.stdin is None:
        raise UsageError("stdin is closed: there is no prompt to read")
    try:
        data = sys.stdin.buffer.read(LONGEST + 1)
    except OSError as error:
        raise UsageError(f"stdin can't be read ({error.strerror or error})") from None
    check_length(data, "stdin")
    return data


def check_length(data: bytes, source: str) -> None:
    """Refuse what is longer than any prompt."""
    if len(data) > LONGEST:
        raise UsageError(f"{source}: longer than {LONGEST // 1024**2} MiB, the most that is read")


def decode(data: bytes, source: str) -> str:
    """`data` as text, without a byte-order mark in front; an error names the byte and where it stands."""
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        bad = data[error.start]
        raise UsageError(
            f"{printable(source)} is not UTF-8: byte 0x{bad:02x} at offset {error.start:,}. Convert it: iconv -t UTF-8"
        ) from None


def _repaired(prompt: str) -> str:
    """An argument as the UTF-8 it was, also where the locale made Python take it for ASCII."""
    if prompt.isascii() or not any("\ud800" <= c <= "\udfff" for c in prompt):
        return prompt
    try:
        data = os.fsencode(prompt)
    except UnicodeEncodeError as error:  # half of a surrogate pair, which no file system encoding made
        raise UsageError(f"the prompt is not valid Unicode at character {error.start + 1}") from None
    return decode(data, "the prompt")
