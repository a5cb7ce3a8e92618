"""Blocks of 32 elements that share a scale: what the formats of llama.cpp and of KIVI have in common.

An element is a small whole number, its level. It stands for

    step · level             symmetric formats: zero is a level
    step · level + floor     formats with a minimum

so that attention needs no unpacked rows: a key's score is step · (q · levels) + floor · Σq, a block at a time,
and a mix of values Σ (weight · step) · levels + Σ weight · floor. That is one multiplication a block in place of
one an element.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.formats.base import Format, Packed
from glasscli.cache.formats.bits import interleave, straighten
from glasscli.cache.formats.minifloat import F16, FEW, widen


class Blocks(Format):
    """Packs 32 elements at a time. A subclass says how levels, step and floor are found and stored."""

    block = 32
    # What the bytes of a field hold: its name, numbers [256, a few], and the spans of their order. Levels are the sum.
    tables: Sequence[tuple[str, Array, int]] = ()

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
        n_cells = packed.shape[-1]
        parts = out if n_cells == 1 else np.empty((*out.shape[:-2], n_cells, *out.shape[-2:]), np.float32)
        for number, (levels, spans) in enumerate(self._levels_as_stored(packed, room)):  # [..., S, n, 32]
            ordered = q if spans == 1 else interleave(q, self.block, spans)
            if n_cells > 1:
                ordered = self._blocks_first(ordered)
            levels = levels[..., 0, :] if n_cells == 1 else levels.swapaxes(-3, -2)
            found = np.matmul(ordered, levels.swapaxes(-1, -2), None if number else parts)
            if number:
                np.add(parts, found, parts)
        steps = self.steps(packed).swapaxes(-1, -2)  # [..., n, S]
        np.multiply(parts, steps if n_cells == 1 else steps[..., None, :], parts)
        if n_cells > 1:
            np.sum(parts, axis=-3, out=out)
        floors = self.floors(packed)
        if floors is not None:
            sums = self._blocks_first(q).sum(axis=-1)  # [..., n, G]
            np.add(out, np.matmul(sums.swapaxes(-1, -2), floors.swapaxes(-1, -2)), out)

    def _mix(self, weights: Array, packed: Packed, out: Array, room: Array) -> None:
        steps = self.steps(packed).swapaxes(-1, -2)  # [..., n, S]
        single = packed.shape[-1] == 1
        weighted = weights * steps if single else weights[..., None, :, :] * steps[..., None, :]  # [..., n, G, S]
        for number, (levels, spans) in enumerate(self._levels_as_stored(packed, room)):
            if single:
                found = np.matmul(weighted, levels[..., 0, :], None if number or spans > 1 else out)
            else:
                found = np.matmul(weighted, levels.swapaxes(-3, -2)).swapaxes(-3, -2).reshape(out.shape)
            if spans > 1:
                found = straighten(found, self.block, spans)
            if number:
                np.add(out, found, out)
            elif found is not out:
                out[...] = found
        floors = self.floors(packed)
        if floors is not None:
            by_block = out.reshape(*out.shape[:-1], -1, self.block)
            np.add(by_block, np.matmul(weights, floors)[..., None], by_block)

    def _levels_as_stored(self, packed: Packed, room: Array) -> Iterator[tuple[Array, int]]:
        """The levels [..., 32] in `room`, a summand a table, in the order of `interleave` with so many spans."""
        levels = room.reshape(*packed.shape, self.block)
        if not self.tables:
            self.levels(packed, levels)
            yield levels, 1
        for field, table, spans in self.tables:
            numbers = room.reshape(*packed.shape, -1, table.shape[1])
            table.take(packed[field], axis=0, out=numbers, mode="wrap")
            yield levels, spans

    def _blocks_first(self, rows: Array) -> Array:
        """[..., G, E] as [..., n, G, 32]."""
        return rows.reshape(*rows.shape[:-1], -1, self.block).swapaxes(-3, -2)


def scales(halves: Packed) -> Array:
    """Halves as float32, a new array."""
    return halves.astype(np.float32) if halves.size < FEW else widen(halves, F16)
