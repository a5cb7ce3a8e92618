"""The plain store: every token's key and value in float32, appended behind those before."""

from collections.abc import Sequence

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.store import ArrayStore, Turn, View, causal_corner, own_past
from glasscli.specs.cache_spec import FullAttention


class FullStore(ArrayStore):
    """Keys and values of up to `max_tokens` tokens a sequence, in one array [2 (K, V), B, K, max_tokens, E].

    The key/value head comes before the position, so that the keys one head reads lie together.
    """

    def __init__(self, spec: FullAttention, max_tokens: int, batch: int) -> None:
        assert spec.k_dim == spec.v_dim, "keys and values lie side by side"
        self.max_tokens = max_tokens
        # Zeros, not empty: a masked place is multiplied by 0, and 0 · NaN would be NaN.
        self._kv = np.zeros((2, batch, spec.n_kv_heads, max_tokens, spec.k_dim), np.float32)
        self._views()

    def _views(self) -> None:
        """The first sequence's arrays, as a single step reads and writes them."""
        self._one = self._kv[:, 0]
        self._keys_KES, self._values_KSE = self._one[0].swapaxes(1, 2), self._one[1]

    def update(self, k_BKTE: Array, v_BKTE: Array, starts: Sequence[int]) -> View:
        n_batch, _, n_new, _ = k_BKTE.shape
        seen = max(starts) + n_new
        if n_batch == 1:
            self._kv[0, :, :, starts[0] : seen] = k_BKTE
            self._kv[1, :, :, starts[0] : seen] = v_BKTE
            mask = causal_corner(n_new)
        else:
            assert n_new == 1
            rows, at = np.arange(n_batch), np.asarray(starts)
            self._kv[0, rows, :, at] = k_BKTE[:, :, 0]
            self._kv[1, rows, :, at] = v_BKTE[:, :, 0]
            mask = own_past(tuple(starts))
        return View(self._kv[0, :, :, :seen], self._kv[1, :, :, :seen], mask)

    def append_one(self, kv_2KE: Array, start: int) -> tuple[Array, Array, int]:
        self._one[:, :, start] = kv_2KE
        seen = start + 1
        return self._keys_KES[..., :seen], self._values_KSE[:, :seen], seen

    def bytes_held(self, length: int) -> int:
        return self._kv[:, 0, :, 0].nbytes * length

    def held(self, sequence: int, length: int) -> View:
        keys, values = self._kv[:, sequence : sequence + 1, :, :length]
        return View(keys, values, None)

    def forget(self, first: int, drop: int, length: int, turn: Turn) -> None:
        moved = self._one[:, :, first + drop : length].copy()
        if turn is not None:
            moved[0] = turn(moved[0])
        self._one[:, :, first : length - drop] = moved
