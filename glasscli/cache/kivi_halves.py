"""The keys or the values of a `KiviStore`: a packed part, and exact rows behind it."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.formats.base import Format, Packed
from glasscli.cache.formats.kivi import GROUP
from glasscli.cache.formats.rotation import rotate


class Half(ABC):
    """Keys or values of all sequences of one layer. The first `packed` tokens are packed, the others exact."""

    cells: Packed
    exact: Array

    @property
    def nbytes(self) -> int:
        return int(self.cells.nbytes + self.exact.nbytes)

    @abstractmethod
    def bytes_held(self, length: int, packed: int) -> int:
        """Bytes of one sequence's `length` tokens."""

    def choose(self, sequences: Any) -> Self:
        """Some sequences: a view if they are a slice, else copies."""
        part = object.__new__(type(self))
        vars(part).update(vars(self))
        part.cells, part.exact = self.cells[sequences], self.exact[sequences]
        return part

    @abstractmethod
    def take(self, x_BKTE: Array, start: int, old: int, new: int) -> Array:
        """Keep T more rows behind `start` tokens, of which `old` are packed, and pack up to `new`.

        Returns:
            exact rows of the tokens from `old` on, the new ones included.
        """

    @abstractmethod
    def read_packed(self, packed: int) -> Array:
        """What the packed tokens stand for: [B, K, packed, E]."""

    @abstractmethod
    def read_exact(self, packed: int, length: int) -> Array:
        """The tokens behind them: [B, K, length − packed, E]."""

    @abstractmethod
    def score(self, q_KGE: Array, packed: int, out_KGS: Array, room: Array) -> None:
        """Scores of one token's queries over the packed keys of the first sequence."""

    @abstractmethod
    def mix(self, weights_KGS: Array, packed: int, room: Array) -> Array:
        """The packed values of the first sequence, weighted and summed: [K, G, E]."""


class WithResidual(Half):
    """Rows stay exact, one behind the other from the first that is not packed, until 32 can be packed together."""

    def __init__(self, fmt: Format, shape: tuple[int, int], width: int, packed: int, exact: int) -> None:
        self.fmt = fmt
        self.cells = self._cells(shape, width, packed)
        self.exact = np.zeros((*shape, exact, width), np.float32)

    @abstractmethod
    def _cells(self, shape: tuple[int, int], width: int, packed: int) -> Packed: ...

    @abstractmethod
    def _pack(self, rows: Array, old: int, new: int) -> None: ...

    def take(self, x_BKTE: Array, start: int, old: int, new: int) -> Array:
        rows = np.concatenate([self.exact[:, :, : start - old], x_BKTE], axis=2)
        if new > old:
            self._pack(rows[:, :, : new - old], old, new)
        kept = rows[:, :, new - old :]
        self.exact[:, :, : kept.shape[2]] = kept
        return rows

    def read_exact(self, packed: int, length: int) -> Array:
        return self.exact[:, :, : length - packed]

    def bytes_held(self, length: int, packed: int) -> int:
        _, n_heads, _, width = self.exact.shape
        return n_heads * ((length - packed) * 4 * width + packed * self.fmt.row_bytes(GROUP) * width // GROUP)


class KiviKeys(WithResidual):
    """Cells [B, K, E, packed/32]: 32 tokens of one channel each."""

    def _cells(self, shape: tuple[int, int], width: int, packed: int) -> Packed:
        return np.zeros((*shape, width, packed // GROUP), self.fmt.dtype)

    def _pack(self, rows: Array, old: int, new: int) -> None:
        self.fmt.pack(rows.swapaxes(2, 3), self.cells[..., old // GROUP : new // GROUP])

    def read_packed(self, packed: int) -> Array:
        return self.fmt.unpack(self.cells[..., : packed // GROUP]).swapaxes(2, 3)

    def score(self, q_KGE: Array, packed: int, out_KGS: Array, room: Array) -> None:
        # A score is a sum over channels, as a mix is one over tokens.
        out_KGS[...] = self.fmt.mix(q_KGE, self.cells[0, :, :, : packed // GROUP], scratch=room)

    def mix(self, weights_KGS: Array, packed: int, room: Array) -> Array:
        raise NotImplementedError("keys are not mixed")


class KiviValues(WithResidual):
    """Cells [B, K, packed, E/32]: 32 channels of one token each."""

    def _cells(self, shape: tuple[int, int], width: int, packed: int) -> Packed:
        return self.fmt.empty((*shape, packed), width)

    def _pack(self, rows: Array, old: int, new: int) -> None:
        self.fmt.pack(rows, self.cells[:, :, old:new])

    def read_packed(self, packed: int) -> Array:
        return self.fmt.unpack(self.cells[:, :, :packed])

    def score(self, q_KGE: Array, packed: int, out_KGS: Array, room: Array) -> None:
        raise NotImplementedError("values are not scored")

    def mix(self, weights_KGS: Array, packed: int, room: Array) -> Array:
        return self.fmt.mix(weights_KGS, self.cells[0, :, :packed], scratch=room)


class PackedAtOnce(Half):
    """The half that KIVI does not pack: rows [B, K, max_tokens, n] of another format, from the start."""

    def __init__(self, fmt: Format, turn: int, shape: tuple[int, int], width: int, max_tokens: int) -> None:
        self.fmt, self.turn = fmt, turn
        self.cells = fmt.empty((*shape, max_tokens), width)
        self.exact = np.zeros((shape[0], 0), np.float32)

    def take(self, x_BKTE: Array, start: int, old: int, new: int) -> Array:
        stop = start + x_BKTE.shape[2]
        self.fmt.pack(rotate(x_BKTE, self.turn), self.cells[:, :, start:stop])
        return self.read_exact(old, stop)

    def read_packed(self, packed: int) -> Array:
        return self.read_exact(0, packed)

    def read_exact(self, packed: int, length: int) -> Array:
        return rotate(self.fmt.unpack(self.cells[:, :, packed:length]), self.turn)

    def bytes_held(self, length: int, packed: int) -> int:
        return int(self.cells[0, :, :length].nbytes)

    def score(self, q_KGE: Array, packed: int, out_KGS: Array, room: Array) -> None:
        self.fmt.scores(rotate(q_KGE, self.turn), self.cells[0, :, :packed], out_KGS, room)

    def mix(self, weights_KGS: Array, packed: int, room: Array) -> Array:
        return rotate(self.fmt.mix(weights_KGS, self.cells[0, :, :packed], scratch=room), self.turn)
