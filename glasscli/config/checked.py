"""One setting of a config.json at a time, refused where it is not what it should be.

Knows types and ranges, not what a setting means. Every refusal is a ConfigError that names the field.
"""

from collections.abc import Mapping
from typing import Any

from glasscli.errors import ConfigError

LARGEST = 10**9  # no real dimension comes near; a larger one is a damaged file


def whole(settings: Mapping[str, Any], field: str, default: int | None = None, largest: int = LARGEST) -> int:
    """A whole number from 1 to `largest`; `default` where it is absent or null, refused if there is none."""
    value = settings.get(field)
    value = default if value is None else value
    if value is None:
        raise ConfigError(f"{field} is missing", field)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= largest:
        raise ConfigError(f"{field} is {short(value)}; expected a whole number from 1 to {largest:,}", field)
    return value


def positive(settings: Mapping[str, Any], field: str, default: float | None = None) -> float:
    """A number that float32 can divide by and multiply with; `default` where it is absent or null."""
    value = settings.get(field)
    value = default if value is None else value
    if value is None:
        raise ConfigError(f"{field} is missing", field)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 1e-30 <= value <= 1e30:  # past these, float32 would divide by zero or overflow
        raise ConfigError(f"{field} is {short(value)}; expected a number from 1e-30 to 1e30", field)
    return float(value)


def flag(settings: Mapping[str, Any], field: str) -> bool:
    """True or false; false where it is absent or null."""
    value = settings.get(field)
    value = False if value is None else value
    if not isinstance(value, bool):
        raise ConfigError(f"{field} is {short(value)}; expected true or false", field)
    return value


def token_ids(settings: Mapping[str, Any], field: str, vocab_size: int) -> tuple[int, ...]:
    """The ids of a token id, a list of them, or null: each once, and only those below `vocab_size`."""
    value = settings.get(field)
    ids = [] if value is None else value if isinstance(value, list) else [value]
    for token_id in ids:
        if isinstance(token_id, bool) or not isinstance(token_id, int):
            raise ConfigError(f"{field} is {short(value)}; expected a token id, a list of them, or null", field)
    # Some folders name ids past the embedding (added tokens that were never trained): they can't be produced.
    return tuple(token_id for token_id in dict.fromkeys(ids) if 0 <= token_id < vocab_size)


def short(value: object) -> str:
    """A value as a message quotes it, at most 60 characters."""
    try:
        text = repr(value)
    except RecursionError:
        return f"a {type(value).__name__} nested too deep to show"
    return text if len(text) <= 60 else f"{text[:57]}..."
