"""What one layer keeps between two steps: a spec for each kind of attention, and for layers of several or none.

No spec knows bytes: `Tensor` names the dtype only where the spec fixes it, else the plan's dtype for that role
counts. Keys and values stand here; `row_specs` holds the attention that keeps other rows, `state_specs` the specs
whose size no token changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm
from typing import ClassVar, Self

from glasscli.specs.cache_spec import CacheSpec, FullAttention, KeysAndValues, Tensor
from glasscli.specs.row_specs import CompressedAttention, HiddenStates, IndexKeys, LatentAttention

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
    "Prefix",
    "Several",
    "SlidingAttention",
    "Tensor",
    "WindowedAttention",
    "each_part",
]


@dataclass(frozen=True)
class WindowedAttention(KeysAndValues):
    """Keys and values of at most `size` tokens: what sliding and chunked layers hold."""

    is_full: ClassVar[bool] = False
    size: int

    @property
    def window(self) -> int:
        return self.size

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return self.keys_and_values(min(tokens, self.size))


class SlidingAttention(WindowedAttention):
    """Keys and values of the last `size` tokens (Mistral 0.1, Gemma 2/3, gpt-oss)."""

    name: ClassVar[str] = "sliding"

    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        slides = max_positions is None or self.size < max_positions
        return (self.sharing(n_heads), "window") if slides else (self.sharing(n_heads),)


class ChunkedAttention(WindowedAttention):
    """Keys and values of the current chunk of `size` tokens (Llama 4): at most a whole chunk."""

    name: ClassVar[str] = "chunked"

    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        return (self.sharing(n_heads), "chunks")


@dataclass(frozen=True)
class CrossAttention(KeysAndValues):
    """Keys and values of the encoder's tokens, written once (Whisper, T5, BART)."""

    name: ClassVar[str] = "cross"
    window: ClassVar[None] = None
    is_full: ClassVar[bool] = False

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return self.keys_and_values(encoder_tokens, of="cross_")

    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        return ("cross",)

    def shared_rows(self, position: int, rows: int, tokens: int, prefix: int) -> int:
        """None: what the encoder read is each sequence's own."""
        return 0


@dataclass(frozen=True)
class Prefix(KeysAndValues):
    """Keys and values of a learnt prompt that every sequence begins with: `rows` of them, whatever follows."""

    name: ClassVar[str] = "prefix"
    window: ClassVar[None] = None
    is_full: ClassVar[bool] = False
    rows: int

    @property
    def shape(self) -> str:
        return f"{self.rows:,} rows of {super().shape}"

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return self.keys_and_values(self.rows)

    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        return ()

    def shared_rows(self, position: int, rows: int, tokens: int, prefix: int) -> int:
        """All of them: the prompt stands before whatever the sequences share."""
        return rows if prefix else 0


@dataclass(frozen=True)
class NoCache(CacheSpec):
    """A layer without a cache of its own: an MLP, or one that reads another's. `why` says which."""

    name: ClassVar[str] = "none"
    label: ClassVar[str] = "no cache"
    window: ClassVar[None] = None
    is_full: ClassVar[bool] = False
    why: str = "no attention"

    @property
    def shape(self) -> str:
        return self.why

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return ()

    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        return ()

    def shard(self, tp: int) -> Self:
        return self

    def flops(self, n_heads: int, tokens: int, encoder_tokens: int) -> int:
        return 0

    def shared_rows(self, position: int, rows: int, tokens: int, prefix: int) -> int:
        return 0


@dataclass(frozen=True)
class Several(CacheSpec):
    """Several specs side by side in a layer: attention with a state (Falcon-H1), self with cross (T5)."""

    name: ClassVar[str] = "several"
    specs: tuple[CacheSpec, ...]

    @property
    def parts(self) -> tuple[CacheSpec, ...]:
        return self.specs

    @property
    def label(self) -> str:
        return " + ".join(part.label for part in self.parts)

    @property
    def window(self) -> int | None:
        windows = [part.window for part in self.parts if part.window is not None]
        return max(windows) if windows else None

    @property
    def is_full(self) -> bool:
        return any(part.is_full for part in self.parts)

    @property
    def stride(self) -> int:
        return lcm(*(part.stride for part in self.parts))

    @property
    def shape(self) -> str:
        return " + ".join(part.shape for part in self.parts)

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return tuple(tensor for part in self.parts for tensor in part.tensors(tokens, encoder_tokens))

    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        return tuple(word for part in self.parts for word in part.traits(n_heads, max_positions))

    def shard(self, tp: int) -> "Several":
        return Several(tuple(part.shard(tp) for part in self.parts))

    def flops(self, n_heads: int, tokens: int, encoder_tokens: int) -> int | None:
        counted = [part.flops(n_heads, tokens, encoder_tokens) for part in self.parts]
        known = [count for count in counted if count is not None]
        return sum(known) if len(known) == len(counted) else None

    def shared_rows(self, position: int, rows: int, tokens: int, prefix: int) -> int:
        for part in self.parts:
            if position < (held := len(part.tensors(tokens))):
                return part.shared_rows(position, rows, tokens, prefix)
            position -= held
        raise IndexError(position)


def each_part(layers: tuple[CacheSpec, ...]) -> Iterator[CacheSpec]:
    """Every part of every layer, in model order."""
    for layer in layers:
        yield from layer.parts
