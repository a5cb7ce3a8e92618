"""`-o FILE`: what a pipe would get, into a file that is there when it is whole, and then only."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from glasscli.cli.console import note
from glasscli.cli.interrupts import tidy_end
from glasscli.errors import UsageError
from glasscli.export.target import replacing
from glasscli.units import format_bytes


@contextlib.contextmanager
def into_file(path: Path | None) -> Iterator[None]:
    """Let the block's stdout go to `path`, if one is given. Nothing is there unless the block ends well.

    Raises:
        OutputError: the file could not be written.
    """
    if path is None:
        yield
        return
    with (
        tidy_end(),
        replacing(path) as temporary,
        temporary.open("x", encoding="utf-8", newline="") as file,
        contextlib.redirect_stdout(file),
    ):
        yield


def spare_files(output: Path | None, files: list[Path], what: str) -> None:
    """Refuse to replace a file that is being read.

    Args:
        what: what the files are: `a part of the model`.
    """
    if output is not None and output.exists() and any(file.exists() and output.samefile(file) for file in files):
        raise UsageError(f"-o {output}: this file is {what}. Name another.")


def tell(path: Path, what: str) -> None:
    """Say on stderr that a file was written, how large it is, and what it holds."""
    note(f"wrote {path}: {format_bytes(path.stat().st_size)}, {what}")
