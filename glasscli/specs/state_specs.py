"""The kinds of layer whose memory no token changes: recurrent states, and the inputs a convolution keeps.

A convolution of `kernel` taps needs the last kernel − 1 inputs. The state's dtype is fixed here where the
reference implementation fixes it (`state_dtype`, mostly f32 in a bf16 model); None means the model's.
"""

from dataclasses import dataclass
from typing import ClassVar

from glasscli.specs.attention_specs import Single, Tensor


@dataclass(frozen=True)
class ShortConv(Single):
    """The last kernel − 1 inputs of a short convolution (LFM2, Inkling): no state."""

    name: ClassVar[str] = "conv"
    dim: int
    kernel: int
    dtype: str | None = None

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return (Tensor("conv", self.kernel - 1, self.dim, self.dtype),)


@dataclass(frozen=True)
class Mamba1(Single):
    """Selective state space, one state vector a channel: inner × d_state, and a convolution over `inner`.

    Source: Gu and Dao 2023, arXiv:2312.00752.
    """

    name: ClassVar[str] = "mamba1"
    inner: int
    d_state: int
    kernel: int
    state_dtype: str | None = None

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return (
            Tensor("conv", self.kernel - 1, self.inner),
            Tensor("state", 1, self.inner * self.d_state, self.state_dtype),
        )


@dataclass(frozen=True)
class Mamba2(Single):
    """State space duality: heads × head_dim × d_state; the convolution also covers B and C of each group.

    Source: Dao and Gu 2024, arXiv:2405.21060.
    """

    name: ClassVar[str] = "mamba2"
    n_heads: int
    head_dim: int
    d_state: int
    n_groups: int
    kernel: int
    state_dtype: str | None = None

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        inner = self.n_heads * self.head_dim
        return (
            Tensor("conv", self.kernel - 1, inner + 2 * self.n_groups * self.d_state),
            Tensor("state", 1, inner * self.d_state, self.state_dtype),
        )


@dataclass(frozen=True)
class DeltaNet(Single):
    """Gated DeltaNet (Qwen3-Next/3.5): a k_dim × v_dim matrix for each value head, a convolution over q, k, v.

    Source: Yang et al. 2024, arXiv:2412.06464.
    """

    name: ClassVar[str] = "deltanet"
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


@dataclass(frozen=True)
class KDA(Single):
    """Kimi Delta Attention: a head_dim × head_dim matrix for each head, a convolution each for q, k and v.

    Source: Kimi Linear report, arXiv:2510.26692.
    """

    name: ClassVar[str] = "kda"
    n_heads: int
    head_dim: int
    kernel: int
    state_dtype: str | None = "f32"

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return (
            Tensor("conv", self.kernel - 1, 3 * self.n_heads * self.head_dim),
            Tensor("state", 1, self.n_heads * self.head_dim**2, self.state_dtype),
        )


@dataclass(frozen=True)
class RGLRU(Single):
    """The recurrence of RecurrentGemma: one float32 number a channel, and a short convolution.

    Source: De et al. 2024, arXiv:2402.19427.
    """

    name: ClassVar[str] = "rg-lru"
    width: int
    kernel: int
    state_dtype: str | None = "f32"

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        return (
            Tensor("conv", self.kernel - 1, self.width),
            Tensor("state", 1, self.width, self.state_dtype),
        )


@dataclass(frozen=True)
class LinearState(Single):
    """A state with no convolution of its own (MiniMax lightning attention, RWKV, xLSTM).

    `fixed` elements are kept in the dtype `fixed_dtype`, `free` ones in the model's.
    """

    name: ClassVar[str] = "linear"
    free: int = 0
    fixed: int = 0
    fixed_dtype: str | None = "f32"

    def tensors(self, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
        held = (Tensor("state", 1, self.free), Tensor("state", 1, self.fixed, self.fixed_dtype))
        return tuple(tensor for tensor in held if tensor.width)
