"""How a model's own files want texts to be written: how to choose a token, how many, and where a text ends.

generation_config.json is transformers' file for it; a GGUF's `general.sampling` keys are brought into its words. A flag
or an argument always goes before what is said here. Imports no NumPy.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from glasscli.config.families.fields import shown
from glasscli.errors import ConfigError

# The least and the largest value that mean something, and whether it is a whole number.
RANGES = {
    "temperature": (0, math.inf, False),
    "top_k": (0, math.inf, True),
    "top_p": (0, 1, False),
    "min_p": (0, 1, False),
    "repetition_penalty": (0, math.inf, False),
    "max_new_tokens": (0, math.inf, True),
}
# What transformers takes these for where a file asks for a draw and leaves them out: they change nothing.
NEUTRAL = {"temperature": 1.0, "top_p": 1.0}


@dataclass(frozen=True)
class WritingDefaults:
    """How texts are written where nothing else was asked for.

    Attributes:
        max_new_tokens: how many tokens to write at most; the context may leave room for fewer.
        said: which of these the model's own files say; the others are glass's.
    """

    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 0.95
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    max_new_tokens: int = 256
    said: frozenset[str] = frozenset()

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], source: str) -> "WritingDefaults":
        """Take them from the object of a generation_config.json; null says nothing.

        Without a draw (`do_sample` false) the temperature is 0. With one (true), a temperature and a top_p that are not
        given are 1, as transformers has it.

        Raises:
            ConfigError: a setting of the wrong type or out of range; `source` opens the message.
        """
        said = {name: _number(settings, name, source) for name in RANGES if settings.get(name) is not None}
        draws = settings.get("do_sample")
        if draws is not None and not isinstance(draws, bool):
            raise ConfigError(f"{source}: do_sample is {shown(draws)}: expected true or false", "do_sample")
        if draws:
            said = {**NEUTRAL, **said}
        elif draws is False:
            said["temperature"] = 0.0
        return cls(**said, said=frozenset(said))


def _number(settings: Mapping[str, Any], name: str, source: str) -> Any:
    value = settings[name]
    least, most, whole = RANGES[name]
    kinds = (int,) if whole else (int, float)
    above = name == "repetition_penalty"  # 0 would divide by nothing
    if (
        isinstance(value, bool)
        or not isinstance(value, kinds)
        or not math.isfinite(value)
        or not least <= value <= most
        or (above and not value)
    ):
        kind = "a whole number" if whole else "a number"
        span = (
            f"from {least:g} to {most:g}" if math.isfinite(most) else ("above 0" if above else f"of {least:g} or more")
        )
        raise ConfigError(f"{source}: {name} is {shown(value)}: expected {kind} {span}", name)
    return value if whole else float(value)


def all_ids(*several: Any) -> list[Any]:
    """The ids of several settings, each of which is one id, a list of them, or null: each once, in order."""
    listed: Iterable[Any] = (
        one for ids in several if ids is not None for one in (ids if isinstance(ids, list) else [ids])
    )
    found: list[Any] = []
    for one in listed:
        if one not in found:
            found.append(one)
    return found
