"""What a word in an outline stands for: a field of the config, or what the row of the family says it means.

V tokens of the vocabulary   D width        N layers         F width of the MLP
H query heads                K key/value heads                E width of a head
X experts                    A experts a token picks          M width of an expert's MLP
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from glasscli.budget.weights.expressions import value
from glasscli.config.families import geometry
from glasscli.config.families.fields import Fields, shown
from glasscli.errors import ConfigError

VOCAB = ("vocab_size", "n_vocab", "padded_vocab_size", "n_words")
FFN = ("intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner", "d_ff", "decoder_ffn_dim", "dff")
EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts", "num_routed_experts")
PICKED = ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k", "moe_k", "top_k_experts", "top_k")
ALIASES = {
    "num_experts": EXPERTS,
    "n_routed_experts": EXPERTS,
    "num_local_experts": EXPERTS,
    "moe_num_experts": EXPERTS,
    "intermediate_size": FFN,
    "num_hidden_layers": geometry.LAYERS,
    "hidden_size": geometry.WIDTH,
    "n_positions": ("n_positions", "max_position_embeddings"),
    "n_shared_experts": ("n_shared_experts", "num_shared_experts"),
    "num_shared_experts": ("num_shared_experts", "n_shared_experts"),
}
SYMBOLS: Mapping[str, Callable[[Fields], int]] = {
    "N": lambda read: int(read.integer(*geometry.LAYERS)),
    "V": lambda read: int(read.integer(*VOCAB)),
    "D": lambda read: int(read.integer(*geometry.WIDTH)),
    "H": geometry.n_heads,
    "K": geometry.n_kv_heads,
    "E": geometry.head_dim,
    "F": lambda read: int(read.integer(*FFN)),
    "X": lambda read: int(read.integer(*EXPERTS)),
    "A": lambda read: int(read.integer(*PICKED)),
    "M": lambda read: int(read.integer("moe_intermediate_size", *FFN)),
}


class Names:
    """Looks words up for one place: a model, or one of its layers."""

    def __init__(self, read: Fields, words: Mapping[str, str], here: Mapping[str, Any], nested: Mapping[str, Fields]):
        self.read = read
        self.words = words
        self.here = here
        self.nested = nested
        self.known: dict[str, Any] = dict(here)

    def __call__(self, name: str) -> Any:
        """The value of `name`; looked up once."""
        if name not in self.known:
            self.known[name] = self._find(name)
        return self.known[name]

    def _find(self, name: str) -> Any:
        if name in self.words:
            return value(self.words[name], self)
        if name in SYMBOLS:
            return SYMBOLS[name](self.read)
        assert name[0].islower() or name[0] == "_", name
        outer, _, inner = name.rpartition(".")
        return field(self._inner(outer) if outer else self.read, inner)

    def _inner(self, path: str) -> Fields:
        if path in self.nested:
            return self.nested[path]
        read = self.read
        for name in path.split("."):
            read = read.nested(name)
        return read

    def value(self, text: str) -> Any:
        """What the expression `text` comes to here."""
        return value(text, self)

    def compute(self, text: str, what: str, least: int = 0) -> int:
        """The whole number that `text` comes to. Raises ConfigError for anything else: `what` is its tensor."""
        found = value(text, self)
        if isinstance(found, bool) or found is None:
            return int(found or 0)
        if isinstance(found, float) and found.is_integer():
            return int(found)
        if not isinstance(found, int) or not least <= found < 10**15:
            raise ConfigError(f"{what}: {text} comes to {shown(found)}; expected a whole number from {least}")
        return found

    def size(self, text: str, what: str) -> int:
        """The rows or columns that `text` comes to. Raises ConfigError where that is nothing: something is missing."""
        found = self.compute(text, what)
        if found < 1:
            missing = [name for name in re.findall(r"[a-z_][a-z0-9_.]+", self.spelled(text)) if self(name) is None]
            field = missing[0] if missing else text
            raise ConfigError(f"{field} is missing: {what} has {text} of it", field)
        return found

    def spelled(self, text: str) -> str:
        """`text` with the words that the outline gives meanings to spelled out."""
        for _ in range(4):
            text = re.sub(r"\b[A-Z]\w*", lambda word: self.words.get(word[0], word[0]), text)
        return text

    def holds(self, text: str) -> bool:
        """Whether the condition `text` holds; an empty one does."""
        return not text or bool(value(text, self))


def field(read: Fields, name: str) -> Any:
    """A field as an outline sees it: numbers, flags, words and lists as they are, null and absent as None."""
    found = read.get(*ALIASES.get(name, (name,)))
    if isinstance(found, bool | str | list) or found is None:
        return found
    if isinstance(found, Mapping) or (isinstance(found, int | float) and abs(found) < 10**15):
        return found
    return read.refuse(name, f"is {shown(found)}: expected a number")
