"""A chapter as lines of a page."""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from glasscli.cli.page.page import Line, Page
from glasscli.cli.page.style import ACCENT, BAD, DIM, HEAD
from glasscli.lesson.chapters import CHAPTERS
from glasscli.lesson.parts import Ask, Chapter, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel


def told(
    page: Page,
    loaded: "LoadedModel",
    chapter: Chapter,
    text: str | None,
    quiet: bool = False,
    model: str | None = None,
) -> Iterator[list[Line]]:
    """A whole chapter, block by block as it is computed; `model`: as the reader named it."""
    room = Room(loaded, chapter.text if text is None else text)
    yield heading(page, chapter, room)
    for part in chapter.tell(room):
        if not (quiet and isinstance(part, Try)):
            yield [[], *part_lines(page, part, room, model)]


def heading(page: Page, chapter: Chapter, room: Room) -> list[Line]:
    """The chapter's number and title, and what it is told on."""
    number = CHAPTERS.index(chapter) + 1
    lines = page.say(f"{number} of {len(CHAPTERS)} · {chapter.title}", HEAD)
    lines += page.flow("text  ", [room.text], gap=1)
    if room.n_left_out:
        lines += page.say(f"its first {len(room.ids)} tokens; {room.n_left_out:,} more are left out here", DIM)
    return lines


def part_lines(page: Page, part: Part, room: Room, model: str | None = None) -> list[Line]:
    """One part. Commands to try name the reader's `model`."""
    match part:
        case Say(text):
            return page.say(text)
        case Formula(text):
            return [line for row in text.split("\n") for line in page.wrap(row, "  ", ACCENT)]
        case Table():
            return _table(page, part)
        case Claim(text, holds):
            mark, style = ("✓ ", "green") if holds else ("✗ does not hold here: ", BAD)
            first, *rest = page.wrap(text, "  ", first=mark)
            safe = page.safe(mark)
            return [[(safe, style), (first[0][0][len(safe) :], "")], *rest]
        case Ask(question):
            return page.wrap(question, "   ", HEAD, first="?  ")
        case Try(commands):
            typed = [_command(command, room.text, model) for command in commands]
            labels = ["try  ", *["     "] * (len(typed) - 1)]
            flows = (page.flow(label, [words], DIM, indent=7) for label, words in zip(labels, typed, strict=True))
            return [line for lines in flows for line in lines]


def _command(command: str, text: str, model: str | None) -> str:
    """A command as the reader types it. The budget is of no model's text, but of sizes."""
    of_model = f" -m {shlex.quote(model)}" if model is not None and "kv-budget" not in command else ""
    return command.replace("TEXT", _typed(text)) + of_model


def _typed(text: str) -> str:
    """A text as it is typed in a shell."""
    if not text.isprintable():
        return "TEXT"
    return shlex.quote(text) if set(text) & set('"$`\\!') else f'"{text}"'


def _table(page: Page, table: Table) -> list[Line]:
    if lines := page.table(table.headers, table.rows, left=table.left):
        return lines
    lines = []
    for row in table.rows:  # each cell behind its header
        cells = [f"{head} {cell}".strip() for head, cell in zip(table.headers[1:], row[1:], strict=True) if cell]
        lines += page.flow(f"{row[0]}  ", cells, indent=2)
    return lines
