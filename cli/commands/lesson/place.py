"""Where a reader left the course: a small file in the user's own state folder. Losing it costs a bookmark."""

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LARGEST = 65_536  # bytes; what is longer is no bookmark


@dataclass(frozen=True)
class Place:
    """A chapter by name, the number of the part that its page began with, and the text the reader brought."""

    chapter: str
    part: int = 0
    text: str | None = None


def state_file() -> Path:
    """The file. Source: the XDG base directory specification, version 0.8."""
    given = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(given) if given and Path(given).is_absolute() else Path.home() / ".local" / "state"
    return folder / "glass" / "lesson.json"


def read_place() -> Place | None:
    """Where the reader left, or None: never there, or the file can't be read."""
    try:
        with state_file().open("rb") as file:
            found: Any = json.loads(file.read(LARGEST))
        place = Place(found["chapter"], found["part"], found["text"])
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return None
    known = isinstance(place.chapter, str) and isinstance(place.text, str | None)
    return place if known and type(place.part) is int and place.part >= 0 else None


def save_place(place: Place) -> None:
    """Remember it. A folder that can't be written to changes nothing."""
    with contextlib.suppress(OSError, RuntimeError, UnicodeError):
        path = state_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        try:
            part.write_text(json.dumps(asdict(place)))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
