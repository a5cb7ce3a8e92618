"""Reads a config.json one field at a time, and refuses what is not what the field should be.

Every number that decides a size comes through here, so a wrong type, a negative, a float or a list of
the wrong length is a `ConfigError` that names the field: never a traceback, never a quiet default.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from glasscli.errors import ConfigError, NotRunError
from glasscli.untrusted_files import plain

MISSING: Any = object()
MAX_LAYERS = 100_000


class Fields:
    """One config, or one nested in it: `prefix` names its fields in messages.

    `defaults` are the model class's own, used for what the config leaves out; each use is noted once.
    `engine` is "logical" or the engine whose cache is asked for: a few classes cache more than they need.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        prefix: str = "",
        defaults: Mapping[str, Any] | None = None,
        engine: str = "logical",
        notes: list[str] | None = None,
    ) -> None:
        self.config = config
        self.prefix = prefix
        self.defaults = defaults or {}
        self.engine = engine
        self.notes: list[str] = [] if notes is None else notes

    def over(self, changes: Mapping[str, Any]) -> "Fields":
        """The same config with some fields replaced: one layer's own, or a name translated."""
        return Fields({**self.config, **changes}, self.prefix, self.defaults, self.engine, self.notes)

    def refuse(self, field: str, why: str) -> NoReturn:
        """Raises ConfigError that names `field`."""
        raise ConfigError(f"{self.prefix}{field} {why}", field=self.prefix + field)

    def not_run(self, field: str, why: str) -> NoReturn:
        """Raises NotRunError that names `field`: glass does not run what it says, which need not be a mistake."""
        raise NotRunError(f"{self.prefix}{field} {why}", field=self.prefix + field)

    def note(self, text: str) -> None:
        """Keep a sentence worth telling, once."""
        if text not in self.notes:
            self.notes.append(text)

    def has(self, *names: str) -> bool:
        """Whether the config itself says something about one of them: null counts as saying nothing."""
        return any(self.config.get(name) is not None for name in names)

    def named(self, *names: str) -> str:
        """Which of `names` the value came from, for messages."""
        return next((name for name in names if self.config.get(name) is not None), names[0])

    def get(self, *names: str) -> Any:
        """The value of the first of `names` that is not null; else the class's default; else None.

        A field that is there but null has no default: that is how a config says "derive it".
        """
        for name in names:
            if self.config.get(name) is not None:
                return self.config[name]
        if any(name in self.config for name in names):
            return None
        for name in names:
            if self.defaults.get(name) is not None:
                self.note(f"{self.prefix}{name} is not given: the class's {shown(self.defaults[name])} is used")
                return self.defaults[name]
        return None

    def integer(self, *names: str, default: int | None = MISSING, least: int = 1) -> Any:
        """A whole number of at least `least`; refused where absent unless there is a `default`."""
        value = self.get(*names)
        if value is None:
            if default is MISSING:
                self.refuse(names[0], "is missing: expected a whole number")
            return default
        return self.whole(value, self.named(*names), least)

    def whole(self, value: Any, field: str, least: int = 1) -> int:
        """`value` as the whole number that `field` has to be."""
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(field, f"is {shown(value)}: expected a whole number")
        if value < least:
            self.refuse(field, f"is {value}: expected at least {least}")
        return value

    def positive(self, name: str, default: float | None = MISSING) -> Any:
        """A number that float32 can divide by and multiply with; refused where absent unless there is a `default`."""
        value = self.get(name)
        if value is None:
            if default is MISSING:
                self.refuse(name, "is missing: expected a number")
            return default
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 1e-30 <= value <= 1e30:  # past these, float32 would divide by zero or overflow
            self.refuse(name, f"is {shown(value)}: expected a number from 1e-30 to 1e30")
        return float(value)

    def token_ids(self, name: str, vocab_size: int) -> tuple[int, ...]:
        """The ids of a token id, a list of them, or null: each once, and only those below `vocab_size`."""
        value = self.get(name)
        ids = [] if value is None else value if isinstance(value, list) else [value]
        for token_id in ids:
            if isinstance(token_id, bool) or not isinstance(token_id, int):
                self.refuse(name, f"is {shown(value)}: expected a token id, a list of them, or null")
        # Some folders name ids past the embedding (added tokens that were never trained): they can't be produced.
        return tuple(token_id for token_id in dict.fromkeys(ids) if 0 <= token_id < vocab_size)

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false; `default` where it is absent or null."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.refuse(name, f"is {shown(value)}: expected true or false")
        return value

    def items(self, name: str, length: int | None = None) -> Sequence[Any] | None:
        """A list, of `length` where that is known; None where the field is absent or null."""
        value = self.config.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            self.refuse(name, f"is {shown(value)}: expected a list")
        if length is not None and len(value) != length:
            self.refuse(name, f"has {len(value)} entries: expected {length}, one for each layer")
        return value

    def words(self, name: str, length: int | None = None) -> list[str] | None:
        """A list of strings."""
        value = self.items(name, length)
        if value is None:
            return None
        for item in value:
            if not isinstance(item, str):
                self.refuse(name, f"holds {shown(item)}: expected words")
        return list(value)

    def numbers(self, name: str, length: int | None = None, least: int = 0) -> list[int] | None:
        """A list of whole numbers."""
        value = self.items(name, length)
        return None if value is None else [self.whole(item, name, least) for item in value]

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        """A nested object; None where the field is absent or null."""
        value = self.config.get(name)
        if value is not None and not isinstance(value, Mapping):
            self.refuse(name, f"is {shown(value)}: expected an object")
        return value

    def nested(self, name: str, defaults: Mapping[str, Any] | None = None) -> "Fields":
        """The fields of a nested object; of an empty one where there is none."""
        return Fields(self.mapping(name) or {}, f"{self.prefix}{name}.", defaults, self.engine, self.notes)

    def divide(self, field: str, by: int, by_name: str) -> int:
        """`field` ÷ `by`, refused when it leaves a rest: no model can be built like that."""
        value: int = self.integer(*field.split("|"))
        if value % by:
            self.refuse(self.named(*field.split("|")), f"is {value}, which {by_name} ({by}) does not divide")
        return value // by


def shown(value: Any) -> str:
    """A value as a message quotes it: JSON spelling, cut where it is long."""
    if isinstance(value, bool):
        text = str(value).lower()
    elif value is None:
        text = "null"
    elif isinstance(value, str):
        text = f'"{plain(value)}"'
    elif isinstance(value, Mapping):
        text = "an object"
    elif isinstance(value, list):
        text = "a list"
    elif isinstance(value, int) and abs(value) >= 10**30:
        text = "a number of more than 30 digits"
    else:
        text = str(value)
    return text if len(text) <= 40 else text[:37] + "..."
