"""What transformers' own cache holds for each kind, tensor by tensor (measured with transformers 5.24).

It differs from what the mathematics needs where the library chose so: a sliding layer keeps one token less
than its window (the newest is added before the oldest is dropped), a convolution keeps as many inputs as it
has taps, and DeepSeek V4 keeps the tokens that don't fill a block yet.
"""

from dataclasses import replace

from glasscli.specs.attention_specs import (
    CacheSpec,
    CompressedAttention,
    IndexKeys,
    LatentAttention,
    Tensor,
    WindowedAttention,
)
from glasscli.specs.state_specs import RGLRU


def held(kind: CacheSpec, tokens: int, encoder_tokens: int = 0) -> tuple[Tensor, ...]:
    """Everything that transformers keeps of one layer, for one sequence."""
    return tuple(tensor for part in kind.parts for tensor in _held(part, tokens, encoder_tokens))


def _held(part: CacheSpec, tokens: int, encoder_tokens: int) -> tuple[Tensor, ...]:
    if isinstance(part, WindowedAttention) or (isinstance(part, LatentAttention) and part.size):
        return replace(part, size=tokens).tensors(_kept(tokens, part.size), encoder_tokens)
    if isinstance(part, CompressedAttention):
        return _compressed(part, tokens)
    if isinstance(part, IndexKeys) and part.n_positions:
        return (*part.tensors(tokens), Tensor("index", tokens, part.n_positions, "i64"))
    tensors = part.tensors(tokens, encoder_tokens)
    if isinstance(part, RGLRU):
        return tensors
    return tuple(_one_more(tensor) if tensor.role == "conv" else tensor for tensor in tensors)


def _kept(tokens: int, size: int | None) -> int:
    """A window of one is never cut: the slice [-0:] is the whole."""
    assert size is not None
    return tokens if size == 1 else min(tokens, size - 1)


def _one_more(tensor: Tensor) -> Tensor:
    return Tensor(tensor.role, tensor.rows + 1, tensor.width, tensor.dtype, tensor.heads)


def _compressed(part: CompressedAttention, tokens: int) -> tuple[Tensor, ...]:
    """A window of rows, a row for every full block, and what the next block needs.

    With an index, blocks overlap: the projections are twice as wide, and the last block's first half is kept,
    its gates in float32.
    """
    window = Tensor("k", _kept(tokens, part.size), part.width)
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
