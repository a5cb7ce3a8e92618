"""The store of KIVI: the newest tokens exact, the older ones packed 32 at a time with 2 or 4 bits.

Packed keys share scale and zero over 32 tokens of one channel, values over 32 channels of one token. Of `length`
tokens the first 32 · ⌊(length − residual) / 32⌋ are packed: from `residual` to `residual` + 31 are exact, in float32.

Source: Liu et al. 2024, arXiv:2402.02750, section 3.3. There keys are packed `residual` at a time; here 32 at a time.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.formats.kivi import GROUP, Kivi
from glasscli.cache.kivi_halves import Half, KiviKeys, KiviValues, PackedAtOnce
from glasscli.cache.rows import Heads, Packing
from glasscli.cache.store import Store, Turn, View, side_by_side
from glasscli.errors import UsageError


class KiviStore(Store):
    """Keys, values or both as KIVI packs them; what is not is packed at once, as by `PackedStore`."""

    forgets = False

    def __init__(self, packing: Packing, heads: Heads, max_tokens: int, batch: int, residual: int) -> None:
        self.max_tokens, self.residual = max_tokens, residual
        shape = (batch, heads.n_kv_heads)
        most = self._packed(max_tokens)
        exact = min(max_tokens, residual + GROUP - 1)
        self.k: Half = (
            KiviKeys(packing.k, shape, heads.k_dim, most, exact)
            if isinstance(packing.k, Kivi)
            else PackedAtOnce(packing.k, packing.k_turn, shape, heads.k_dim, max_tokens)
        )
        self.v: Half = (
            KiviValues(packing.v, shape, heads.v_dim, most, exact)
            if isinstance(packing.v, Kivi)
            else PackedAtOnce(packing.v, packing.v_turn, shape, heads.v_dim, max_tokens)
        )

    def _packed(self, length: int) -> int:
        """How many of `length` tokens are packed."""
        return max(0, length - self.residual) // GROUP * GROUP

    @property
    def nbytes(self) -> int:
        return self.k.nbytes + self.v.nbytes

    def bytes_held(self, length: int) -> int:
        packed = self._packed(length)
        return self.k.bytes_held(length, packed) + self.v.bytes_held(length, packed)

    def update(self, k_BKTE: Array, v_BKTE: Array, starts: Sequence[int]) -> View:
        if len(starts) > 1:
            rows = [self.row(b) for b in range(len(starts))]
            return side_by_side(
                [row.update(k_BKTE[b : b + 1], v_BKTE[b : b + 1], starts[b : b + 1]) for b, row in enumerate(rows)]
            )
        start, n_new = starts[0], k_BKTE.shape[2]
        stop, old, new = start + n_new, self._packed(start), self._packed(start + n_new)
        exact_k, exact_v = (half.take(x, start, old, new) for half, x in ((self.k, k_BKTE), (self.v, v_BKTE)))
        keys, values = self.k.read_packed(new), self.v.read_packed(new)
        if n_new == 1:
            exact_k, exact_v, mask, positions = exact_k[:, :, new - old :], exact_v[:, :, new - old :], None, None
        else:
            # Each query sees a token either packed or exact, as it stood right after that query's own token came.
            lengths = np.arange(start + 1, stop + 1)[:, None]
            packed = np.maximum(0, lengths - self.residual) // GROUP * GROUP
            position = np.arange(old, stop)
            mask = np.concatenate([np.arange(new) < packed, (position >= packed) & (position < lengths)], axis=1)
            positions = np.concatenate([np.arange(new), position])
        keys, values = np.concatenate([keys, exact_k], axis=2), np.concatenate([values, exact_v], axis=2)
        return View(keys, values, mask, 0, positions)

    def append_one(self, kv_2KE: Array, start: int) -> tuple[Any, Any, int]:
        old, new = self._packed(start), self._packed(start + 1)
        exact = [
            half.take(x[None, :, None], start, old, new)[0, :, new - old :]
            for half, x in zip((self.k, self.v), kv_2KE, strict=True)
        ]
        return (new, exact[0]), (new, exact[1]), start + 1

    def score_one(self, q_KGE: Array, keys: tuple[int, Array], out_KGS: Array, room: Array) -> None:
        packed, exact_KSE = keys
        self.k.score(q_KGE, packed, out_KGS[..., :packed], room)
        np.matmul(q_KGE, exact_KSE.swapaxes(1, 2), out_KGS[..., packed:])

    def mix_one(self, weights_KGS: Array, values: tuple[int, Array], out_KGE: Array, room: Array) -> None:
        packed, exact_KSE = values
        np.matmul(weights_KGS[..., packed:], exact_KSE, out_KGE)
        np.add(out_KGE, self.v.mix(weights_KGS[..., :packed], packed, room), out_KGE)

    def held(self, sequence: int, length: int) -> View:
        row, packed = self.row(sequence), self._packed(length)
        keys, values = (
            np.concatenate([half.read_packed(packed), half.read_exact(packed, length)], axis=2)
            for half in (row.k, row.v)
        )
        return View(keys, values, None)

    def row(self, sequence: int) -> Self:
        return self._part(lambda half: half.choose(slice(sequence, sequence + 1)))

    def select(self, sequences: Sequence[int]) -> Self:
        return self._part(lambda half: half.choose(list(sequences)))

    def _part(self, choose: Callable[[Half], Half]) -> Self:
        part = object.__new__(type(self))
        vars(part).update(vars(self))
        part.k, part.v = choose(self.k), choose(self.v)
        return part

    def forget(self, first: int, drop: int, length: int, turn: Turn) -> None:
        raise UsageError(f"keys that are packed {GROUP} tokens together can't be moved up by {drop}")

    def can_truncate(self, length: int, to: int) -> bool:
        return to == 0 or self._packed(length) == self._packed(to)
