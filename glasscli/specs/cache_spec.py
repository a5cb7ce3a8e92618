"""What every kind of attention offers, and the kind that a Llama has: all tokens' keys and values.

It stands apart from the other `kinds` because running a model needs this one alone, and each dataclass that is
made costs a program that starts a third of a millisecond.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol


@dataclass(frozen=True)
class Tensor:
    """One tensor that one layer holds for one sequence: `rows` × `width` elements.

    `role` picks the dtype in a plan: k, v, latent, index, cross_k, cross_v, conv or state.
    `rows` counts tokens (or blocks of them); 1 for a state. `dtype` is set only where the kind fixes it. A row is
    `heads` heads side by side, each width // heads wide: what a block dtype has to divide.
    """

    role: str
    rows: int
    width: int
    dtype: str | None = None
    heads: int = 1


class CacheSpec(Protocol):
    """What every kind offers. `window` is the number of tokens it stops growing at, None if it never does."""

    name: ClassVar[str]

    @property
    def window(self) -> int | None: ...

    @property
    def parts(self) -> "tuple[CacheSpec, ...]":
        """The kinds a layer is made of: itself, unless it is `Several`."""
        ...

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        """Everything held for one sequence after `tokens` tokens."""
        ...


@dataclass(frozen=True)
class Single:
    """A kind that is one part: what `Several` is not."""

    @property
    def window(self) -> int | None:
        return None

    @property
    def parts(self) -> tuple[CacheSpec, ...]:
        return (self,)  # type: ignore[return-value]


@dataclass(frozen=True)
class FullAttention(Single):
    """Every token's key and value, for each key/value head (MHA, GQA and MQA differ in the heads alone)."""

    name: ClassVar[str] = "full"
    n_kv_heads: int
    k_dim: int
    v_dim: int

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return keys_and_values(self, tokens)


class KeysAndValues(Protocol):
    """A kind with a key and a value for each key/value head."""

    @property
    def n_kv_heads(self) -> int: ...

    @property
    def k_dim(self) -> int: ...

    @property
    def v_dim(self) -> int: ...


def keys_and_values(kind: KeysAndValues, rows: int, of: str = "") -> tuple[Tensor, ...]:
    """`rows` keys and as many values, in the roles k and v; `of` goes before both (`cross_`)."""
    return (
        Tensor(f"{of}k", rows, kind.n_kv_heads * kind.k_dim, heads=kind.n_kv_heads),
        Tensor(f"{of}v", rows, kind.n_kv_heads * kind.v_dim, heads=kind.n_kv_heads),
    )
