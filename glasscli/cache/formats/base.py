"""What every format offers: rows of float32 in, packed cells out, and back; and attention over packed rows.

A format knows elements and bytes, nothing of tokens, layers or caches. A row is the last axis; whatever axes
stand before it are kept. An array of packed cells holds exactly the bytes of the format, in its own order, so
that it can be sliced, copied and counted like any other array.

Letters as in `model.attention`; n is the number of cells in a row.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array
from glasscli.errors import ConfigError

Packed = NDArray[Any]

TILE = 1 << 16  # floats that are unpacked at a time while reading: 256 KiB, whatever the cache holds


class Format(ABC):
    """One way to store rows of numbers. Has no state: one object serves every cache.

    Attributes:
        name: as in a cache's specification and a budget.
        dtype: of one packed cell.
        block: elements that one cell holds; a row's width must be a multiple of it.
    """

    name: str
    dtype: np.dtype[Any]
    block: int = 1

    def cells(self, width: int) -> int:
        """Cells in a row of `width` elements.

        Raises:
            ConfigError: the width is no multiple of the block (`field` is `head_dim`).
        """
        if width < 1 or width % self.block:
            raise ConfigError(
                f"{self.name} packs blocks of {self.block} elements, which do not divide a head width of {width}; "
                "f16, bf16 or fp8 would do",
                "head_dim",
            )
        return width // self.block

    def row_bytes(self, width: int) -> int:
        """Bytes of a row of `width` elements. Raises ConfigError as `cells` does."""
        return self.cells(width) * self.dtype.itemsize

    def empty(self, shape: tuple[int, ...], width: int) -> Packed:
        """Zeroed room for `shape` rows of `width` elements."""
        return np.zeros((*shape, self.cells(width)), self.dtype)

    def pack(self, rows: Array, out: Packed | None = None) -> Packed:
        """Pack float32 [..., width] into cells [..., n], written into `out` if that is given."""
        if out is None:
            out = np.empty((*rows.shape[:-1], self.cells(rows.shape[-1])), self.dtype)
        self._pack(rows, out)
        return out

    @abstractmethod
    def _pack(self, rows: Array, out: Packed) -> None: ...

    def unpack(self, packed: Packed, out: Array | None = None) -> Array:
        """What cells [..., n] stand for: float32 [..., width], written into `out` if that is given."""
        if out is None:
            out = np.empty((*packed.shape[:-1], packed.shape[-1] * self.block), np.float32)
        self._unpack(packed, out)
        return out

    @abstractmethod
    def _unpack(self, packed: Packed, out: Array) -> None: ...

    def scores(self, q: Array, packed: Packed, out: Array | None = None, scratch: Array | None = None) -> Array:
        """Dot products of queries [..., G, E] with packed keys [..., S, n]: [..., G, S].

        The same as `q @ unpack(packed)ᵀ` but for the last bits, and never more than a tile of it unpacked.

        Args:
            scratch: at least `TILE` floats to unpack into, so that a step allocates nothing.
        """
        if out is None:
            out = np.empty((*q.shape[:-1], packed.shape[-2]), np.float32)
        floats = packed.size * self.block
        if not floats:
            out[...] = 0
            return out
        if scratch is not None and floats <= TILE:  # the usual case of a decode step, where each call counts
            self._scores(q, packed, out, scratch[:floats])
            return out
        for start, stop, room in tiles(packed, self.block, scratch):
            self._scores(q, packed[..., start:stop, :], out[..., start:stop], room)
        return out

    def mix(self, weights: Array, packed: Packed, out: Array | None = None, scratch: Array | None = None) -> Array:
        """Sums of packed values [..., S, n], weighted by [..., G, S]: [..., G, E]. Otherwise as `scores`."""
        if out is None:
            out = np.empty((*weights.shape[:-1], packed.shape[-1] * self.block), np.float32)
        floats = packed.size * self.block
        if not floats:
            out[...] = 0
            return out
        if scratch is not None and floats <= TILE:
            self._mix(weights, packed, out, scratch[:floats])
            return out
        for start, stop, room in tiles(packed, self.block, scratch):
            if start == 0:
                self._mix(weights[..., :stop], packed[..., :stop, :], out, room)
            else:
                part = np.empty_like(out)
                self._mix(weights[..., start:stop], packed[..., start:stop, :], part, room)
                np.add(out, part, out)
        return out

    def _scores(self, q: Array, packed: Packed, out: Array, room: Array) -> None:
        rows = room.reshape(*packed.shape[:-1], q.shape[-1])
        self._unpack(packed, rows)
        np.matmul(q, rows.swapaxes(-1, -2), out)

    def _mix(self, weights: Array, packed: Packed, out: Array, room: Array) -> None:
        rows = room.reshape(*packed.shape[:-1], out.shape[-1])
        self._unpack(packed, rows)
        np.matmul(weights, rows, out)


def tiles(packed: Packed, block: int, scratch: Array | None) -> Iterator[tuple[int, int, Array]]:
    """Cut the S rows of cells [..., S, n] into runs that fit a tile: start, stop, and floats to unpack them into."""
    n_rows, floats = packed.shape[-2], packed.size * block
    run = n_rows if floats <= TILE else max(1, TILE * n_rows // floats)
    a_row = floats // n_rows
    if scratch is None or scratch.size < run * a_row:
        scratch = np.empty(run * a_row, np.float32)
    for start in range(0, n_rows, run):
        stop = min(start + run, n_rows)
        yield start, stop, scratch[: (stop - start) * a_row]
