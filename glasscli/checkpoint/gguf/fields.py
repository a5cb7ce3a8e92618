"""A GGUF's metadata read a key at a time: of the right type and size, or refused by name. Knows no architecture."""

import math
from collections.abc import Mapping

from glasscli.checkpoint.gguf.header import Header
from glasscli.checkpoint.gguf.values import Listed, Value, shortest
from glasscli.errors import ConfigError, NotRunError
from glasscli.untrusted_files import quoted, shown

MOST_LAYERS = 10_000
LARGEST = 10**9  # no real dimension comes near; a larger one is a damaged file


class Fields:
    """The keys of one architecture: `block_count` is `llama.block_count` in a Llama's file.

    Attributes:
        architecture: what the file says it is.
        n_layers: blocks, those that predict further tokens (and cache nothing) not counted.
    """

    def __init__(self, header: Header) -> None:
        self._header = header
        self.metadata: Mapping[str, Value] = header.metadata
        name = self.metadata.get("general.architecture")
        if not isinstance(name, str) or not name:
            found = "is missing" if name is None else f"is {shown(name)}"
            raise self.error("general.architecture", f"{found}; expected the model's architecture")
        self.architecture = name
        extra = self.whole("nextn_predict_layers", 0, least=0)
        self.n_layers = self.whole("block_count", largest=MOST_LAYERS) - extra
        if self.n_layers < 1:
            raise self.error(self.key("nextn_predict_layers"), f"is {extra}, which leaves no layer")

    def key(self, name: str) -> str:
        """The full key of a name."""
        return f"{self.architecture}.{name}"

    def error(self, key: str, words: str) -> ConfigError:
        """What to raise about a key."""
        return ConfigError(f"{self._header.path}: {quoted(key)[1:-1]} {words}", key)

    def not_run(self, key: str, words: str) -> NotRunError:
        """What to raise about a key that says what glass does not run."""
        return NotRunError(str(self.error(key, words)), key)

    def has(self, name: str) -> bool:
        """Whether the file says it."""
        return self.key(name) in self.metadata

    def whole(self, name: str, default: int | None = None, least: int = 1, largest: int = LARGEST) -> int:
        """A whole number; `default` where it is absent, refused if there is none."""
        value = self.metadata.get(self.key(name), default)
        if value is None:
            raise self.error(self.key(name), "is missing")
        if type(value) is not int or not least <= value <= largest:
            raise self.error(self.key(name), f"is {_said(value)}; expected a whole number from {least} to {largest:,}")
        return value

    def number(self, name: str, default: float) -> float:
        """A finite number, told in the fewest digits that are the float32 of the file."""
        value = self.metadata.get(self.key(name), default)
        if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
            raise self.error(self.key(name), f"is {_said(value)}; expected a number")
        return shortest(float(value))  # type: ignore[arg-type]

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self.metadata.get(self.key(name), default)
        if type(value) is not bool:
            raise self.error(self.key(name), f"is {_said(value)}; expected true or false")
        return value

    def word(self, name: str, default: str) -> str:
        """A text."""
        value = self.metadata.get(self.key(name), default)
        if not isinstance(value, str):
            raise self.error(self.key(name), f"is {_said(value)}; expected a word")
        return value

    def by_layer(self, name: str, default: list[int] | None = None, least: int = 1) -> list[int]:
        """A whole number for each layer, given once for all or as a list."""
        value = self.metadata.get(self.key(name))
        if isinstance(value, Listed):
            numbers = self._listed(name, value)
            if not all(type(n) is int and least <= n <= LARGEST for n in numbers):
                raise self.error(self.key(name), f"holds what is no whole number from {least} to {LARGEST:,}")
            return numbers
        if value is None and default is not None:
            return default
        return [self.whole(name, least=least)] * self.n_layers

    def flags_by_layer(self, name: str) -> list[bool] | None:
        """True or false for each layer; None where the file has no list."""
        value = self.metadata.get(self.key(name))
        return [bool(flag) for flag in self._listed(name, value)] if isinstance(value, Listed) else None

    def _listed(self, name: str, value: Listed) -> list[int]:
        if not self.n_layers <= len(value) <= MOST_LAYERS:
            raise self.error(
                self.key(name), f"lists {len(value):,} values; expected one for each of {self.n_layers} layers"
            )
        return value.read()[: self.n_layers]  # those of layers that predict further tokens come last

    def token_id(self, name: str) -> int | None:
        """One of the tokenizer's ids; None where it is absent or no id."""
        value = self.metadata.get(f"tokenizer.ggml.{name}_token_id")
        return value if type(value) is int and 0 <= value < LARGEST else None


def alike(values: list[int]) -> int | list[int]:
    """One number where all are the same, as config.json has it; else the list."""
    return values[0] if len(set(values)) == 1 else values


def _said(value: object) -> str:
    return "a list" if isinstance(value, Listed) else shown(value)
