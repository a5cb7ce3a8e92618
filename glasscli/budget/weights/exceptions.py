"""Which modules a quantisation leaves alone: three habits of naming them, one object that answers for a weight.

Checkpoints and glass name the same module differently in front: `model.language_model.layers.0` and
`text_config.model.layers.0`. So a weight is tried under all the names its kind goes by, and a tower counts as left
alone where the list names any tower at all: producers list them whole.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from glasscli.budget.weights.weight import Weight
from glasscli.config.families.fields import Fields

LANGUAGE = ("", "model.", "language_model.", "language_model.model.", "model.language_model.")
TOWER_WORDS = re.compile(r"vis|image|audio|multi_modal|mm_proj|projector|connector|speech", re.IGNORECASE)
TOWERS = ("vision", "audio")
SPECIAL = re.compile(r"[*?\[]")
Matches = Callable[[str], bool]  # of a module's name


@dataclass(frozen=True)
class Exceptions:
    """A list of modules and how its entries match names. What was found out of a weight is kept: lists are long."""

    entries: tuple[str, ...]
    matches: Matches
    known: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def hold(self, weight: Weight) -> bool:
        """Whether a weight is left as it is."""
        if weight.name not in self.known:
            self.known[weight.name] = self._hold(weight)
        return self.known[weight.name]

    def _hold(self, weight: Weight) -> bool:
        if weight.part in TOWERS and any(TOWER_WORDS.search(entry) for entry in self.entries):
            return True
        return any(self.matches(name) for name in names_of(weight))


def names_of(weight: Weight) -> tuple[str, ...]:
    """What checkpoints may call the module."""
    bare = weight.name.removeprefix("text_config.").removeprefix("model.")
    return tuple(prefix + bare for prefix in LANGUAGE)


def none_of_these() -> Exceptions:
    """No exceptions."""
    return Exceptions((), lambda name: False)


def hugging_face(read: Fields, name: str) -> Exceptions:
    """transformers' lists: a name, or a part of names between dots; a star is any number."""
    entries = tuple(read.words(name) or ())
    plain, starred = _told_apart(entries)
    whole = {tuple(entry.split(".")) for entry in plain}
    lengths = {len(parts) for parts in whole}

    def matches(module: str) -> bool:
        parts = module.split(".")
        spans = (tuple(parts[at : at + n]) for n in lengths for at in range(len(parts) - n + 1))
        return any(span in whole for span in spans) or any(_in_parts(entry, parts) for entry in starred)

    return Exceptions(entries, matches)


def patterns(read: Fields, name: str) -> Exceptions:
    """compressed-tensors' lists: whole names, or `re:` and a regular expression that names begin with."""
    entries = tuple(read.words(name) or ())
    whole = {entry for entry in entries if not entry.startswith("re:")}
    expressions = []
    for entry in entries:
        if entry.startswith("re:"):
            try:
                expressions.append(re.compile(entry[3:]))
            except re.error:
                read.refuse(name, f'holds "{entry[:40]}", which is no regular expression')
    everything = "Linear" in whole

    def matches(module: str) -> bool:
        return everything or module in whole or any(expression.match(module) for expression in expressions)

    return Exceptions(entries, matches)


def wildcards(read: Fields, name: str) -> Exceptions:
    """ModelOpt's lists: names with stars, which hold for everything below them."""
    entries = tuple(read.words(name) or ())
    plain, starred = _told_apart(entries)
    whole = set(plain)

    def matches(module: str) -> bool:
        parts = module.split(".")
        above = (".".join(parts[:n]) for n in range(1, len(parts) + 1))
        return any(path in whole for path in above) or any(_starred(entry, module) for entry in starred)

    return Exceptions(entries, matches)


def _told_apart(entries: Sequence[str]) -> tuple[list[str], list[str]]:
    """Entries that are names, which are looked up at once, and those with stars."""
    starred = [entry for entry in entries if SPECIAL.search(entry)]
    return [entry for entry in entries if not SPECIAL.search(entry)], starred


def _in_parts(entry: str, parts: Sequence[str]) -> bool:
    wanted = entry.split(".")
    span = len(wanted)
    return any(
        all(fnmatchcase(part, want) for part, want in zip(parts[at : at + span], wanted, strict=True))
        for at in range(len(parts) - span + 1)
    )


def _starred(entry: str, name: str) -> bool:
    return (
        fnmatchcase(name, entry)
        or name.startswith(entry.rstrip("*").rstrip(".") + ".")
        or fnmatchcase(name, entry + ".*")
    )
