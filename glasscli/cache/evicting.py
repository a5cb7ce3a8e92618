"""The stores that drop what was attended to least: H2O and TOVA. They take one token at a time.

    h2o    each key/value head for itself: the newer half stays, and of the older tokens those whose weights, summed
           over all queries so far and over the query heads of the group, are largest
    tova   one decision for all heads of the layer: what the last query attended to least goes, on the mean of heads

A place is freed before a token comes, so that `tokens` of them suffice: a query sees as many, itself included.

Sources: Zhang et al. 2023, arXiv:2306.14048, section 4 (H2O); Oren et al. 2024, arXiv:2401.06104, section 3.2 (TOVA).
"""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.packed import RowStore
from glasscli.cache.rows import Heads, Packing
from glasscli.cache.store import View


class EvictingStore(RowStore):
    """At most `tokens` tokens a key/value head.

    Beside the rows it holds what it decides by, for each place: the position that stands there, and its weights.
    """

    by_attention = True

    def __init__(
        self, packing: Packing, heads: Heads, max_tokens: int, batch: int, tokens: int, rule: Literal["h2o", "tova"]
    ) -> None:
        super().__init__(packing, heads, min(tokens, max_tokens), max_tokens, batch)
        self.rule = rule
        self._newest = tokens // 2 if rule == "h2o" else 0
        self.positions = np.zeros((batch, heads.n_kv_heads, self.rows.places), np.int32)
        self.weights = np.zeros(self.positions.shape, np.float32)
        self._heads = np.arange(heads.n_kv_heads)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.positions.nbytes + self.weights.nbytes

    def bytes_held(self, length: int) -> int:
        kept = min(length, self.rows.places)
        return super().bytes_held(length) + 8 * kept * len(self._heads)

    def row(self, sequence: int) -> Self:
        return self._choose(super().row(sequence), slice(sequence, sequence + 1))

    def select(self, sequences: Sequence[int]) -> Self:
        return self._choose(super().select(sequences), list(sequences))

    def _choose(self, part: Self, sequences: Any) -> Self:
        part.positions, part.weights = self.positions[sequences], self.weights[sequences]
        return part

    def _place(self, start: int) -> Any:
        """Where each head puts the token at position `start`: [K], or a number where all do the same."""
        positions, weights = self.positions[0], self.weights[0]
        if start < self.rows.places:
            at: Any = start
        else:
            held = np.where(positions <= start - self._newest, weights, np.inf) if self._newest else weights
            at = held.argmin(axis=-1)
        positions[self._heads, at], weights[self._heads, at] = start, 0
        return at

    def update(self, k_BKTE: Array, v_BKTE: Array, starts: Sequence[int]) -> View:
        if len(starts) > 1:
            return self._update_each(k_BKTE, v_BKTE, starts)
        assert k_BKTE.shape[2] == 1
        self._write(np.concatenate([k_BKTE[0], v_BKTE[0]]).reshape(2, -1, k_BKTE.shape[3]), starts[0])
        seen = min(starts[0] + 1, self.rows.places)
        positions = self.positions[0, :, :seen].copy()
        return View(*self.rows.read(slice(0, seen)), None, int(positions.min()), positions)

    def append_one(self, kv_2KE: Array, start: int) -> tuple[Any, Any, int]:
        self._write(kv_2KE, start)
        seen = min(start + 1, self.rows.places)
        return self.rows.k[0, :, :seen], self.rows.v[0, :, :seen], seen

    def _write(self, kv_2KE: Array, start: int) -> None:
        at = self._place(start)
        if isinstance(at, int):
            self.rows.write_one(kv_2KE, at)
        else:
            self.rows.write_heads(kv_2KE, at)

    def observe_one(self, weights_KGS: Array, sums_KG1: Array) -> None:
        self._note(weights_KGS / sums_KG1, 0)

    def observe(self, pattern_BHS: Array) -> None:
        for sequence, pattern_HS in enumerate(pattern_BHS):
            self._note(pattern_HS.reshape(len(self._heads), -1, pattern_HS.shape[-1]), sequence)

    def _note(self, shares_KGS: Array, sequence: int) -> None:
        weights = self.weights[sequence, :, : shares_KGS.shape[-1]]
        if self.rule == "h2o":
            weights += shares_KGS.sum(axis=1)
        else:
            weights[...] = shares_KGS.mean(axis=(0, 1))

    def held(self, sequence: int, length: int) -> View:
        kept = min(length, self.rows.places)
        keys, values = self.rows.row(sequence).read(slice(0, kept))
        positions = self.positions[sequence, :, :kept]
        order = positions.argsort(axis=-1)[None, :, :, None]
        first = int(positions.min()) if kept else 0
        keys, values = np.take_along_axis(keys, order, 2), np.take_along_axis(values, order, 2)
        return View(keys, values, None, first, np.sort(positions, axis=-1))

    def can_truncate(self, length: int, to: int) -> bool:
        return to == 0
