"""What was perhaps meant by a name that there is not: the one place that guesses, and only for a message."""

import re
from collections.abc import Iterable, Sequence

SHORTENED = re.compile(r"[a-z][b-df-hj-np-tv-z]{2,}")  # a word without its vowels, such as attn and ctx
SEPARATOR = re.compile(r"[^a-z0-9]+")


def did_you_mean(word: str, known: Iterable[str], most: int = 3) -> str:
    """`Did you mean this or that?`, or nothing where nothing is near."""
    return asked(nearest(word, known, most))


def asked(names: Sequence[str]) -> str:
    """`Did you mean this, this or that?`; nothing of no names."""
    return f"Did you mean {enumerated(names, 'or')}?" if names else ""


def enumerated(names: Sequence[str], joint: str) -> str:
    """`this, this and that`, with `joint` before the last; nothing of no names."""
    *others, last = names or ("",)
    return f"{', '.join(others)} {joint} {last}" if others else last


def nearest(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The names of `known` that `word` is like: the likest and all as like, short ones first; none if none is near.

    Like, from the most to the least: the same letters and digits (`nomask`: no-mask); a slip or two in a long word
    (`sofmax`: softmax) or a beginning (`q4`: q4_0); a part of a name, or a name and more (`penalty`:
    repetition-penalty, `num-gpus`: num); the whole word of what is short for it (`attention`: attn).
    """
    begun = word.lower()
    found = [
        (score, not name.lower().startswith(begun), len(name), name) for name in known if (score := unlike(word, name))
    ]
    best = min(found, default=(0,))[0]
    names = [entry[-1] for entry in sorted(found) if entry[0] == best]
    return list(dict.fromkeys(names))[:most]


def unlike(word: str, name: str) -> int:
    """How far a word is from a name: 1 for the same letters, then more; 0 where they have nothing to do."""
    parts, own = _parts(word), _parts(name)
    typed, meant = "".join(parts), "".join(own)
    if not typed or not meant:
        return 0
    if typed == meant:
        return 1
    slips = (len(typed) + 1) // 3 if len(typed) > 2 else 0
    away = edits(typed, meant) if abs(len(typed) - len(meant)) <= slips else slips + 1
    if len(typed) > 1 and meant.startswith(typed):
        return 2
    if away <= slips and (len(typed) > 3 or typed[0] == meant[0]):
        return 1 + away
    if (len(typed) > 1 and _within(parts, own)) or (len(meant) > 2 and _within(own, parts)):
        return 3
    return 4 if SHORTENED.fullmatch(meant) and _within_letters(meant, typed) else 0


def edits(a: str, b: str) -> int:
    """How many letters to change, add, leave out or swap with the next turn `a` into `b`; none is touched twice.

    Source: the optimal string alignment distance, after Damerau, "A technique for computer detection and correction of
    spelling errors", CACM 7(3), 1964.
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a):
        above, row = row, [i + 1]
        for j, other in enumerate(b):
            cost = min(above[j + 1] + 1, row[j] + 1, above[j] + (letter != other))
            if before and j and letter == b[j - 1] and a[i - 1] == other:
                cost = min(cost, before[j - 1] + 1)
            row.append(cost)
        before = above
    return row[-1]


def _parts(text: str) -> list[str]:
    return [part for part in SEPARATOR.split(text.lower()) if part]


def _within_letters(short: str, word: str) -> bool:
    """Whether `word` begins with the same letter and has all the others in their order."""
    rest = iter(word)
    return short[0] == word[0] and all(letter in rest for letter in short)


def _within(few: list[str], many: list[str]) -> bool:
    """Whether the parts of one name stand in the other, side by side."""
    return any(many[i : i + len(few)] == few for i in range(len(many) - len(few) + 1))
