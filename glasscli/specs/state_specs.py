"""The specs whose size no token changes: recurrent states, and the inputs a convolution keeps.

A convolution of `kernel` taps needs the last kernel − 1 inputs. The state's dtype is fixed here where the
reference implementation fixes it (`state_dtype`, mostly f32 in a bf16 model); None means the model's.
"""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from glasscli.specs.cache_spec import CacheSpec, Tensor
from glasscli.specs.sharding import divide


class StateSpec(CacheSpec):
    """Specs that are one state a sequence: they never grow, and no sequence can share another's."""

    window: ClassVar[None] = None
    is_full: ClassVar[bool] = False

    @property
    @abstractmethod
    def word(self) -> str:
        """What a model with such layers is known by."""

    @property
    def shape(self) -> str:
        return " + ".join(f"{tensor.role} {tensor.rows * tensor.width:,}" for tensor in self.tensors(1)) or "nothing"

    def traits(self, n_heads: int | None, max_positions: int | None) -> tuple[str, ...]:
        return (self.word,)

    def flops(self, n_heads: int, tokens: int, encoder_tokens: int) -> int:
        return 0

    def shared_rows(self, position: int, rows: int, tokens: int, prefix: int) -> int:
        return 0


@dataclass(frozen=True)
class ShortConv(StateSpec):
    """The last kernel − 1 inputs of a short convolution (LFM2, Inkling): no state."""

    name: ClassVar[str] = "conv"
    word: ClassVar[str] = "conv"
    dim: int
    kernel: int
    dtype: str | None = None

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return (Tensor("conv", self.kernel - 1, self.dim, self.dtype),)

    def shard(self, tp: int) -> Self:
        return replace(self, dim=divide(self.dim, tp, "channels"))


@dataclass(frozen=True)
class Mamba1(StateSpec):
    """Selective state space, one state vector a channel: inner × d_state, and a convolution over `inner`.

    Source: Gu and Dao 2023, arXiv:2312.00752.
    """

    name: ClassVar[str] = "mamba1"
    word: ClassVar[str] = "Mamba"
    inner: int
    d_state: int
    kernel: int
    state_dtype: str | None = None

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return (
            Tensor("conv", self.kernel - 1, self.inner),
            Tensor("state", 1, self.inner * self.d_state, self.state_dtype),
        )

    def shard(self, tp: int) -> Self:
        return replace(self, inner=divide(self.inner, tp, "state channels"))


@dataclass(frozen=True)
class Mamba2(StateSpec):
    """State space duality: heads × head_dim × d_state; the convolution also covers B and C of each group.

    `chunk` is how many tokens its kernels take at once, where the config says it: engines that keep states along the
    way keep them there. It is no part of what a state is.

    Source: Dao and Gu 2024, arXiv:2405.21060.
    """

    name: ClassVar[str] = "mamba2"
    word: ClassVar[str] = "Mamba-2"
    n_heads: int
    head_dim: int
    d_state: int
    n_groups: int
    kernel: int
    state_dtype: str | None = None
    chunk: int | None = field(default=None, compare=False, repr=False)

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        inner = self.n_heads * self.head_dim
        return (
            Tensor("conv", self.kernel - 1, inner + 2 * self.n_groups * self.d_state),
            Tensor("state", 1, inner * self.d_state, self.state_dtype),
        )

    def shard(self, tp: int) -> Self:
        """Heads split; groups are padded up to the ranks where there are fewer of them."""
        groups = 1 if self.n_groups < tp else divide(self.n_groups, tp, "state groups")
        return replace(self, n_heads=divide(self.n_heads, tp, "state heads"), n_groups=groups)


@dataclass(frozen=True)
class DeltaNet(StateSpec):
    """Gated DeltaNet (Qwen3-Next/3.5): a k_dim × v_dim matrix for each value head, a convolution over q, k, v.

    Source: Yang et al. 2024, arXiv:2412.06464.
    """

    name: ClassVar[str] = "deltanet"
    word: ClassVar[str] = "DeltaNet"
    n_k_heads: int
    n_v_heads: int
    k_dim: int
    v_dim: int
    kernel: int
    state_dtype: str | None = "f32"

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        conv = 2 * self.n_k_heads * self.k_dim + self.n_v_heads * self.v_dim
        return (
            Tensor("conv", self.kernel - 1, conv),
            Tensor("state", 1, self.n_v_heads * self.k_dim * self.v_dim, self.state_dtype),
        )

    def shard(self, tp: int) -> Self:
        return replace(
            self,
            n_k_heads=divide(self.n_k_heads, tp, "state key heads"),
            n_v_heads=divide(self.n_v_heads, tp, "state value heads"),
        )


@dataclass(frozen=True)
class KDA(StateSpec):
    """Kimi Delta Attention: a head_dim × head_dim matrix for each head, a convolution each for q, k and v.

    Source: Kimi Linear report, arXiv:2510.26692.
    """

    name: ClassVar[str] = "kda"
    word: ClassVar[str] = "KDA"
    n_heads: int
    head_dim: int
    kernel: int
    state_dtype: str | None = "f32"

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return (
            Tensor("conv", self.kernel - 1, 3 * self.n_heads * self.head_dim),
            Tensor("state", 1, self.n_heads * self.head_dim**2, self.state_dtype),
        )

    def shard(self, tp: int) -> Self:
        return replace(self, n_heads=divide(self.n_heads, tp, "state heads"))


@dataclass(frozen=True)
class RGLRU(StateSpec):
    """The recurrence of RecurrentGemma: one float32 number a channel, and a short convolution.

    Source: De et al. 2024, arXiv:2402.19427.
    """

    name: ClassVar[str] = "rg-lru"
    word: ClassVar[str] = "RG-LRU"
    width: int
    kernel: int
    state_dtype: str | None = "f32"

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return (
            Tensor("conv", self.kernel - 1, self.width),
            Tensor("state", 1, self.width, self.state_dtype),
        )

    def shard(self, tp: int) -> Self:
        return replace(self, width=divide(self.width, tp, "state channels"))


@dataclass(frozen=True)
class LinearState(StateSpec):
    """A state with no convolution of its own (MiniMax lightning attention, RWKV, xLSTM).

    `fixed` elements are kept in the dtype `fixed_dtype`, `free` ones in the model's.
    """

    name: ClassVar[str] = "linear"
    word: ClassVar[str] = "linear"
    free: int = 0
    fixed: int = 0
    fixed_dtype: str | None = "f32"

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        held = (Tensor("state", 1, self.free), Tensor("state", 1, self.fixed, self.fixed_dtype))
        return tuple(tensor for tensor in held if tensor.width)

    def shard(self, tp: int) -> Self:
        free, fixed = (divide(count, tp, "state elements") for count in (self.free, self.fixed))
        return replace(self, free=free, fixed=fixed)
