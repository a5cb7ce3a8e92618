"""The chapters, in the order of the course."""

from glasscli.errors import UsageError
from glasscli.lesson.chapters import (
    cache,
    cause,
    flash,
    heads,
    induction,
    loss,
    mask,
    rope,
    scale,
    score,
    sharing,
    softmax,
    stream,
    vectors,
)
from glasscli.lesson.parts import Chapter
from glasscli.likeness import did_you_mean

SHORT = "The cat saw the dog. The cat"
IT = "The animal didn't cross the street because it was too tired"
LILY = "Once upon a time, there was a little girl named Lily. One day,"

CHAPTERS = (
    Chapter("vectors", "A word becomes three vectors", vectors.tell, SHORT),
    Chapter("score", "A score is a dot product", score.tell, SHORT),
    Chapter("scale", "Why the scores are divided by √d", scale.tell, SHORT),
    Chapter("mask", "No word sees a later one", mask.tell, SHORT),
    Chapter("softmax", "Scores become shares", softmax.tell, SHORT),
    Chapter("loss", "What is learned from: p − y", loss.tell, SHORT),
    Chapter("heads", "Why there are many heads", heads.tell, IT),
    Chapter("stream", "The only place where words mix", stream.tell, SHORT),
    Chapter("sharing", "MHA, GQA, MQA: who shares keys", sharing.tell, LILY),
    Chapter("cache", "What is kept, and what it costs", cache.tell, SHORT),
    Chapter("rope", "Turned before it is kept", rope.tell, SHORT),
    Chapter("flash", "The whole matrix is never needed", flash.tell, SHORT),
    Chapter("cause", "A large weight is no proof", cause.tell, LILY),
    Chapter("induction", "Two heads that copy", induction.tell, LILY),
)


def find_chapter(name: str) -> int:
    """The place in `CHAPTERS` of a chapter by its number, from 1, or its name.

    Raises:
        UsageError: there is none.
    """
    names = [chapter.name for chapter in CHAPTERS]
    if name in names:
        return names.index(name)
    if name.isascii() and name.isdecimal() and 1 <= int(name[:4]) <= len(CHAPTERS):
        return int(name) - 1
    hint = did_you_mean(name, names) or f"There are 1 to {len(CHAPTERS)}: {', '.join(names)}."
    raise UsageError(f"there is no chapter {name[:40]!r}. {hint}")
