"""Attention that keeps other rows than keys and values for each head: latents, blocks of tokens, index keys, inputs."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from glasscli.errors import ConfigError
from glasscli.specs.cache_spec import CacheSpec, FullAttention, RowPerToken, Tensor
from glasscli.specs.sharding import divide


@dataclass(frozen=True)
class LatentAttention(RowPerToken):
    """One compressed row a token, shared by all heads: MLA (DeepSeek V2/V3, Kimi K2).

    The row is `latent_dim` + `rope_dim` wide: no factor 2, no head count. `index_dim` > 0 adds the key that
    the sparse-attention indexer keeps for each token (DeepSeek V3.2, GLM-5). `n_heads`, `nope_dim` and
    `v_dim` size the expanded form, for an engine that doesn't absorb the projections.
    Source: DeepSeek-V2, arXiv:2405.04434, section 2.1; DeepSeek-V3.2-Exp report, section 2.
    """

    name: ClassVar[str] = "latent"
    latent_dim: int
    rope_dim: int
    index_dim: int = 0
    n_heads: int = 0
    nope_dim: int = 0
    v_dim: int = 0
    size: int | None = None

    @property
    def window(self) -> int | None:
        return self.size

    @property
    def is_full(self) -> bool:
        return self.size is None

    @property
    def shape(self) -> str:
        return f"latent {self.latent_dim} + {self.rope_dim}" + index_words(self.index_dim)

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        rows = tokens if self.size is None else min(tokens, self.size)
        held = (Tensor("latent", rows, self.latent_dim + self.rope_dim),)
        return (*held, Tensor("index", rows, self.index_dim)) if self.index_dim else held

    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        return ("MLA", "index") if self.index_dim else ("MLA",)

    def shard(self, tp: int) -> Self:
        return replace(self, n_heads=divide(self.n_heads, tp, "heads"))

    def copies(self, tp: int) -> str | None:
        return "every rank keeps all of a row that the heads share" if tp > 1 else None

    def flops(self, n_heads: int, tokens: int, encoder_tokens: int) -> int:
        """Of the absorbed form: each query head reads the latent twice, as its key and as its value."""
        rows = self.tensors(tokens)[0].rows
        return 2 * n_heads * rows * (2 * self.latent_dim + self.rope_dim)

    def expanded(self) -> FullAttention:
        """The keys and values of every head, for engines that don't absorb the projections. Raises ConfigError."""
        if not (self.n_heads and self.nope_dim and self.v_dim):
            raise ConfigError("the expanded form of MLA needs qk_nope_head_dim and v_head_dim", "v_head_dim")
        return FullAttention(self.n_heads, self.nope_dim + self.rope_dim, self.v_dim)


@dataclass(frozen=True)
class CompressedAttention(CacheSpec):
    """The last `size` tokens plus one row for every `ratio` tokens, keys and values in one (DeepSeek V4).

    `index_dim` > 0 adds an index key to each compressed row (compressed sparse attention). With a `ratio` of
    0 the layer compresses nothing: the window alone.
    """

    name: ClassVar[str] = "compressed"
    is_full: ClassVar[bool] = False
    width: int
    size: int
    ratio: int
    index_dim: int = 0

    @property
    def window(self) -> int:
        return self.size

    @property
    def label(self) -> str:
        return f"{self.name} {self.ratio}:1" if self.ratio else f"sliding {self.size:,}"

    @property
    def stride(self) -> int:
        return self.ratio or 1

    @property
    def shape(self) -> str:
        return f"rows of {self.width}" + index_words(self.index_dim)

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        window = Tensor("k", min(tokens, self.size), self.width)
        if not self.ratio:
            return (window,)
        blocks = -(-tokens // self.ratio)
        held = (window, Tensor("k", blocks, self.width))
        return (*held, Tensor("index", blocks, self.index_dim)) if self.index_dim else held

    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        return (self.name, "index") if self.index_dim else (self.name,)

    def shard(self, tp: int) -> Self:
        return self

    def flops(self, n_heads: int, tokens: int, encoder_tokens: int) -> None:
        """How many compressed rows a query reads is not known."""

    def shared_rows(self, position: int, rows: int, tokens: int, prefix: int) -> int:
        """Of the window, the tokens that are left of the prefix; of the compressed rows, its full blocks."""
        return max(0, rows - (tokens - prefix)) if position == 0 else min(rows, prefix // self.stride)


@dataclass(frozen=True)
class IndexKeys(RowPerToken):
    """One key a token for a sparse-attention indexer, beside ordinary keys and values (MiniMax M3, Qwen4).

    `n_positions` numbers of 8 bytes go with each key where an engine stores its position too.
    """

    name: ClassVar[str] = "index"
    window: ClassVar[None] = None
    is_full: ClassVar[bool] = False
    dim: int
    n_positions: int = 0
    dtype: str | None = None

    @property
    def shape(self) -> str:
        return f"index {self.dim:,}"

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return (Tensor("index", tokens, self.dim, self.dtype),)

    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        return ("index",)

    def shard(self, tp: int) -> Self:
        return self

    def flops(self, n_heads: int, tokens: int, encoder_tokens: int) -> int:
        """None of q·k or weights·v: they choose what those are computed for."""
        return 0


@dataclass(frozen=True)
class HiddenStates(RowPerToken):
    """The layer's input itself, kept for each token instead of keys and values (XLNet, Reformer).

    Beyond `known` tokens what is kept changes in a way glass does not know (Reformer's hashed buckets).
    """

    name: ClassVar[str] = "hidden"
    is_full: ClassVar[bool] = False
    width: int
    size: int | None = None
    known: int | None = None

    @property
    def window(self) -> int | None:
        return self.size

    @property
    def shape(self) -> str:
        return f"rows of {self.width}"

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        if self.known is not None and tokens > self.known:
            raise ConfigError(
                f"beyond {self.known} tokens Reformer pads and hashes what it keeps: not known here",
                field="lsh_attn_chunk_length",
            )
        return (Tensor("k", tokens if self.size is None else min(tokens, self.size), self.width),)

    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        return ("hidden states",)

    def shard(self, tp: int) -> Self:
        if tp > 1:
            raise ConfigError("how hidden layers split over ranks is not known", "tp")
        return self

    def flops(self, n_heads: int, tokens: int, encoder_tokens: int) -> None:
        """Keys and values are computed anew from what is kept: not counted here."""


def index_words(index_dim: int) -> str:
    """What the shape of a row says of the index key beside it."""
    return f" + index {index_dim}" if index_dim else ""
