"""The blocks of llama.cpp: 32 elements, a scale as a half, and levels of 8, 5 or 4 bits.

    format   a block                                                    bytes
    q8_0     f16 d, 32 × i8                                              34
    q5_1     f16 d, f16 min, 32 high bits, 16 × two low halves of a byte 24
    q5_0     f16 d, 32 high bits, 16 × two low halves of a byte          22
    q4_1     f16 d, f16 min, 16 × two halves of a byte                   20
    q4_0     f16 d, 16 × two halves of a byte                            18

Scale and levels are found in float32, each operation rounded (no fused multiply-add, as in llama.cpp built for
x86-64); the scale is rounded to a half only for keeping. A block with ∞ or NaN in it reads as ∞ or NaN.

Source: ggml's `block_q8_0` … in ggml-common.h, `quantize_row_q8_0_ref` … in ggml-quants.c.
"""

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array
from glasscli.cache.formats.base import Packed
from glasscli.cache.formats.bits import byte_table, join_bits, split_bits
from glasscli.cache.formats.blocks import Blocks, scales

# trunc(x ± this) rounds half away from zero. With one half exactly, 0.49999997 would become 1.
BELOW_HALF = np.array(np.nextafter(np.float32(0.5), np.float32(0)))
# The least number with a reciprocal. A smaller step is 0 as a half, whatever the levels are.
LEAST = np.array(2.938736e-39, np.float32)
# Arrays: NumPy turns a number into one anew at each call.
ONE, HIGHEST = np.array(1, np.float32), np.array(127, np.float32)


class Q8(Blocks):
    """q8_0: levels −127 … 127, the largest magnitude at ±127."""

    name = "q8_0"
    dtype = np.dtype([("d", "<f2"), ("levels", "i1", (32,))])

    def _pack_blocks(self, blocks: Array, cells: Packed) -> None:
        step = np.maximum.reduce(np.abs(blocks), -1)
        np.divide(step, HIGHEST, step)
        cells["d"] = step
        np.maximum(step, LEAST, out=step)
        levels = blocks * np.divide(ONE, step, step)[..., None]
        np.add(levels, np.copysign(BELOW_HALF, levels), levels)
        cells["levels"] = levels  # cuts the fraction off

    def levels(self, cells: Packed, out: Array) -> None:
        np.copyto(out, cells["levels"])


class Symmetric(Blocks):
    """q4_0, q5_0: the element of largest magnitude, the first if several, has the lowest level, −2^(bits − 1)."""

    def __init__(self, bits: int) -> None:
        self.name, self.bits = f"q{bits}_0", bits
        self.dtype = np.dtype([("d", "<f2"), *([("high", "u1", (4,))] if bits == 5 else []), ("low", "u1", (16,))])
        self.half = np.float32(2 ** (bits - 1))
        self.tables = tables(bits, 2 ** (bits - 1))

    def _pack_blocks(self, blocks: Array, cells: Packed) -> None:
        step = first(blocks, np.abs(blocks).argmax(axis=-1))
        step += 0  # −0 becomes 0, where ggml starts from
        step /= -self.half
        cells["d"] = step[..., 0]
        step += np.abs(step) < LEAST  # a block of zeros: any other step
        levels = blocks * np.divide(ONE, step, step)
        levels += self.half + np.float32(0.5)
        store(np.minimum(levels, 2**self.bits - 1, out=levels).astype(np.uint8), cells, self.bits)

    def levels(self, cells: Packed, out: Array) -> None:
        load(cells, self.bits, out)
        np.subtract(out, self.half, out)


class WithMinimum(Blocks):
    """q4_1, q5_1: the smallest element has level 0, the largest 2^bits − 1."""

    def __init__(self, bits: int) -> None:
        self.name, self.bits = f"q{bits}_1", bits
        high = [("high", "u1", (4,))] if bits == 5 else []
        self.dtype = np.dtype([("d", "<f2"), ("min", "<f2"), *high, ("low", "u1", (16,))])
        self.tables = tables(bits, 0)

    def _pack_blocks(self, blocks: Array, cells: Packed) -> None:
        floor = first(blocks, blocks.argmin(axis=-1))
        step = blocks.max(axis=-1, keepdims=True)
        step -= floor
        step /= np.float32(2**self.bits - 1)
        cells["d"], cells["min"] = step[..., 0], floor[..., 0]
        np.maximum(step, LEAST, out=step)
        levels = blocks - floor
        levels *= np.divide(ONE, step, step)
        levels += np.float32(0.5)
        store(levels.astype(np.uint8), cells, self.bits)

    def levels(self, cells: Packed, out: Array) -> None:
        load(cells, self.bits, out)

    def floors(self, cells: Packed) -> Array:
        return scales(cells["min"])


def first(blocks: Array, index: NDArray[np.intp]) -> Array:
    """The element of each block at its `index`: [..., n, 1]."""
    starts = np.arange(0, blocks.size, blocks.shape[-1]).reshape(index.shape)
    return blocks.reshape(-1)[index + starts][..., None]


def tables(bits: int, half: float) -> list[tuple[str, Array, int]]:
    """What bytes stand for: two low halves, number j and j + 16; and, of 5 bits, the high ones of 8 neighbours."""
    low = [("low", byte_table(4, half), 2)]
    return [*low, ("high", byte_table(1) * np.float32(16), 1)] if bits == 5 else low


def store(levels: NDArray[np.uint8], cells: Packed, bits: int) -> None:
    """Put levels of 4 or 5 bits where a block has them."""
    if bits == 5:
        cells["high"] = np.packbits(levels >> 4, axis=-1, bitorder="little")
        levels &= 15
    cells["low"] = join_bits(levels, 4)


def load(cells: Packed, bits: int, out: Array) -> None:
    """Write the levels that `store` put there into `out`, as floats."""
    if bits == 4:
        split_bits(cells["low"], 4, out)
        return
    levels = np.unpackbits(cells["high"], axis=-1, bitorder="little")
    levels <<= 4
    low = np.empty_like(levels)
    split_bits(cells["low"], 4, low)
    np.copyto(out, np.bitwise_or(levels, low, levels))
