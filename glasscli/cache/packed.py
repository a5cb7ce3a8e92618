"""The store that packs every token, and what all stores of packed rows have in common.

What a query sees is what was stored, its own key and value included: packed and read back.
"""

from collections.abc import Sequence
from typing import Any, Self

from glasscli.arrays import Array
from glasscli.cache.formats.base import Packed
from glasscli.cache.rows import Heads, Packing, Rows
from glasscli.cache.store import Store, Turn, View, causal_corner, side_by_side
from glasscli.errors import UsageError


class RowStore(Store):
    """A store whose contents are `Rows`. Several sequences are taken one after the other."""

    forgets = False

    def __init__(self, packing: Packing, heads: Heads, places: int, max_tokens: int, batch: int) -> None:
        self.max_tokens = max_tokens
        self.rows = Rows(packing, heads, places, batch)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes

    def bytes_held(self, length: int) -> int:
        return self.rows.token_bytes * min(length, self.rows.places)

    def row(self, sequence: int) -> Self:
        return self._part(self.rows.row(sequence))

    def select(self, sequences: Sequence[int]) -> Self:
        return self._part(self.rows.select(sequences))

    def _part(self, rows: Rows) -> Self:
        part = object.__new__(type(self))
        vars(part).update(vars(self))
        part.rows = rows
        return part

    def forget(self, first: int, drop: int, length: int, turn: Turn) -> None:
        raise UsageError("a cache that lets go of tokens by its own rule can't be told to forget others")

    def score_one(self, q_KGE: Array, keys: Packed, out_KGS: Array, room: Array) -> None:
        self.rows.score_one(q_KGE, keys, out_KGS, room)

    def mix_one(self, weights_KGS: Array, values: Packed, out_KGE: Array, room: Array) -> None:
        self.rows.mix_one(weights_KGS, values, out_KGE, room)

    def _update_each(self, k_BKTE: Array, v_BKTE: Array, starts: Sequence[int]) -> View:
        """Several sequences, each by itself; shorter ones are filled up with places that nobody sees."""
        views = [
            self.row(b).update(k_BKTE[b : b + 1], v_BKTE[b : b + 1], starts[b : b + 1]) for b in range(len(starts))
        ]
        return side_by_side(views)


class PackedStore(RowStore):
    """Every token, packed, one behind the other."""

    forgets = True

    def __init__(self, packing: Packing, heads: Heads, max_tokens: int, batch: int) -> None:
        super().__init__(packing, heads, max_tokens, max_tokens, batch)

    def update(self, k_BKTE: Array, v_BKTE: Array, starts: Sequence[int]) -> View:
        if len(starts) > 1:
            return self._update_each(k_BKTE, v_BKTE, starts)
        n_new = k_BKTE.shape[2]
        seen = starts[0] + n_new
        self.rows.write(k_BKTE, v_BKTE, slice(starts[0], seen))
        return View(*self.rows.read(slice(0, seen)), causal_corner(n_new))

    def append_one(self, kv_2KE: Array, start: int) -> tuple[Any, Any, int]:
        self.rows.write_one(kv_2KE, start)
        seen = start + 1
        return self.rows.k[0, :, :seen], self.rows.v[0, :, :seen], seen

    def held(self, sequence: int, length: int) -> View:
        return View(*self.rows.row(sequence).read(slice(0, length)), None)

    def forget(self, first: int, drop: int, length: int, turn: Turn) -> None:
        self.rows.move(slice(first + drop, length), slice(first, length - drop), turn)
