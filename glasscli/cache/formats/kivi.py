"""KIVI: levels of 2 or 4 bits between the least and the largest of 32 neighbours, whose scale and zero are halves.

    bits   32 elements                       bytes
    2      f16 scale, f16 zero, 8 bytes       12
    4      f16 scale, f16 zero, 16 bytes      20

The neighbours of a value are channels of one token: a row as any other. Those of a key are 32 tokens of one
channel, since keys have channels that are large for every token. So keys are packed 32 tokens at a time, as rows
of tokens: `pack` of [..., E, 32] gives one cell a channel. Scores are then a mix: `mix` of queries [..., G, E]
over cells [..., E, n] are the scores of 32 n tokens.

Level: rint((x − min) / s), s = (max − min) / (2^bits − 1), in float32. Source: Liu et al. 2024, arXiv:2402.02750,
equation 1 and section 3.
"""

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.formats.base import Packed
from glasscli.cache.formats.bits import byte_table, join_bits, split_bits
from glasscli.cache.formats.blocks import Blocks, scales

GROUP = 32


class Kivi(Blocks):
    """Groups of 32 along the last axis, with 2 or 4 bits."""

    def __init__(self, bits: int) -> None:
        self.name, self.bits = f"kivi{bits}", bits
        self.dtype = np.dtype([("d", "<f2"), ("min", "<f2"), ("low", "u1", (GROUP * bits // 8,))])
        self.tables = [("low", byte_table(bits), 8 // bits)]

    def _pack_blocks(self, blocks: Array, cells: Packed) -> None:
        levels, step, floor = quantise(blocks, self.bits)
        cells["d"], cells["min"] = step[..., 0], floor[..., 0]
        cells["low"] = join_bits(levels.astype(np.uint8), self.bits)

    def levels(self, cells: Packed, out: Array) -> None:
        split_bits(cells["low"], self.bits, out)

    def floors(self, cells: Packed) -> Array:
        return scales(cells["min"])


def quantise(groups: Array, bits: int) -> tuple[Array, Array, Array]:
    """Levels 0 … 2^bits − 1 of each group, the last axis, and what a level is worth and level 0 stands for.

    Returns:
        levels, of the shape of `groups`; step and floor, with a last axis of 1. All float32.
    """
    floor = groups.min(axis=-1, keepdims=True)
    step = groups.max(axis=-1, keepdims=True)
    step -= floor
    step /= np.float32(2**bits - 1)
    levels = groups - floor
    levels /= step + (step == 0)  # equal numbers: level 0
    return np.rint(levels, levels), step, floor
