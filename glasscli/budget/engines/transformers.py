"""What `transformers` keeps in its cache objects, tensor by tensor (measured with transformers 5.24).

It differs from what the mathematics needs where the library chose so: a sliding layer keeps one token less
than its window (the newest is added before the oldest is dropped), a convolution keeps as many inputs as it
has taps, and DeepSeek V4 keeps the tokens that don't fill a block yet.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from glasscli.budget.engines.engine import Dtypes, Engine, Held, choose_dtypes, rule_for
from glasscli.budget.engines.option import Option
from glasscli.dtypes import dtype_named, row_bytes
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import (
    CacheSpec,
    ChunkedAttention,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    HiddenStates,
    IndexKeys,
    LatentAttention,
    NoCache,
    Prefix,
    SlidingAttention,
    Tensor,
    WindowedAttention,
)
from glasscli.specs.state_specs import KDA, RGLRU, DeltaNet, LinearState, Mamba1, Mamba2, ShortConv

if TYPE_CHECKING:
    from glasscli.budget.request import Request

CACHE_DTYPES = ("f32", "f16", "bf16", "f64")
Tensors = tuple[Tensor, ...]


class Transformers(Engine):
    """One tensor for all sequences, in the model's dtype even where the config names another for engines that serve."""

    name: ClassVar[str] = "transformers"
    title: ClassVar[str] = "transformers"
    options: ClassVar[Mapping[str, Option]] = {}
    other_dtypes = ("f32", "f16")
    span = 1
    edition = "5.24"

    def __init__(self, request: "Request", parts: tuple[CacheSpec, ...]) -> None:
        if request.prefix_shared:
            raise ConfigError("transformers holds every sequence's tokens: no prefix is shared", "prefix_shared")
        super().__init__(request, parts)
        for part in parts:
            rule_for(RULES, part, self.title, request)

    def choose_dtypes(self) -> Dtypes:
        request = self.request
        base = choose_dtypes(request)
        k, v = (dtype_named(name or base.model).name for name in (request.k_dtype, request.v_dtype))
        for field, name in (("k_dtype", k), ("v_dtype", v)):
            if name not in CACHE_DTYPES:
                raise ConfigError(f"transformers: the size of a cache in {name} is not known", field)
        return replace(base, k=k, v=v, index=dtype_named(request.index_dtype or k).name)

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        held: Held = {}
        for tensor in RULES[type(part)](part, tokens, self.request.encoder):
            dtype = tensor.dtype or self.dtypes.of(tensor)
            size = sequences * tensor.rows * row_bytes(dtype, tensor.width // tensor.heads, tensor.heads)
            held[tensor.role] = held.get(tensor.role, 0) + size
        return held

    def notes(self) -> tuple[str, ...]:
        hint = self.request.layout.kv_dtype_hint
        if hint and self.request.k_dtype is None:
            return (f"transformers keeps {self.dtypes.k}; the config's {hint} cache is for engines that serve it",)
        return ()


def needed(part: CacheSpec, tokens: int, encoder_tokens: int) -> Tensors:
    """What the mathematics needs, and no more."""
    return part.tensors(tokens, encoder_tokens)


def windowed(part: WindowedAttention | LatentAttention, tokens: int, encoder_tokens: int) -> Tensors:
    """A token less than the window."""
    assert part.size is not None
    return replace(part, size=tokens).tensors(before_the_newest(tokens, part.size))


def latents(part: LatentAttention, tokens: int, encoder_tokens: int) -> Tensors:
    """Every latent, or those of a window."""
    return needed(part, tokens, 0) if part.is_full else windowed(part, tokens, 0)


def before_the_newest(tokens: int, size: int) -> int:
    """A window of one is never cut: the slice [-0:] is the whole."""
    return tokens if size == 1 else min(tokens, size - 1)


def with_positions(part: IndexKeys, tokens: int, encoder_tokens: int) -> Tensors:
    """Index keys, and the positions of their blocks where the class stores them."""
    held = part.tensors(tokens)
    return (*held, Tensor("index", tokens, part.n_positions, "i64")) if part.n_positions else held


def one_input_more(part: CacheSpec, tokens: int, encoder_tokens: int) -> Tensors:
    """As many inputs of a convolution as it has taps."""
    held = part.tensors(tokens)
    return tuple(tensor._replace(rows=tensor.rows + 1) if tensor.role == "conv" else tensor for tensor in held)


def blocks(part: CompressedAttention, tokens: int, encoder_tokens: int) -> Tensors:
    """A window of rows, a row for every full block, and what the next block needs.

    With an index, blocks overlap: the projections are twice as wide, and the last block's first half is kept,
    its gates in float32.
    """
    window = Tensor("k", before_the_newest(tokens, part.size), part.width)
    if not part.ratio:
        return (window,)
    full, rest = divmod(tokens, part.ratio)
    if not part.index_dim:
        return (window, Tensor("k", full, part.width), Tensor("k", 2 * rest, part.width))
    tensors = [window]
    for role, width in (("k", part.width), ("index", part.index_dim)):
        tensors += [Tensor(role, full, width), Tensor(role, 2 * rest, 2 * width)]
        if full:
            tensors += [Tensor(role, part.ratio, width), Tensor(role, part.ratio, width, "f32")]
    return tuple(tensors)


# What each class of spec keeps: (part, tokens, encoder tokens) → tensors.
RULES: Mapping[type[CacheSpec], Callable[[Any, int, int], Tensors]] = {
    FullAttention: needed,
    SlidingAttention: windowed,
    ChunkedAttention: windowed,
    LatentAttention: latents,
    Prefix: needed,
    CrossAttention: needed,
    IndexKeys: with_positions,
    HiddenStates: needed,
    CompressedAttention: blocks,
    NoCache: needed,
    ShortConv: one_input_more,
    Mamba1: one_input_more,
    Mamba2: one_input_more,
    DeltaNet: one_input_more,
    KDA: one_input_more,
    RGLRU: needed,
    LinearState: needed,
}


def held(layer: CacheSpec, tokens: int, encoder_tokens: int = 0) -> Tensors:
    """Everything that transformers keeps of one layer, for one sequence."""
    return tuple(tensor for part in layer.parts for tensor in RULES[type(part)](part, tokens, encoder_tokens))
