"""Small whole numbers side by side in bytes, the way ggml's blocks hold them."""

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array

Bytes = NDArray[np.uint8]


def join_bits(levels: Bytes, bits: int) -> Bytes:
    """Put levels below 2^bits into bytes: [..., m] → [..., m·bits/8].

    The row is cut into 8/bits spans; byte j holds number j of each, the first span in its lowest bits. With 4 bits
    and 32 numbers, number j lies in the low half of byte j, and number j + 16 in the high half.
    """
    span = levels.shape[-1] * bits // 8
    joined = levels[..., :span].copy()
    for part in range(1, 8 // bits):
        joined |= levels[..., part * span : (part + 1) * span] << np.uint8(part * bits)
    return joined


def split_bits(joined: Bytes, bits: int, out: NDArray[np.generic]) -> None:
    """Write the levels of `join_bits` into `out`, [..., m] of any dtype."""
    span, last = joined.shape[-1], 8 // bits - 1
    for part in range(last + 1):
        shifted = joined >> np.uint8(part * bits) if part else joined
        if part < last:
            shifted = shifted & np.uint8(2**bits - 1)
        out[..., part * span : (part + 1) * span] = shifted


def byte_table(bits: int, offset: float = 0) -> Array:
    """What a byte holds, as floats: [256, 8/bits], less `offset`. One look-up then splits and converts a byte."""
    levels = np.empty((256, 8 // bits), np.float32)
    split_bits(np.arange(256, dtype=np.uint8)[:, None], bits, levels)
    return levels - np.float32(offset)


def interleave(rows: Array, block: int, spans: int) -> Array:
    """Put the elements of each block in the order in which bytes hold them: j, j + block/spans, …, j + 1, …"""
    parts = rows.reshape(*rows.shape[:-1], -1, spans, block // spans)
    return parts.swapaxes(-1, -2).reshape(rows.shape)


def straighten(rows: Array, block: int, spans: int) -> Array:
    """What `interleave` was given."""
    return interleave(rows, block, block // spans)
