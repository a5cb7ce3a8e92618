"""A store in which one key/value head keeps its tokens by another store, and the others keep all.

Made to find out which heads a rule hurts: `quality.parts` reads a text with it, nothing else does.
"""

from collections.abc import Sequence
from typing import NoReturn, Self

import numpy as np

from glasscli.arrays import Array, Mask
from glasscli.cache.store import Store, Turn, View
from glasscli.errors import UsageError


class OneHeadStore(Store):
    """Every token of all heads in `full`; what the query heads of `head` see is in `part`, a store of one head.

    A view shows both side by side: to each query head its own keys and no others.
    """

    def __init__(self, full: Store, part: Store, head: int, group_size: int) -> None:
        self.max_tokens, self.by_attention = full.max_tokens, part.by_attention
        self.full, self.part, self.head = full, part, head
        self.readers = slice(head * group_size, (head + 1) * group_size)
        self._n_all = 0  # columns of the last view that show `full`

    def update(self, k_BKTE: Array, v_BKTE: Array, starts: Sequence[int]) -> View:
        assert len(starts) == 1
        one = slice(self.head, self.head + 1)
        every = self.full.update(k_BKTE, v_BKTE, starts)
        own = self.part.update(k_BKTE[:, one], v_BKTE[:, one], starts)
        self._n_all, n_own, n_new = every.keys.shape[2], own.keys.shape[2], k_BKTE.shape[2]
        n_heads = k_BKTE.shape[1] * (self.readers.stop - self.readers.start)
        mask = np.zeros((1, n_heads, n_new, self._n_all + n_own), np.bool)
        mask[..., : self._n_all] = _wide(every.mask, n_new, self._n_all)
        mask[:, self.readers] = False
        mask[:, self.readers, :, self._n_all :] = _wide(own.mask, n_new, n_own)
        keys, values = (
            np.concatenate([all_rows, np.broadcast_to(rows, (*all_rows.shape[:2], *rows.shape[2:]))], axis=2)
            for all_rows, rows in ((every.keys, own.keys), (every.values, own.values))
        )
        return View(keys, values, mask)

    def observe(self, pattern_BHS: Array) -> None:
        self.part.observe(pattern_BHS[:, self.readers, self._n_all :])

    @property
    def nbytes(self) -> int:
        return self.full.nbytes + self.part.nbytes

    def bytes_held(self, length: int) -> int:
        return self.full.bytes_held(length) + self.part.bytes_held(length)

    def held(self, sequence: int, length: int) -> View:
        return self._refuse()

    def row(self, sequence: int) -> Self:
        return self._refuse()

    def select(self, sequences: Sequence[int]) -> Self:
        return self._refuse()

    def forget(self, first: int, drop: int, length: int, turn: Turn) -> None:
        self._refuse()

    def can_truncate(self, length: int, to: int) -> bool:
        return to == 0

    @staticmethod
    def _refuse() -> NoReturn:
        raise UsageError("a cache in which one head differs is read with one text, from its beginning to its end")


def _wide(mask: Mask | None, n_new: int, n_keys: int) -> Mask:
    """A view's mask [T, S] over all its keys: it may speak of the last ones alone, or say that all are seen."""
    wide = np.ones((n_new, n_keys), np.bool)
    if mask is not None:
        wide[:, n_keys - mask.shape[-1] :] = mask
    return wide
