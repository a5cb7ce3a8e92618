"""The course in a terminal: page by page, forth and back, and the place where the reader left."""

import os
import sys
from typing import TYPE_CHECKING

from glasscli.cli.commands.lesson.place import Place, read_place, save_place
from glasscli.cli.commands.lesson.screen import heading, part_lines
from glasscli.cli.console import is_terminal, note
from glasscli.cli.page.page import Line, Page
from glasscli.errors import UsageError
from glasscli.lesson.chapters import CHAPTERS, find_chapter
from glasscli.lesson.parts import Ask, Formula, Part, Say
from glasscli.lesson.room import Room

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

KEYS = "Enter: on   b: back   1–{n}: chapter   q: leave"
LEAST_ROWS, KEPT_FREE = 12, 4  # rows of a page at least; rows for the heading's gap and the keys


def is_a_dialogue() -> bool:
    """Whether a person is at both ends."""
    return is_terminal() and sys.stdin is not None and is_terminal(sys.stdin)


def read(page: Page, loaded: "LoadedModel", first: int | None, text: str | None, model: str | None) -> int:
    """Show the course from chapter `first`, or from where the reader left; the exit code."""
    place = read_place() if first is None else None
    at, part = (first or 0), 0
    if place is not None and place.chapter in [chapter.name for chapter in CHAPTERS]:
        at, part = find_chapter(place.chapter), place.part if text is None else 0
        text = place.text if text is None else text
    while at < len(CHAPTERS):
        step = _chapter(page, loaded, at, part, text, model)
        if step is None:
            return 0
        at, part = step
    page.show(page.say("That was the course. glass lesson begins it again."))
    save_place(Place(CHAPTERS[0].name))
    return 0


def _chapter(
    page: Page, loaded: "LoadedModel", at: int, part: int, text: str | None, model: str | None
) -> tuple[int, int] | None:
    """Show one chapter from the page that holds `part`; where to go next, or None to leave."""
    chapter = CHAPTERS[at]
    room = Room(loaded, chapter.text if text is None else text)
    note(f"computing chapter {at + 1} …")
    parts = list(chapter.tell(room))
    top = heading(page, chapter, room)
    pages = _paged(page, parts, room, _rows() - len(top), model)
    number = max(i for i, (begin, _) in enumerate(pages) if begin <= part or i == 0) if part >= 0 else len(pages) - 1
    while number < len(pages):
        begin, lines = pages[number]
        save_place(Place(chapter.name, begin, text))
        page.show([*top, *lines, []])
        answer = _asked(page, f"page {number + 1} of {len(pages)}")
        if answer is None:
            return None
        if answer == "b":
            if number == 0:
                return max(0, at - 1), -1 if at else 0
            number -= 1
        elif answer == "":
            number += 1
        else:
            return find_chapter(answer), 0
    return at + 1, 0


def _paged(
    page: Page, parts: list[Part], room: Room, rows: int, model: str | None = None
) -> list[tuple[int, list[Line]]]:
    """Parts on pages of at most `rows` lines where they fit: (number of the first part, lines). A question ends one."""
    pages: list[tuple[int, list[Line]]] = [(0, [])]
    asked, block, begin = False, list[Line](), 0
    for i, part in enumerate(parts):
        begin = i if not block else begin
        block += [[], *part_lines(page, part, room, model)]
        if isinstance(part, Say | Formula) and i + 1 < len(parts):  # what leads to something stays with it
            continue
        if asked or (pages[-1][1] and len(pages[-1][1]) + len(block) > rows):
            pages.append((begin, []))
        pages[-1][1].extend(block)
        asked, block = isinstance(part, Ask), []
    return pages


def _rows() -> int:
    try:
        found = os.get_terminal_size(sys.stdout.fileno()).lines
    except (OSError, ValueError):
        found = 24
    return max(LEAST_ROWS, found - KEPT_FREE)


def _asked(page: Page, where: str) -> str | None:
    """A key of `KEYS` or a chapter as the reader typed it, or None to leave.

    What is neither is said under the page, which stays: shown again, the page would push the message off the screen.
    """
    keys = KEYS.format(n=len(CHAPTERS))
    while True:
        page.show(page.flow("", [f"── {where} ──", *keys.split("   ")], "dim", 3))
        line = sys.stdin.readline()
        answer = line.strip().lower()
        if not line or answer in ("q", "quit", "exit"):
            return None
        if answer in ("", "b"):
            return answer
        try:
            find_chapter(answer)
        except UsageError as error:
            note(str(error))
        else:
            return answer
