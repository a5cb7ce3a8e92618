"""What one layer keeps between two steps, one frozen dataclass per kind of attention.

A kind is what the mathematics needs, for one sequence, with nothing padded. What an engine allocates on
top is that engine's business; what a config.json means is `families`' business. No kind knows bytes:
`Tensor` names the dtype only where the kind fixes it (a recurrent state kept in float32), else the plan's
dtype for that role counts.

Attention kinds count rows of tokens; `glasscli.specs.state_specs` holds the kinds whose size no token changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from glasscli.errors import ConfigError
from glasscli.specs.cache_spec import CacheSpec, FullAttention, Single, Tensor, keys_and_values

__all__ = [
    "CacheSpec",
    "ChunkedAttention",
    "CompressedAttention",
    "CrossAttention",
    "FullAttention",
    "HiddenStates",
    "IndexKeys",
    "LatentAttention",
    "NoCache",
    "Several",
    "Single",
    "SlidingAttention",
    "Tensor",
    "WindowedAttention",
    "each_part",
    "label",
]


@dataclass(frozen=True)
class WindowedAttention(Single):
    """Keys and values of at most `size` tokens: what sliding and chunked layers hold."""

    name: ClassVar[str]
    n_kv_heads: int
    k_dim: int
    v_dim: int
    size: int

    @property
    def window(self) -> int | None:
        return self.size

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return keys_and_values(self, min(tokens, self.size))


class SlidingAttention(WindowedAttention):
    """Keys and values of the last `size` tokens (Mistral 0.1, Gemma 2/3, gpt-oss)."""

    name = "sliding"


class ChunkedAttention(WindowedAttention):
    """Keys and values of the current chunk of `size` tokens (Llama 4): at most a whole chunk."""

    name = "chunked"


@dataclass(frozen=True)
class LatentAttention(Single):
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

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        rows = tokens if self.size is None else min(tokens, self.size)
        held = (Tensor("latent", rows, self.latent_dim + self.rope_dim),)
        return (*held, Tensor("index", rows, self.index_dim)) if self.index_dim else held


@dataclass(frozen=True)
class Prefix(Single):
    """Keys and values of a learnt prompt that every sequence begins with: `rows` of them, whatever follows."""

    name: ClassVar[str] = "prefix"
    n_kv_heads: int
    k_dim: int
    v_dim: int
    rows: int

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return keys_and_values(self, self.rows)


@dataclass(frozen=True)
class IndexKeys(Single):
    """One key a token for a sparse-attention indexer, beside ordinary keys and values (MiniMax M3, Qwen4).

    `n_positions` numbers of 8 bytes go with each key where an engine stores its position too.
    """

    name: ClassVar[str] = "index"
    dim: int
    n_positions: int = 0
    dtype: str | None = None

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return (Tensor("index", tokens, self.dim, self.dtype),)


@dataclass(frozen=True)
class HiddenStates(Single):
    """The layer's input itself, kept for each token instead of keys and values (XLNet, Reformer).

    Beyond `known` tokens what is kept changes in a way glass does not know (Reformer's hashed buckets).
    """

    name: ClassVar[str] = "hidden"
    width: int
    size: int | None = None
    known: int | None = None

    @property
    def window(self) -> int | None:
        return self.size

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        if self.known is not None and tokens > self.known:
            raise ConfigError(
                f"beyond {self.known} tokens Reformer pads and hashes what it keeps: not known here",
                field="lsh_attn_chunk_length",
            )
        return (Tensor("k", tokens if self.size is None else min(tokens, self.size), self.width),)


@dataclass(frozen=True)
class CrossAttention(Single):
    """Keys and values of the encoder's tokens, written once (Whisper, T5, BART)."""

    name: ClassVar[str] = "cross"
    n_kv_heads: int
    k_dim: int
    v_dim: int

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return keys_and_values(self, encoder_tokens, of="cross_")


@dataclass(frozen=True)
class CompressedAttention(Single):
    """The last `size` tokens plus one row for every `ratio` tokens, keys and values in one (DeepSeek V4).

    `index_dim` > 0 adds an index key to each compressed row (compressed sparse attention). With a `ratio` of
    0 the layer compresses nothing: the window alone.
    """

    name: ClassVar[str] = "compressed"
    width: int
    size: int
    ratio: int
    index_dim: int = 0

    @property
    def window(self) -> int | None:
        return self.size

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        if not self.ratio:
            return (Tensor("k", min(tokens, self.size), self.width),)
        blocks = -(-tokens // self.ratio)
        held = (Tensor("k", min(tokens, self.size), self.width), Tensor("k", blocks, self.width))
        return (*held, Tensor("index", blocks, self.index_dim)) if self.index_dim else held


@dataclass(frozen=True)
class NoCache(Single):
    """A layer without a cache of its own: an MLP, or one that reads another's. `why` says which."""

    name: ClassVar[str] = "none"
    why: str = "no attention"

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return ()


@dataclass(frozen=True)
class Several:
    """Several kinds side by side in a layer: attention with a state (Falcon-H1), self with cross (T5)."""

    name: ClassVar[str] = "several"
    parts: tuple[CacheSpec, ...]

    @property
    def window(self) -> int | None:
        windows = [part.window for part in self.parts if part.window is not None]
        return max(windows) if windows else None

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return tuple(tensor for part in self.parts for tensor in part.tensors(tokens, encoder_tokens))


def label(kind: CacheSpec) -> str:
    """How a table names a kind: its parts' names joined by a plus."""
    return " + ".join(part.name for part in kind.parts)


def each_part(layers: tuple[CacheSpec, ...]) -> Iterator[CacheSpec]:
    """Every part of every layer, in model order."""
    for layer in layers:
        yield from layer.parts
