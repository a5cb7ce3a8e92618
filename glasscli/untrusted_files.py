"""Opening the files of a model folder, which may come from a stranger.

A file is read only if it is a regular file inside the folder. Links are followed as long as they stay there, with
one exception that Hugging Face's download cache needs: in `…/snapshots/REVISION` a link may lead to `…/blobs`, and
in `CACHE/models--ORG--NAME/snapshots/REVISION` also to `CACHE/blobs`, where files that models share lie.
Nothing here knows what the files mean, and nothing imports NumPy.
"""

import os
import stat
from pathlib import Path

from glasscli.errors import CheckpointError, GlassError

JSON_LIMIT = 16 * 1024**2  # bytes; Python objects made from hostile JSON take up to 40 times its text
_HOLDS = "config.json, model.safetensors and tokenizer.json"
_SHOWN = 80  # characters of a name that a stranger chose


def model_folder(path: str | Path) -> Path:
    """`path` as a folder that exists.

    Raises:
        CheckpointError: there is none, or it is a file.
    """
    folder = Path(path)
    try:
        if folder.is_dir():
            return folder
        found = "is a file" if folder.exists() else "does not exist"
    except (OSError, ValueError) as error:  # a loop of links, a NUL in the name
        found = f"can't be opened ({error})"
    raise CheckpointError(f"{folder}: {found}; expected a folder with {_HOLDS}")


def file_inside(folder: Path, name: str, error: type[GlassError] = CheckpointError) -> Path:
    """The path of `folder`/`name`, checked to be a regular file that lies inside the folder.

    Raises:
        error: `name` is no plain file name, there is no such file, it is a pipe or device, or a link leads out.
    """
    if not is_plain_name(name):
        raise error(f"{folder}: {quoted(name)} is not a plain file name; glass reads nothing outside the folder")
    path = folder / name
    try:
        home, target = folder.resolve(strict=True), path.resolve(strict=True)
        mode = target.stat().st_mode
    except FileNotFoundError:
        kind = "folder" if not folder.exists() else "file"
        raise error(f"{path}: there is no such {kind}; a model folder holds {_HOLDS}") from None
    except (OSError, RuntimeError) as problem:  # RuntimeError: a loop of links
        reason = getattr(problem, "strerror", None) or "a loop of links"
        raise error(f"{path}: can't be opened ({reason})") from None
    if not any(target.is_relative_to(root) for root in _roots(home)):
        raise error(f"{path}: is a link to a file outside the folder, which glass does not follow. Copy the file in.")
    if not stat.S_ISREG(mode):
        raise error(f"{path}: is not a regular file")
    return path


def read_limited(path: Path, limit: int = JSON_LIMIT, error: type[GlassError] = CheckpointError) -> bytes:
    """All bytes of a file that must not be longer than `limit`.

    Raises:
        error: it is longer, or can't be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as problem:
        raise error(f"{path}: can't be read ({problem.strerror})") from None
    if len(data) > limit:
        raise error(f"{path}: is longer than {limit:,} bytes, more than glass reads of this kind of file")
    return data


def is_plain_name(name: str) -> bool:
    """Whether `name` names a file in a folder and no other place, on any system, and prints as it is."""
    if name in ("", ".", "..") or len(name) > 255 or not name.isprintable():
        return False
    return not any(c in "/\\" for c in name) and not os.path.splitdrive(name)[0]


def disguise(start: bytes, size: int) -> str | None:
    """What a file really is, told from its first bytes, when it is one of the things often found in its place.

    Args:
        start: the first 512 bytes or fewer.
        size: bytes of the whole file.
    """
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if size == 0:
        return "is empty (0 bytes): the download or copy did not happen"
    if start.startswith(b"version https://git-lfs"):
        return f"is a Git LFS pointer ({size:,} bytes), not the file itself.\nRun: git lfs pull"
    if text.startswith((b"<!doctype html", b"<html", b"<?xml", b"<head")):
        return "is a web page (HTML), not a model file: the download was answered by a page. Download it again."
    if start.startswith(b"GGUF"):
        return "is a GGUF file under another name; glass reads safetensors"
    if start.startswith((b"PK\x03\x04", b"\x80\x02", b"\x80\x04")):
        return "is a PyTorch archive under another name; glass reads safetensors"
    if start.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        return "is compressed; unpack it first"
    return None


def plain(text: str) -> str:
    """Words that may repeat what a file says, fit for a message: one line, at most 80 characters, nothing raw."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in _cut(text))


def shown(value: object) -> str:
    """A value out of a JSON file, fit for a message as `plain` makes it."""
    try:
        return plain(str(value))
    except RecursionError:
        return f"a {type(value).__name__} nested too deep to show"


def quoted(name: str) -> str:
    """A name that came from a file, as it may stand in a message: quoted, control characters escaped, cut at 80."""
    return repr(_cut(name))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def snapshot_of(path: Path) -> Path | None:
    """The folder of a revision in Hugging Face's cache that `path` is or lies in; None for any other path."""
    return next((folder for folder in (path, *path.parents) if folder.parent.name == "snapshots"), None)


def _roots(home: Path) -> tuple[Path, ...]:
    """Folders in which a file of the model folder may really lie. `home` is resolved."""
    snapshot = snapshot_of(home)
    if snapshot is None:
        return (home,)
    repo = snapshot.parent.parent
    if repo.name.startswith("models--"):
        return home, repo / "blobs", repo.parent / "blobs"
    return (home, repo / "blobs") if snapshot == home else (home,)
