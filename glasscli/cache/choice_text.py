"""A cache as people write it: `q8_0`, `k=q8_0,v=q4_0`, `q4_0,norot`, `sinks=4+window=252,renumber`, `kv-heads=1`.

Parts stand between commas or plus signs, in any order, each at most once. Imports no NumPy.
"""

import re
from collections.abc import Callable
from typing import Any

from glasscli.cache.choice import NO_RESIDUAL, CacheChoice
from glasscli.cache.formats.names import ALIASES, KIVI, NAMES
from glasscli.errors import UsageError
from glasscli.likeness import asked, did_you_mean
from glasscli.units import parse_count, show

# What a part sets, by its name: the fields it decides, and how its value is read. No value: a word alone.
SETS: dict[str, tuple[Callable[[Any], dict[str, Any]], str]] = {
    "k": (lambda name: {"k": name}, "FORMAT"),
    "v": (lambda name: {"v": name}, "FORMAT"),
    "norot": (lambda _: {"rotated": False}, ""),
    "residual": (lambda n: {"residual": n}, "N"),
    "window": (lambda n: {"keeps": "window", "tokens": n}, "N"),
    "sinks": (lambda n: {"sinks": n}, "N"),
    "renumber": (lambda _: {"renumbered": True}, ""),
    "h2o": (lambda n: {"keeps": "h2o", "tokens": n}, "N"),
    "tova": (lambda n: {"keeps": "tova", "tokens": n}, "N"),
    "kv-heads": (lambda n: {"kv_heads": n}, "N"),
}
EXAMPLES = ("q8_0", "k=q8_0,v=q4_0", "sinks=4+window=252")
UNITS = {"kv-heads": "a number of heads"}


def is_choice(text: str) -> bool:
    """Whether a text is a cache rather than words."""
    try:
        parse_choice(text)
    except UsageError:
        return False
    return True


def parse_choice(text: str, unnamed: str = "f32") -> CacheChoice:
    """The choice that `text` stands for.

    Args:
        unnamed: the format of keys, of values, or of both where the text names none.

    Raises:
        UsageError: a part that is not known, named twice, without its value, or at odds with another.
    """
    fields: dict[str, Any] = {}
    said_by: dict[str, str] = {}
    for part in text.replace("+", ",").split(","):
        try:
            decided = _read_part(part.strip())
        except UsageError as error:
            raise UsageError(f"cache {show(text)}: {error}") from None
        for field, value in decided.items():
            if field in fields:
                raise UsageError(
                    f"cache {show(text)}: {said_by[field]} and {part.strip()} both say {_asks(field)}; keep one"
                )
            fields[field], said_by[field] = value, part.strip()
    try:
        choice = CacheChoice(**{"k": unnamed, "v": unnamed} | fields)
        if "residual" in fields and not {choice.k, choice.v} & KIVI:
            raise UsageError(NO_RESIDUAL)
        return choice
    except UsageError as error:
        raise UsageError(f"cache {show(text)}: {error}") from None


def _read_part(part: str) -> dict[str, Any]:
    """The fields that one part decides."""
    name, equals, value = (piece.strip() for piece in part.partition("="))
    name = name.lower().replace("_", "-") if name.lower().replace("_", "-") in SETS else name
    if not equals and (found := _format(name)):
        return {"k": found, "v": found}
    if name not in SETS:
        raise UsageError(_unknown(part, name, [*NAMES, *SETS]))
    decide, takes = SETS[name]
    if takes and not value:
        raise UsageError(f"{name} needs a value: {name}={takes}")
    if equals and not takes:
        raise UsageError(f"{name} takes no value; {value!r} was found")
    if takes == "FORMAT":
        found = _format(value)
        if found is None:
            raise UsageError(_unknown(part, value, NAMES))
        return decide(found)
    return decide(parse_count(value, f"{UNITS.get(name, 'a number of tokens')} for {name}") if takes else None)


def _format(name: str) -> str | None:
    plain = name.lower().removeprefix("torch.")
    plain = ALIASES.get(plain, plain)
    return plain if plain in NAMES else None


def _unknown(part: str, name: str, known: "list[str] | tuple[str, ...]") -> str:
    """What is wrong with a part that nothing answers to, what was perhaps meant, and what there is."""
    if not part:
        return f"a part is empty; write formats and rules between commas, like {', '.join(EXAMPLES)}"
    hint = did_you_mean(name, [*known, *ALIASES]) or asked(_as_narrow(name))
    hint = f". {hint}" if hint else "."
    formats = f"Formats are {', '.join(NAMES)}"
    if known is NAMES:
        return f"{show(part)} names no format{hint} {formats}."
    rules = ", ".join(f"{rule}={takes}" if takes else rule for rule, (_, takes) in SETS.items())
    return f"{show(part)} is not known{hint} {formats}; rules are {rules}."


def _as_narrow(name: str) -> list[str]:
    """The packed formats of as many bits as a name says that is none: `int4`, `4bit`."""
    bits = re.fullmatch(r"[a-z]*[-_]?(\d)[-_]?(?:bits?)?", name.lower())
    return [known for known in NAMES if bits and re.fullmatch(rf"(q{bits[1]}_\d|kivi{bits[1]})", known)]


def _asks(field: str) -> str:
    asks = {"k": "how keys are packed", "v": "how values are packed", "keeps": "which tokens are kept"}
    return asks.get(field, f"what {field.replace('_', ' ')} is")
