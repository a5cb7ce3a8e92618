"""Damage to files: bytes changed at random, and JSON whose values are swapped for what does not belong there."""

import math
from collections.abc import Iterator
from random import Random
from typing import Any

Edit = tuple[str, int, int, bytes]
KINDS = ("flip", "cut", "insert", "zero")

# What steers a terminal, ends an HTML element, starts a formula, or turns the direction of writing.
HOSTILE = (
    "\x1b]52;c;AAAA\x07", "\x1b[2J", "\x9b31m", "\u202eabc", "\u2066x", "\x00", "a\nglass: fine", "\r\n", "\ufeff",
    "</script><img src=x onerror=alert(1)>", "@DATA@", "=1+1", "../../etc/passwd", "/dev/zero", "\ud800", "é" * 300,
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 3, 7, 320, 2**31, 2**63, 10**15, 10**40, 0.5, -0.0, 1e-320, 1e300, math.nan, math.inf)


def edited(data: bytes, changes: list[Edit], within: int) -> bytes:
    """`data` with bytes flipped, cut out, put in or zeroed at places before `within`."""
    for kind, place, length, new in changes:
        at = place % max(1, min(within, len(data)))
        if kind == "flip" and data:
            data = data[:at] + bytes([data[at] ^ (1 << length % 8)]) + data[at + 1 :]
        elif kind == "cut":
            data = data[:at] + data[at + length :]
        elif kind == "insert":
            data = data[:at] + new + data[at:]
        else:
            data = data[:at] + bytes(length) + data[at + length :]
    return data


def some_edits(rng: Random) -> list[Edit]:
    """One to three edits for `edited`."""
    return [
        (rng.choice(KINDS), rng.getrandbits(31), rng.randrange(65), rng.randbytes(rng.randrange(9)))
        for _ in range(rng.randint(1, 3))
    ]


def junk(rng: Random) -> Any:
    """A value of any JSON type, often one that means harm."""
    draw = rng.randrange(8)
    if draw < 2:
        return rng.choice(HOSTILE)
    if draw < 4:
        return rng.choice(NUMBERS)
    if draw == 4:
        return rng.choice((None, True, False, "", [], {}))
    if draw == 5:
        return [junk(rng) for _ in range(rng.randrange(4))]
    if draw == 6:
        return {rng.choice(HOSTILE): junk(rng)}
    return _deep(rng.choice((50, 400)))


def swap_values(document: Any, rng: Random, n: int = 1) -> Any:
    """`document`, changed in `n` places: a value swapped for junk or for another value, dropped, or renamed."""
    for _ in range(n):
        places = list(_places(document))
        if not places:
            return junk(rng)
        holder, key = rng.choice(places)
        what = rng.randrange(6)
        if what == 0:
            del holder[key]
        elif what == 1:
            other, other_key = rng.choice(places)
            holder[key] = _copy(other[other_key])
        elif what == 2 and isinstance(holder, dict):
            holder[rng.choice(HOSTILE)] = holder.pop(key)
        else:
            holder[key] = junk(rng)
    return document


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a value: its dict or list, and its key. Of long lists and dicts, the first and last few."""
    if not isinstance(document, dict | list):
        return
    keys = list(document) if isinstance(document, dict) else list(range(len(document)))
    for key in keys if len(keys) <= 40 else keys[:10] + keys[-10:]:
        yield document, key
        yield from _places(document[key])


def _copy(value: Any) -> Any:
    """A copy of a document, so that no part of it stands in itself."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _deep(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value
