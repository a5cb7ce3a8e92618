"""The store of a window that the user chose: the first few tokens and the last ones, packed.

Positions are kept as in the text (llama.cpp), or counted inside the cache, as if what was dropped had never been
there. Then nothing changes among the last tokens, whose distances stay; the first ones come nearer by as many
positions as were dropped, so their keys are turned forward by that when they are read.

Source: Xiao et al. 2023, arXiv:2309.17453, section 3.2 ("attention sinks", "rolling KV cache").
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array, Mask
from glasscli.cache.formats.base import Packed
from glasscli.cache.packed import RowStore
from glasscli.cache.rows import Heads, Packing
from glasscli.cache.store import View

Positions = NDArray[np.intp]
# Turns rows [..., T, E] forward by so many positions each [T].
TurnBy = Callable[[Array, Positions], Array]


class SinkStore(RowStore):
    """The first `sinks` tokens and the last `window`: a query at position p sees p − window + 1 to p, and the sinks.

    Position p stands at place p if it is a sink, else in a ring behind the sinks.
    """

    def __init__(
        self,
        packing: Packing,
        heads: Heads,
        max_tokens: int,
        batch: int,
        window: int,
        sinks: int = 0,
        turn_by: TurnBy | None = None,
    ) -> None:
        """`turn_by` makes positions count inside the cache."""
        super().__init__(packing, heads, min(sinks + window, max_tokens), max_tokens, batch)
        self.window, self.sinks, self.turn_by = window, sinks, turn_by
        self._back = 0  # positions that the sinks are nearer than in the text, for the newest token

    def _at(self, positions: Positions) -> Positions:
        return np.where(positions < self.sinks, positions, self.sinks + (positions - self.sinks) % self.window)

    def _before(self, start: int) -> Positions:
        """Positions that are kept when position `start` comes."""
        first = max(self.sinks, start - self.window + 1)
        return np.concatenate([np.arange(min(self.sinks, start)), np.arange(first, max(first, start))])

    def _dropped(self, position: Any) -> Any:
        """How many tokens are gone from sight of a query at `position`."""
        return np.maximum(0, position - (self.sinks + self.window - 1))

    def update(self, k_BKTE: Array, v_BKTE: Array, starts: Sequence[int]) -> View:
        if len(starts) > 1:
            return self._update_each(k_BKTE, v_BKTE, starts)
        start, new = starts[0], np.arange(starts[0], starts[0] + k_BKTE.shape[2])
        before = self._before(start)
        old_keys, old_values = self.rows.read(self._at(before))  # copies: new tokens take the places of old ones
        new_keys, new_values = self.rows.as_stored(k_BKTE, v_BKTE)
        last = new[-1]
        kept = (new < self.sinks) | (new > last - self.window)
        self.rows.write(k_BKTE[:, :, kept], v_BKTE[:, :, kept], self._at(new[kept]))
        keys, values = np.concatenate([old_keys, new_keys], axis=2), np.concatenate([old_values, new_values], axis=2)
        positions = np.concatenate([before, new])
        back = new[:, None] - positions
        mask = (back >= 0) & ((back < self.window) | (positions < self.sinks))
        first = int(positions[0])
        if self.turn_by is not None and self._dropped(last):
            return self._turned(keys, values, mask, positions, new, first)
        return View(keys, values, None if len(new) == 1 else mask, first, positions)

    def _turned(self, keys: Array, values: Array, mask: Mask, positions: Positions, new: Positions, first: int) -> View:
        """The view with the sinks' keys turned, apart for each query that has lost sight of some tokens."""
        assert self.turn_by is not None
        dropped = self._dropped(new)
        sinks = np.flatnonzero(positions < self.sinks)
        if len(new) == 1:
            keys[:, :, sinks] = self.turn_by(keys[:, :, sinks], np.repeat(dropped, len(sinks)))
            return View(keys, values, None, first, positions)
        apart = np.flatnonzero(dropped)
        by = np.repeat(dropped[apart], len(sinks))
        turned = self.turn_by(np.tile(keys[:, :, sinks], (1, 1, len(apart), 1)), by)
        mask = mask.copy()
        mask[np.ix_(apart, sinks)] = False
        own = np.zeros((len(new), len(by)), np.bool)
        own[np.repeat(apart, len(sinks)), np.arange(len(by))] = True
        return View(
            np.concatenate([turned, keys], axis=2),
            np.concatenate([np.tile(values[:, :, sinks], (1, 1, len(apart), 1)), values], axis=2),
            np.concatenate([own, mask], axis=1),
            first,
            np.concatenate([np.tile(positions[sinks], len(apart)), positions]),
        )

    def append_one(self, kv_2KE: Array, start: int) -> tuple[Any, Any, int]:
        self.rows.write_one(kv_2KE, start if start < self.sinks else self.sinks + (start - self.sinks) % self.window)
        seen = min(start + 1, self.rows.places)
        self._back = int(self._dropped(start)) if self.turn_by is not None else 0
        return self.rows.k[0, :, :seen], self.rows.v[0, :, :seen], seen

    def score_one(self, q_KGE: Array, keys: Packed, out_KGS: Array, room: Array) -> None:
        super().score_one(q_KGE, keys, out_KGS, room)
        if self._back and self.sinks:  # turning the query back is turning the keys forward
            assert self.turn_by is not None
            nearer = self.turn_by(q_KGE, np.array([-self._back]))
            super().score_one(nearer, keys[:, : self.sinks], out_KGS[..., : self.sinks], room)

    def held(self, sequence: int, length: int) -> View:
        positions = np.arange(length)
        positions = positions[(positions < self.sinks) | (positions >= length - self.window)]
        keys, values = self.rows.row(sequence).read(self._at(positions))
        return View(keys, values, None, int(positions[0]) if length else 0, positions)

    def can_truncate(self, length: int, to: int) -> bool:
        return to == 0 or length <= self.rows.places
