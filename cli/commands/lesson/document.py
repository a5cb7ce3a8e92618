"""`glass lesson --json`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from glasscli.lesson.chapters import CHAPTERS
from glasscli.lesson.parts import Ask, Chapter, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel


def document(loaded: "LoadedModel", chapters: Sequence[Chapter], text: str | None) -> dict[str, Any]:
    """Chapters as data: each part is an object with one key that says what it is; of a claim also whether it holds."""
    return {"schema": "glass.lesson/1", "chapters": [_chapter(loaded, chapter, text) for chapter in chapters]}


def _chapter(loaded: "LoadedModel", chapter: Chapter, text: str | None) -> dict[str, Any]:
    room = Room(loaded, chapter.text if text is None else text)
    return {
        "number": CHAPTERS.index(chapter) + 1,
        "name": chapter.name,
        "title": chapter.title,
        "text": room.text,
        "token_ids": room.ids,
        "parts": [_part(part) for part in chapter.tell(room)],
    }


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Say(text):
            return {"say": text}
        case Formula(text):
            return {"formula": text}
        case Table(headers, rows):
            return {"table": {"headers": list(headers), "rows": [list(row) for row in rows]}}
        case Claim(text, holds):
            return {"claim": text, "holds": holds}
        case Ask(question):
            return {"ask": question}
        case Try(commands):
            return {"try": list(commands)}
