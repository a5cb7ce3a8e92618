"""Reads a config.json one field at a time, and refuses what is not what the field should be.

Every number that decides a size comes through here, so a wrong type, a negative, a float or a list of the wrong
length is a `ConfigError` that names the field, never a traceback and never a quiet default.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from glasscli.errors import ConfigError

MISSING: Any = object()


class Fields:
    """One config (or one nested in it), with the prefix that names its fields in messages.

    `defaults` are the model class's own, used for what the config leaves out; each use is noted once in `notes`.
    """

    def __init__(
        self, config: Mapping[str, Any], prefix: str = "", defaults: Mapping[str, Any] | None = None
    ) -> None:
        self.config = config
        self.prefix = prefix
        self.defaults = defaults or {}
        self.notes: list[str] = []

    def refuse(self, field: str, why: str) -> NoReturn:
        raise ConfigError(f"{self.prefix}{field} {why}", field=self.prefix + field)

    def has(self, field: str) -> bool:
        """Whether the config itself says something about it: null counts as saying nothing."""
        return self.config.get(field) is not None

    def get(self, *names: str, default: Any = None) -> Any:
        """The value of the first of `names` that is there and not null, else the class's default, else `default`."""
        for name in names:
            if self.config.get(name) is not None:
                return self.config[name]
        for name in names:
            if name not in self.config and self.defaults.get(name) is not None:
                self.note(
                    f"{self.prefix}{name} is not given: the class's default {self.defaults[name]} is used"
                )
                return self.defaults[name]
        return default

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def integer(self, *names: str, default: int | None = MISSING, least: int = 1) -> Any:
        """A whole number of at least `least` from the first of `names` there is; refused when absent without default."""
        value = self.get(*names)
        if value is None:
            if default is MISSING:
                self.refuse(names[0], "is missing: expected a whole number")
            return default
        return self.check(value, self.named(*names), least)

    def named(self, *names: str) -> str:
        """Which of `names` the value came from, for messages."""
        return next((name for name in names if self.config.get(name) is not None), names[0])

    def check(self, value: Any, field: str, least: int = 1) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(field, f"is {shown(value)}: expected a whole number")
        if value < least:
            self.refuse(field, f"is {value}: expected at least {least}")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.refuse(name, f"is {shown(value)}: expected true or false")
        return value

    def words(self, name: str, length: int | None = None) -> tuple[str, ...] | None:
        """A list of strings, of `length` where that is known; None where the field is absent or null."""
        value = self.items(name, length)
        if value is None:
            return None
        for item in value:
            if not isinstance(item, str):
                self.refuse(name, f"holds {shown(item)}: expected words")
        return tuple(value)

    def items(self, name: str, length: int | None = None) -> Sequence[Any] | None:
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            self.refuse(name, f"is {shown(value)}: expected a list")
        if length is not None and len(value) != length:
            self.refuse(name, f"has {len(value)} entries: expected one for each of the {length} layers")
        return value


def shown(value: Any) -> str:
    """A value as a message quotes it: JSON spelling, cut where it is long."""
    if value is True or value is False:
        text = str(value).lower()
    elif isinstance(value, str):
        text = f'"{value}"'
    elif isinstance(value, Mapping):
        text = "an object"
    elif isinstance(value, list):
        text = "a list"
    else:
        text = str(value)
    return text if len(text) <= 40 else text[:37] + "..."
