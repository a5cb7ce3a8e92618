"""The store of a layer that looks back over a window: the last `size` tokens and no more, in a ring.

Position p stands at place p mod size, so a new token takes the place of the one that has just left the window.
"""

from collections.abc import Sequence

import numpy as np

from glasscli.arrays import Array, Mask
from glasscli.cache.store import ArrayStore, Turn, View
from glasscli.specs.attention_specs import SlidingAttention


class WindowStore(ArrayStore):
    """Keys and values of the last `size` tokens a sequence, in one array [2 (K, V), B, K, size, E].

    A query at position p sees positions p − size + 1 to p.
    """

    def __init__(self, spec: SlidingAttention, max_tokens: int, batch: int) -> None:
        assert spec.k_dim == spec.v_dim, "keys and values lie side by side"
        self.max_tokens, self.size = max_tokens, spec.size
        places = min(spec.size, max_tokens)
        self._kv = np.zeros((2, batch, spec.n_kv_heads, places, spec.k_dim), np.float32)

    @property
    def _places(self) -> int:
        return int(self._kv.shape[3])

    def update(self, k_BKTE: Array, v_BKTE: Array, starts: Sequence[int]) -> View:
        if len(starts) > 1:
            return self._update_each(k_BKTE, v_BKTE, np.asarray(starts))
        start, n_new = starts[0], k_BKTE.shape[2]
        first = max(0, start - self.size + 1)
        before = np.arange(first, start) % self._places
        # Copies: writing the new tokens takes the places of old ones that the first queries still see.
        keys = np.concatenate([self._kv[0][:, :, before], k_BKTE], axis=2)
        values = np.concatenate([self._kv[1][:, :, before], v_BKTE], axis=2)
        kept = slice(max(0, n_new - self._places), n_new)
        at = np.arange(start, start + n_new)[kept] % self._places
        self._kv[0][:, :, at] = k_BKTE[:, :, kept]
        self._kv[1][:, :, at] = v_BKTE[:, :, kept]
        return View(keys, values, self._mask(start, n_new, first), first)

    def _mask(self, start: int, n_new: int, first: int) -> Mask | None:
        if n_new == 1:
            return None
        back = (start + np.arange(n_new))[:, None] - np.arange(first, start + n_new)
        mask: Mask = (back >= 0) & (back < self.size)
        return mask

    def _update_each(self, k_BK1E: Array, v_BK1E: Array, starts: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> View:
        rows, at = np.arange(len(starts)), starts % self._places
        self._kv[0, rows, :, at] = k_BK1E[:, :, 0]
        self._kv[1, rows, :, at] = v_BK1E[:, :, 0]
        seen = min(int(starts.max()) + 1, self._places)
        mask = (np.arange(seen) <= starts[:, None])[:, None, None]
        return View(self._kv[0, :, :, :seen], self._kv[1, :, :, :seen], mask)

    def append_one(self, kv_2KE: Array, start: int) -> tuple[Array, Array, int]:
        self._kv[:, 0, :, start % self._places] = kv_2KE
        seen = min(start + 1, self._places)
        return self._kv[0, 0, :, :seen].swapaxes(1, 2), self._kv[1, 0, :, :seen], seen

    def bytes_held(self, length: int) -> int:
        return self._kv[:, 0, :, 0].nbytes * min(length, self._places)

    def held(self, sequence: int, length: int) -> View:
        first = max(0, length - self._places)
        keys, values = self._kv[:, sequence : sequence + 1, :, np.arange(first, length) % self._places]
        return View(keys, values, None, first)

    def forget(self, first: int, drop: int, length: int, turn: Turn) -> None:
        held = self.held(0, length)
        positions = np.arange(held.first, length)
        later, early = positions >= first + drop, positions < first
        keys, values = held.keys[0], held.values[0]
        moved = keys[:, later] if turn is None else turn(keys[:, later])
        at = np.concatenate([positions[early], positions[later] - drop]) % self._places
        self._kv[0, 0][:, at] = np.concatenate([keys[:, early], moved], axis=1)
        self._kv[1, 0][:, at] = np.concatenate([values[:, early], values[:, later]], axis=1)

    def can_truncate(self, length: int, to: int) -> bool:
        return to == 0 or length <= self._places
