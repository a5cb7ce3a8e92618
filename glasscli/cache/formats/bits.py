"""Small whole numbers side by side in bytes, the way ggml's blocks hold them."""

import numpy as np
from numpy.typing import NDArray

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
