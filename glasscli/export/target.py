"""Where a file goes: beside its name first, in place when it is complete."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glasscli.errors import OutputError


def check_target(path: Path) -> None:
    """Refuse a path that can't become a file.

    Raises:
        OutputError: its folder is missing or can't be written to, or it is a folder itself.
    """
    try:
        folder = Path(os.path.realpath(path)).parent
        if path.is_dir():
            raise OutputError(f"{path} is a folder; name a file")
        if path.exists() and not path.is_file():
            raise OutputError(f"{path} is a pipe or a device, which a file would take the place of; name a file")
        if not folder.is_dir():
            raise OutputError(f"{path}: there is no folder {folder}")
        probe = _beside(path)
        try:
            probe.open("xb").close()
        finally:
            probe.unlink(missing_ok=True)
    except ValueError as error:
        raise OutputError(f"{path}: {error}") from None
    except OSError as error:
        raise OutputError(f"{path}: can't be written ({error.strerror or error})") from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file name in the same folder; when the block ends well, that file takes the place of `path`.

    When it does not, the new file is removed and `path` is as it was. A link is followed, not replaced.

    Raises:
        OutputError: the file could not be written.
    """
    temporary = _beside(path)
    try:
        yield temporary
        os.replace(temporary, os.path.realpath(path))
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    """A new name in the folder where `path` leads, one that nobody can foresee and put a link at."""
    target = Path(os.path.realpath(path))
    start = os.fsencode(target.name)[:200].decode("utf-8", "ignore")  # names are limited in bytes, to 255 mostly
    return target.with_name(f".{start}.{os.urandom(4).hex()}.part")
