"""Blocks of 32 elements that share a scale: what the formats of llama.cpp and of KIVI have in common.

An element is a small whole number, its level. It stands for

    step · level             symmetric formats: zero is a level
    step · level + floor     formats with a minimum

so that attention needs no unpacked rows: a key's score is step · (q · levels) + floor · Σq, a block at a time,
and a mix of values Σ (weight · step) · levels + Σ weight · floor. That is one multiplication a block in place of
one an element.
"""

from abc import abstractmethod

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.formats.base import Format, Packed
from glasscli.cache.formats.bits import interleave, straighten
from glasscli.cache.formats.minifloat import F16, FEW, widen


class Blocks(Format):
    """Packs 32 elements at a time. A subclass says how levels, step and floor are found and stored."""

    block = 32
    table: Array | None = None  # [256, spans]: what each byte of the field "low" holds, where that is all there is

    @abstractmethod
    def _pack_blocks(self, blocks: Array, cells: Packed) -> None:
        """Write float32 [..., n, 32] into cells [..., n]."""

    @abstractmethod
    def levels(self, cells: Packed, out: Array) -> None:
        """Write the level of every element of cells [..., n] into `out`, float32 [..., n, 32]."""

    def steps(self, cells: Packed) -> Array:
        """Float32 [..., n]: what one level is worth."""
        return scales(cells["d"])

    def floors(self, cells: Packed) -> Array | None:
        """Float32 [..., n]: what level 0 stands for. None where that is 0."""
        return None

    # What overflows is meant to: a block that holds ∞ or NaN, or more than a half can hold, reads as such.
    @np.errstate(all="ignore")
    def _pack(self, rows: Array, out: Packed) -> None:
        self._pack_blocks(rows.reshape(*out.shape, self.block), out)

    @np.errstate(invalid="ignore")
    def _unpack(self, packed: Packed, out: Array) -> None:
        in_place = out.flags.c_contiguous
        levels = (out if in_place else np.empty(out.shape, np.float32)).reshape(*packed.shape, self.block)
        self.levels(packed, levels)
        levels *= self.steps(packed)[..., None]
        floors = self.floors(packed)
        if floors is not None:
            levels += floors[..., None]
        if not in_place:
            out[...] = levels.reshape(out.shape)

    def _scores(self, q: Array, packed: Packed, out: Array, room: Array) -> None:
        levels = self._levels_as_stored(packed, room)  # [..., S, n, 32]
        ordered = q if self.table is None else interleave(q, self.block, self.table.shape[1])
        if packed.shape[-1] == 1:
            np.matmul(ordered, levels[..., 0, :].swapaxes(-1, -2), out)
            np.multiply(out, self.steps(packed[..., 0])[..., None, :], out)
        else:
            parts = np.matmul(self._blocks_first(ordered), levels.swapaxes(-3, -2).swapaxes(-2, -1))  # [..., n, G, S]
            np.multiply(parts, self.steps(packed).swapaxes(-1, -2)[..., None, :], parts)
            np.sum(parts, axis=-3, out=out)
        floors = self.floors(packed)
        if floors is not None:
            sums = self._blocks_first(q).sum(axis=-1)  # [..., n, G]
            np.add(out, np.matmul(sums.swapaxes(-1, -2), floors.swapaxes(-1, -2)), out)

    def _mix(self, weights: Array, packed: Packed, out: Array, room: Array) -> None:
        levels = self._levels_as_stored(packed, room)
        if packed.shape[-1] == 1:
            np.matmul(weights * self.steps(packed[..., 0])[..., None, :], levels[..., 0, :], out)
        else:
            weighted = weights[..., None, :, :] * self.steps(packed).swapaxes(-1, -2)[..., None, :]  # [..., n, G, S]
            parts = np.matmul(weighted, levels.swapaxes(-3, -2))  # [..., n, G, 32]
            out[...] = parts.swapaxes(-3, -2).reshape(out.shape)
        if self.table is not None:
            out[...] = straighten(out, self.block, self.table.shape[1])
        floors = self.floors(packed)
        if floors is not None:
            by_block = out.reshape(*out.shape[:-1], -1, self.block)
            np.add(by_block, np.matmul(weights, floors)[..., None], by_block)

    def _levels_as_stored(self, packed: Packed, room: Array) -> Array:
        """The levels [..., 32] in `room`, in the order of the bytes where there is a table."""
        levels = room.reshape(*packed.shape, self.block)
        if self.table is None:
            self.levels(packed, levels)
        else:
            pairs = room.reshape(*packed.shape, -1, self.table.shape[1])
            self.table.take(packed["low"], axis=0, out=pairs, mode="wrap")
        return levels

    def _blocks_first(self, rows: Array) -> Array:
        """[..., G, E] as [..., n, G, 32]."""
        return rows.reshape(*rows.shape[:-1], -1, self.block).swapaxes(-3, -2)


def scales(halves: Packed) -> Array:
    """Halves as float32, a new array."""
    return halves.astype(np.float32) if halves.size < FEW else widen(halves, F16)
