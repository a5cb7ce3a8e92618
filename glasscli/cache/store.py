"""What one layer holds, whatever form it is held in: the one way in and the one way out.

A store answers for one layer of one cache: which tokens it keeps, in which form, and what a query may see of them.
`KVCache` picks the class from the layer's kind of attention (`STORES`); a new form is one class here and one row
there. Axes as in `model.attention`, with B sequences side by side in front.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array, Mask
from glasscli.specs.cache_spec import CacheSpec

FEW_KEYS = 512

# Turns keys [..., E] that move by some positions; None where keys carry no position.
Turn = Callable[[Array], Array] | None


class View(NamedTuple):
    """What some queries look at.

    Attributes:
        keys, values: [B, K, S, E], oldest first.
        mask: true where a query may look, for the last keys alone (all queries see the keys before those):
            bool, broadcastable to [B, H, T, M], M ≤ S. None if every query sees every key.
        first: position of the first key; larger than 0 where older tokens are no longer kept.
        positions: of each key, [S] or [K, S], where they do not simply follow on `first`; one may stand there twice,
            in two forms, if no query sees both.
    """

    keys: Array
    values: Array
    mask: Mask | None
    first: int = 0
    positions: NDArray[np.integer] | None = None


class Store(ABC):
    """Keys and values of one layer.

    A subclass says how many bytes it allocates, takes new tokens and shows what is kept (`update`), and knows how to
    drop, split and move sequences. All forms of the forward pass go through `update`: a prompt's block of tokens,
    one token of many sequences, a traced run, and, through `append_one`, the fast single step.
    """

    max_tokens: int
    by_attention: bool = False  # drops tokens by what was attended to: takes one at a time, and is told
    forgets: ClassVar[bool] = True  # whether `forget` works; a store with a rule of its own can't be told

    @abstractmethod
    def __init__(self, spec: CacheSpec, max_tokens: int, batch: int) -> None:
        """Allocate for `batch` sequences of up to `max_tokens` tokens."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """A class that takes tokens in its own way must not inherit a shortcut around it."""
        super().__init_subclass__(**kwargs)
        if "update" in vars(cls) and "append_one" not in vars(cls):
            cls.append_one = Store.append_one  # type: ignore[method-assign]

    @abstractmethod
    def update(self, k_BKTE: Array, v_BKTE: Array, starts: Sequence[int]) -> View:
        """Keep T new tokens of each sequence, the first at position `starts[b]`, and show what they may look at.

        T is 1 where there are several sequences; `starts` may then differ.
        """

    def append_one(self, kv_2KE: Array, start: int) -> tuple[Any, Any, int]:
        """`update` for one token of one sequence.

        Returns:
            the keys and the values it looks at, in any order and as `score_one` and `mix_one` read them, and how many
            they are. Those two read arrays [K, E, S] and [K, S, E] unless a subclass says otherwise.
        """
        view = self.update(kv_2KE[0, None, :, None], kv_2KE[1, None, :, None], (start,))
        assert view.mask is None
        return view.keys[0].swapaxes(1, 2), view.values[0], view.keys.shape[2]

    def score_one(self, q_KGE: Array, keys: Any, out_KGS: Array, room: Array) -> None:
        """Dot products of one token's queries with the keys of `append_one`. `room`: floats to unpack into."""
        if keys.shape[2] <= FEW_KEYS:
            np.matmul(q_KGE, keys, out_KGS)
        else:  # one product a head: OpenBLAS is slow at 2 × E × many
            np.matvec(keys.swapaxes(1, 2)[:, None], q_KGE, out_KGS)

    def mix_one(self, weights_KGS: Array, values: Any, out_KGE: Array, room: Array) -> None:
        """The values of `append_one`, weighted and summed."""
        np.matmul(weights_KGS, values, out_KGE)

    def observe(self, pattern_BHS: Array) -> None:
        """Hear what one token of each sequence attended to, if `by_attention`: shares of what `update` showed."""
        assert not self.by_attention

    def observe_one(self, weights_KGS: Array, sums_KG1: Array) -> None:
        """The same for the token of `append_one`: weights, not yet divided by their sums."""
        assert not self.by_attention

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes allocated."""

    @abstractmethod
    def bytes_held(self, length: int) -> int:
        """Bytes that a sequence of `length` tokens takes of those."""

    @abstractmethod
    def held(self, sequence: int, length: int) -> View:
        """Keys and values kept of one sequence of `length` tokens, oldest first, B = 1. Not to be written to."""

    @abstractmethod
    def row(self, sequence: int) -> Self:
        """One sequence as a store of its own that shares this one's memory."""

    @abstractmethod
    def select(self, sequences: Sequence[int]) -> Self:
        """A new store with copies of some sequences."""

    @abstractmethod
    def forget(self, first: int, drop: int, length: int, turn: Turn) -> None:
        """Drop `drop` tokens from position `first` on, of one sequence of `length` tokens, and close the gap.

        Later tokens move up by `drop` positions; `turn` turns their keys back by as much.
        """

    def can_truncate(self, length: int, to: int) -> bool:
        """Whether what is kept after `length` tokens still holds all that `to` tokens would."""
        return True


class ArrayStore(Store):
    """A store whose contents are arrays of one layout: the sequence is axis `SEQUENCES` of each.

    Splitting and selecting sequences is then the same for all.
    """

    SEQUENCES: ClassVar[int] = 1
    ARRAYS: ClassVar[tuple[str, ...]] = ("_kv",)

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in self.ARRAYS)

    def row(self, sequence: int) -> Self:
        return self._with_arrays(lambda array: array[:, sequence : sequence + 1])

    def select(self, sequences: Sequence[int]) -> Self:
        return self._with_arrays(lambda array: np.ascontiguousarray(array[:, list(sequences)]))

    def _with_arrays(self, change: Callable[[Any], Any]) -> Self:
        part = object.__new__(type(self))
        vars(part).update(vars(self))
        for name in self.ARRAYS:
            setattr(part, name, change(getattr(self, name)))
        part._views()
        return part

    def _views(self) -> None:
        """Make anew what points into the arrays."""


def causal_corner(n_new: int) -> Mask | None:
    """What new tokens see of each other: themselves and those before, bool [T, T]; None for one token alone."""
    return None if n_new == 1 else np.tri(n_new, dtype=np.bool)


@lru_cache(maxsize=2)
def own_past(starts: tuple[int, ...]) -> Mask:
    """What one new token at position `starts[b]` of each sequence sees of the longest's: bool [B, 1, 1, S].

    All layers of a step ask for the same one; it is not to be written to.
    """
    mask: Mask = np.arange(max(starts) + 1) <= np.asarray(starts)[:, None, None, None]
    mask.flags.writeable = False
    return mask


def side_by_side(views: Sequence[View]) -> View:
    """What one token each of several sequences sees, as one view: shorter ones filled up with what nobody sees."""
    most = max(view.keys.shape[2] for view in views)
    keys = np.zeros((len(views), views[0].keys.shape[1], most, views[0].keys.shape[3]), np.float32)
    values = np.zeros((*keys.shape[:3], views[0].values.shape[3]), np.float32)
    seen = np.array([view.keys.shape[2] for view in views])
    for index, view in enumerate(views):
        assert view.mask is None
        keys[index, :, : seen[index]], values[index, :, : seen[index]] = view.keys[0], view.values[0]
    mask: Mask = (np.arange(most) < seen[:, None])[:, None, None]
    return View(keys, values, mask, min(view.first for view in views))
