"""Packed keys and values of one layer: places that rows of float32 are written to and read from.

It knows formats and places. Which token stands at which place is the business of the store that owns it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array
from glasscli.cache.choice import CacheChoice
from glasscli.cache.formats.base import Format, Packed
from glasscli.cache.formats.names import ROTATED
from glasscli.cache.formats.registry import FORMATS
from glasscli.cache.formats.rotation import rotate, rotation_size
from glasscli.cache.store import Turn

Places = Any  # what indexes an axis: a slice, or whole numbers


class Heads(Protocol):
    """What a layer's kind of attention says of its rows."""

    @property
    def n_kv_heads(self) -> int: ...

    @property
    def k_dim(self) -> int: ...

    @property
    def v_dim(self) -> int: ...


@dataclass(frozen=True)
class Packing:
    """How keys and values are packed, and over how many channels they are turned before that (1: not at all)."""

    k: Format
    v: Format
    k_turn: int = 1
    v_turn: int = 1

    @staticmethod
    def chosen(choice: CacheChoice, heads: Heads) -> "Packing":
        """What `choice` says, for heads of this width.

        Raises:
            ConfigError: a format's blocks do not divide the width.
        """
        choice.check(heads.n_kv_heads, heads.k_dim)
        k_turn = rotation_size("k", heads.k_dim) if choice.rotated and choice.k in ROTATED else 1
        v_turn = rotation_size("v", heads.v_dim) if choice.rotated and choice.v in ROTATED else 1
        return Packing(FORMATS[choice.k], FORMATS[choice.v], k_turn, v_turn)


class Rows:
    """Packed cells [2 (K, V), B, K, places, n], or one such array each for K and V where their formats differ."""

    def __init__(self, packing: Packing, heads: Heads, places: int, batch: int) -> None:
        self.packing = packing
        shape = (batch, heads.n_kv_heads, places)
        self._alike = (packing.k, packing.k_turn, heads.k_dim) == (packing.v, packing.v_turn, heads.v_dim)
        if self._alike:
            self._arrays: tuple[Packed, ...] = (packing.k.empty((2, *shape), heads.k_dim),)
        else:
            self._arrays = (packing.k.empty((1, *shape), heads.k_dim), packing.v.empty((1, *shape), heads.v_dim))
        self._views()

    def _views(self) -> None:
        self.k, self.v = self._arrays[0][0], self._arrays[-1][-1]
        self._one = self._arrays[0][:, 0]

    @property
    def places(self) -> int:
        return int(self.k.shape[2])

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays)

    @property
    def token_bytes(self) -> int:
        """Bytes of one token's key and value, all heads."""
        return int(self.k[0, :, :1].nbytes + self.v[0, :, :1].nbytes)

    def row(self, sequence: int) -> "Rows":
        return self._with([array[:, sequence : sequence + 1] for array in self._arrays])

    def select(self, sequences: Sequence[int]) -> "Rows":
        return self._with([array[:, list(sequences)] for array in self._arrays])

    def _with(self, arrays: Sequence[Packed]) -> "Rows":
        part = object.__new__(Rows)
        vars(part).update(vars(self))
        part._arrays = tuple(arrays)
        part._views()
        return part

    def write(self, k_BKTE: Array, v_BKTE: Array, at: Places) -> None:
        """Pack T rows into the places `at`, the same for every sequence."""
        self.k[:, :, at] = self.packing.k.pack(rotate(k_BKTE, self.packing.k_turn))
        self.v[:, :, at] = self.packing.v.pack(rotate(v_BKTE, self.packing.v_turn))

    def as_stored(self, k_BKTE: Array, v_BKTE: Array) -> tuple[Array, Array]:
        """What keys and values would be read back as, without keeping them."""
        packing = self.packing
        keys = packing.k.unpack(packing.k.pack(rotate(k_BKTE, packing.k_turn)))
        values = packing.v.unpack(packing.v.pack(rotate(v_BKTE, packing.v_turn)))
        return rotate(keys, packing.k_turn), rotate(values, packing.v_turn)

    def move(self, source: Places, target: Places, turn: Turn) -> None:
        """Copy what is packed at some places to others. Keys are turned by `turn` on the way, and packed again."""
        self.v[:, :, target] = self.v[:, :, source].copy()
        if turn is None:
            self.k[:, :, target] = self.k[:, :, source].copy()
            return
        keys, _ = self.read(source)
        self.k[:, :, target] = self.packing.k.pack(rotate(turn(keys), self.packing.k_turn))

    def write_one(self, kv_2KE: Array, place: int) -> None:
        """Pack the key and the value of one token of one sequence: in one go where they are packed alike."""
        packing = self.packing
        if self._alike:
            packing.k.pack(rotate(kv_2KE, packing.k_turn), self._one[:, :, place])
        else:
            packing.k.pack(rotate(kv_2KE[0], packing.k_turn), self.k[0, :, place])
            packing.v.pack(rotate(kv_2KE[1], packing.v_turn), self.v[0, :, place])

    def write_heads(self, kv_2KE: Array, places: NDArray[np.intp]) -> None:
        """`write_one` with a place for each key/value head."""
        heads = np.arange(len(places))
        packing = self.packing
        self.k[0, heads, places] = packing.k.pack(rotate(kv_2KE[0], packing.k_turn))
        self.v[0, heads, places] = packing.v.pack(rotate(kv_2KE[1], packing.v_turn))

    def read(self, at: Places) -> tuple[Array, Array]:
        """What is packed at the places `at`: keys and values [B, K, T, E], turned back."""
        packing = self.packing
        keys, values = packing.k.unpack(self.k[:, :, at]), packing.v.unpack(self.v[:, :, at])
        return rotate(keys, packing.k_turn), rotate(values, packing.v_turn)

    def score_one(self, q_KGE: Array, keys_KSn: Packed, out_KGS: Array, room: Array) -> None:
        """Scores of one token's queries over packed keys, `room` being `TILE` floats to unpack into."""
        self.packing.k.scores(rotate(q_KGE, self.packing.k_turn), keys_KSn, out_KGS, room)

    def mix_one(self, weights_KGS: Array, values_KSn: Packed, out_KGE: Array, room: Array) -> None:
        """Packed values, weighted and summed."""
        self.packing.v.mix(weights_KGS, values_KSn, out_KGE, room)
        if self.packing.v_turn > 1:
            out_KGE[...] = rotate(out_KGE, self.packing.v_turn)
