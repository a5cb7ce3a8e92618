"""Which modules a quantisation leaves alone: three habits of naming them, one object that answers for a weight.

Checkpoints and glass name the same module differently in front: `model.language_model.layers.0` and
`text_config.model.layers.0`. So a weight is tried under all the names its kind goes by, and a tower counts as left
alone where the list names any tower at all: producers list them whole.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from glasscli.budget.weights.weight import Weight
from glasscli.config.families.fields import Fields

LANGUAGE = ("", "model.", "language_model.", "language_model.model.", "model.language_model.")
TOWER_WORDS = re.compile(r"vis|image|audio|multi_modal|mm_proj|projector|connector|speech", re.IGNORECASE)
TOWERS = ("vision", "audio")
Matches = Callable[[str, str], bool]  # an entry of the list, a module's name


@dataclass(frozen=True)
class Exceptions:
    """A list of modules and how its entries match names."""

    entries: tuple[str, ...]
    matches: Matches

    def hold(self, weight: Weight) -> bool:
        """Whether a weight is left as it is."""
        if weight.part in TOWERS and any(TOWER_WORDS.search(entry) for entry in self.entries):
            return True
        return any(self.matches(entry, name) for name in names_of(weight) for entry in self.entries)


def names_of(weight: Weight) -> tuple[str, ...]:
    """What checkpoints may call the module."""
    bare = weight.name.removeprefix("text_config.").removeprefix("model.")
    return tuple(prefix + bare for prefix in LANGUAGE)


def none_of_these() -> Exceptions:
    """No exceptions."""
    return Exceptions((), lambda entry, name: False)


def hugging_face(read: Fields, field: str) -> Exceptions:
    """transformers' lists: a name, or a part of names between dots; a star is any number."""
    return Exceptions(tuple(read.words(field) or ()), _in_parts)


def patterns(read: Fields, field: str) -> Exceptions:
    """compressed-tensors' lists: whole names, or `re:` and a regular expression that names begin with."""
    entries = tuple(read.words(field) or ())
    for entry in entries:
        if entry.startswith("re:"):
            try:
                re.compile(entry[3:])
            except re.error:
                read.refuse(field, f'holds "{entry[:40]}", which is no regular expression')
    return Exceptions(entries, _expression)


def wildcards(read: Fields, field: str) -> Exceptions:
    """ModelOpt's lists: names with stars, which hold for everything below them."""
    return Exceptions(tuple(read.words(field) or ()), _starred)


def _in_parts(entry: str, name: str) -> bool:
    parts, wanted = name.split("."), entry.split(".")
    span = len(wanted)
    return any(
        all(fnmatchcase(part, want) for part, want in zip(parts[at : at + span], wanted, strict=True))
        for at in range(len(parts) - span + 1)
    )


def _expression(entry: str, name: str) -> bool:
    if entry.startswith("re:"):
        return re.match(entry[3:], name) is not None
    return entry == name or entry == "Linear"


def _starred(entry: str, name: str) -> bool:
    return (
        fnmatchcase(name, entry)
        or name.startswith(entry.rstrip("*").rstrip(".") + ".")
        or fnmatchcase(name, entry + ".*")
    )
