"""What a budget is about: head counts, a config or a named model, each brought to a layout.

All three ways end in a `Subject`; from there on nothing asks where it came from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from glasscli.budget.model_weights import weights_config
from glasscli.budget.models import find
from glasscli.config.families import Layout, layout
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.cache_spec import FullAttention

MOST_LAYERS = 100_000


@dataclass(frozen=True)
class Subject:
    """A model to be sized: its name, its layout as the engine holds it and as mathematics needs it.

    `source` says where the facts come from: of a named model a citation, else the file that was read. `config` is what
    its weights are counted from, empty where they can't be.
    """

    name: str
    layout: Layout
    logical: Layout
    source: str = ""
    config: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class Heads:
    """The head counts of an attention: `n_heads` query heads share `n_kv_heads` key/value heads."""

    n_heads: int
    n_kv_heads: int
    head_dim: int
    n_layers: int
    dtype: str

    def __post_init__(self) -> None:
        if self.n_layers > MOST_LAYERS:
            raise UsageError(f"{self.n_layers:,} layers: no model has more than {MOST_LAYERS:,}")
        if self.n_heads % self.n_kv_heads:
            raise UsageError(f"{self.n_kv_heads} does not divide {self.n_heads}; query heads must split evenly")

    @property
    def group_size(self) -> int:
        """How many query heads share one key/value head."""
        return self.n_heads // self.n_kv_heads

    @property
    def kind(self) -> str:
        """MHA, GQA or MQA. A single head for queries and keys alike is MHA."""
        if self.n_kv_heads == self.n_heads:
            return "MHA"
        return "MQA" if self.n_kv_heads == 1 else "GQA"

    def sharing(self, n_kv_heads: int) -> "Heads":
        """The same heads, with `n_kv_heads` for keys and values."""
        return Heads(self.n_heads, n_kv_heads, self.head_dim, self.n_layers, self.dtype)

    def variants(self) -> tuple["Heads", ...]:
        """MHA, GQA and MQA with these query heads, from large to small; GQA is an example where not asked for."""
        counts = {self.n_heads, self.n_kv_heads, 1}
        if len(counts) < 3:
            counts |= {example_group(self.n_heads)}
        return tuple(self.sharing(count) for count in sorted(counts, reverse=True))

    def subject(self) -> Subject:
        """These heads as a model whose layers are all alike."""
        spec = FullAttention(self.n_kv_heads, self.head_dim, self.head_dim)
        held = Layout("", (spec,) * self.n_layers, dtype=self.dtype, n_heads=self.n_heads)
        return Subject(self.kind, held, held)


def example_group(n_heads: int) -> int:
    """A usual number of key/value heads for `n_heads` query heads: 8 if it divides them, else a small divisor."""
    return next((count for count in (8, 4, 2, 3, 5, 7) if n_heads % count == 0 and count < n_heads), n_heads)


def divisors_near(n_heads: int, n_kv_heads: int) -> tuple[int, ...]:
    """Numbers of key/value heads that would divide `n_heads`: all if they are few, else those around."""
    if n_heads > 10**9:
        return (1, n_heads)
    small = [count for count in range(1, int(n_heads**0.5) + 1) if n_heads % count == 0]
    counts = sorted({*small, *(n_heads // count for count in small)})
    if len(counts) <= 8:
        return tuple(counts)
    near = sorted(counts, key=lambda count: abs(count - n_kv_heads))[:6]
    return tuple(sorted({1, *near, n_heads}))


def from_config(
    config: Mapping[str, Any], engine: str = "logical", name: str = "", source: str = "", assume_plain: bool = False
) -> Subject:
    """The model that `config` describes, as `engine` holds it; one of an unknown type only if it `assume_plain`.

    Raises ConfigError, naming the field.
    """
    held = layout(config, engine, assume_plain)
    try:
        logical = held if engine == "logical" else layout(config, "logical", assume_plain)
    except ConfigError:  # transformers caches for an encoder that is used as a decoder; the mathematics needs nothing
        logical = held
    return Subject(name or logical.model_type or "config", held, logical, source, config)


def from_name(name: str, engine: str = "logical") -> Subject:
    """The well-known model called `name`. Raises UsageError with the nearest names if there is none."""
    model = find(name)
    found = from_config(model.config, engine, model.name, f"{model.date}, {model.source}")
    return replace(found, config=weights_config(model))
