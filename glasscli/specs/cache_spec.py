"""What every kind of layer answers for, and the spec that a Llama has: all tokens' keys and values.

A spec is what the mathematics needs, for one sequence, with nothing padded. What an engine allocates on top is
that engine's business; what a config.json means is `families`' business. It stands apart from the other specs
because running a model needs this one alone, and each dataclass that is made costs a program that starts a third
of a millisecond.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

from glasscli.specs.sharding import split_heads

ROLES = ("k", "v", "latent", "index", "cross_k", "cross_v", "conv", "state")


class Tensor(NamedTuple):
    """One tensor that one layer holds for one sequence: `rows` × `width` elements.

    `role`, one of ROLES, picks the dtype in a plan. `rows` counts tokens (or blocks of them); 1 for a state.
    `dtype` is set only where the spec fixes it (a recurrent state kept in float32). A row is `heads` heads side by
    side, each width // heads wide: what a block dtype has to divide.
    """

    role: str
    rows: int
    width: int
    dtype: str | None = None
    heads: int = 1


class CacheSpec(ABC):
    """What one layer keeps between two steps, for one sequence: vLLM's word for it.

    A new kind of layer is a subclass, a frozen dataclass (equal specs are one line of a table), and answers
    whatever is abstract here; tables, plans and documents then know it. An engine refuses it by name until it is
    given a rule there.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The kind in a word, for tables and documents: `full`. No two classes share one."""

    @property
    @abstractmethod
    def window(self) -> int | None:
        """The number of tokens it stops growing at, None if it never does or never grows."""

    @property
    @abstractmethod
    def is_full(self) -> bool:
        """Whether it is attention that keeps every token, however many: what a draft layer copies."""

    @property
    @abstractmethod
    def shape(self) -> str:
        """What one layer holds, in words: the widths of a token's row, or of the state."""

    @abstractmethod
    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        """Everything held for one sequence after `tokens` tokens."""

    @abstractmethod
    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        """The words that a model with such layers is known by (`GQA`, `window`), for so many query heads."""

    @abstractmethod
    def shard(self, tp: int) -> "CacheSpec":
        """What one of `tp` tensor-parallel ranks keeps. Raises UnevenError, or ConfigError where it is not known."""

    @abstractmethod
    def flops(self, n_heads: int, tokens: int, encoder_tokens: int) -> int | None:
        """Multiplies and adds of q·k and weights·v for one new token; 0 without attention, None where not known."""

    @abstractmethod
    def shared_rows(self, position: int, rows: int, tokens: int, prefix: int) -> int:
        """Of the `rows` rows of tensor number `position`, held after `tokens`: those that the first `prefix` made.

        Sequences that begin with the same `prefix` tokens may keep them once.
        """

    @property
    def label(self) -> str:
        """The kind with the length at which it stops growing: `sliding 1,024`."""
        return self.name if self.window is None else f"{self.name} {self.window:,}"

    @property
    def stride(self) -> int:
        """Tokens in which it grows by a step: 1 unless a row stands for several."""
        return 1

    @property
    def parts(self) -> "tuple[CacheSpec, ...]":
        """The specs a layer is made of: itself, unless it is `Several`."""
        return (self,)

    @property
    def keeps_nothing(self) -> bool:
        """Whether such a layer has no cache of its own, however many tokens there are."""
        return not self.tensors(1, 1)

    def copies(self, tp: int) -> str | None:
        """What several of `tp` ranks keep alike, in words; None where each keeps a share of its own."""
        whole = tp > 1 and not self.keeps_nothing and self.shard(tp) == self
        return "every rank keeps all of a row that the heads share" if whole else None


class RowPerToken(CacheSpec):
    """Specs with a row for each token, the oldest of which may be dropped."""

    def shared_rows(self, position: int, rows: int, tokens: int, prefix: int) -> int:
        return max(0, rows - (tokens - prefix))


@dataclass(frozen=True)
class KeysAndValues(RowPerToken):
    """Specs with a key and a value for each key/value head, in as many rows as the subclass says."""

    n_kv_heads: int
    k_dim: int
    v_dim: int

    @property
    def shape(self) -> str:
        heads = f"{self.n_kv_heads:,} KV head{'s' * (self.n_kv_heads != 1)}"
        return f"{heads} × {self.k_dim}" if self.k_dim == self.v_dim else f"{heads} × K {self.k_dim}, V {self.v_dim}"

    def keys_and_values(self, rows: int, of: str = "") -> tuple[Tensor, ...]:
        """`rows` keys and as many values, in the roles k and v; `of` goes before both (`cross_`)."""
        return (
            Tensor(f"{of}k", rows, self.n_kv_heads * self.k_dim, heads=self.n_kv_heads),
            Tensor(f"{of}v", rows, self.n_kv_heads * self.v_dim, heads=self.n_kv_heads),
        )

    def sharing(self, n_heads: int | None) -> str:
        """How `n_heads` query heads share the key/value heads: MHA, GQA or MQA."""
        if n_heads is None or self.n_kv_heads == n_heads:
            return "MHA"
        return "MQA" if self.n_kv_heads == 1 else "GQA"

    def shard(self, tp: int) -> Self:
        return replace(self, n_kv_heads=split_heads(self.n_kv_heads, tp))

    def flops(self, n_heads: int, tokens: int, encoder_tokens: int) -> int:
        rows = self.tensors(tokens, encoder_tokens)[0].rows
        return 2 * n_heads * rows * (self.k_dim + self.v_dim)

    def copies(self, tp: int) -> str | None:
        n = self.n_kv_heads
        return f"{n} key/value heads, each kept by {tp // n} ranks" if n < tp else None


@dataclass(frozen=True)
class FullAttention(KeysAndValues):
    """Every token's key and value, for each key/value head (MHA, GQA and MQA differ in the heads alone)."""

    name: ClassVar[str] = "full"
    window: ClassVar[None] = None
    is_full: ClassVar[bool] = True

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return self.keys_and_values(tokens)

    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        return (self.sharing(n_heads),)
