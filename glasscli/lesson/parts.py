"""What a chapter is made of. Parts are data: the screen, plain text and JSON are made of them elsewhere."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glasscli.lesson.room import Room


@dataclass(frozen=True)
class Say:
    """A paragraph. Its numbers were computed when it was made."""

    text: str


@dataclass(frozen=True)
class Formula:
    """Lines that stand as they are, indented."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows under headers. Columns in `left` are flush left, the others flush right."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Claim:
    """What mathematics says must be true, and whether it was, tried on this model and text."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Ask:
    """The question at the end of a chapter. The parts behind it are its answer, computed."""

    question: str


@dataclass(frozen=True)
class Try:
    """Commands that show more of the same; `TEXT` in them stands for the reader's text."""

    commands: tuple[str, ...]


Part = Say | Formula | Table | Claim | Ask | Try


@dataclass(frozen=True)
class Chapter:
    """One chapter: what it is called, and what tells it.

    Attributes:
        name: a word to ask for it by.
        text: what it is about where the reader brings no text.
    """

    name: str
    title: str
    tell: "Callable[[Room], Iterator[Part]]"
    text: str
