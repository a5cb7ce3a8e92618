"""Keys and values of the tokens seen so far: allocated once, appended to at every step.

The cache belongs to whoever runs the loop and is handed to the model, which writes and reads through its methods
alone. It counts tokens; how a layer keeps them is its store's business (`cache.store`). Keys arrive already rotated.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from glasscli.arrays import Array
from glasscli.cache.full import FullStore
from glasscli.cache.store import Store, Turn, View
from glasscli.cache.window import WindowStore
from glasscli.errors import UsageError
from glasscli.specs.attention_specs import SlidingAttention
from glasscli.specs.cache_spec import CacheSpec, FullAttention

MakeStore = Callable[[Any, int, int], Store]

# The store of each kind of attention. A kind that is not here is refused by name, whatever it derives from.
STORES: Mapping[type[CacheSpec], MakeStore] = {FullAttention: FullStore, SlidingAttention: WindowStore}


class KVCache:
    """Room for `max_tokens` keys and values a sequence.

    Attributes:
        lengths: tokens read, for each sequence.
        max_tokens: tokens there is room for, in each sequence.
    """

    def __init__(
        self,
        layout: Sequence[CacheSpec],
        max_tokens: int,
        batch: int = 1,
        stores: Mapping[type[CacheSpec], MakeStore] = STORES,
    ) -> None:
        """Allocate for `layout`, one entry a layer.

        Args:
            stores: what makes the store of each kind of attention from (kind, max_tokens, batch).

        Raises:
            UsageError: fewer than one token or sequence, a kind of attention without a store, or no memory.
        """
        if max_tokens < 1 or batch < 1:
            raise UsageError(f"a cache needs at least 1 token and 1 sequence, not {max_tokens} and {batch}")
        for layer, spec in enumerate(layout):
            if type(spec) not in stores:
                known = ", ".join(kind.__name__ for kind in stores)
                raise UsageError(f"layer {layer} has {spec.name} attention, which no cache here holds (only {known})")
        self.max_tokens, self.lengths = max_tokens, [0] * batch
        try:
            self._stores = tuple(stores[type(spec)](spec, max_tokens, batch) for spec in layout)
        except (MemoryError, ValueError):
            rows = [tensor for spec in layout for tensor in spec.tensors(max_tokens)]
            n_bytes = 4 * batch * sum(tensor.rows * tensor.width for tensor in rows)
            raise UsageError(f"no memory for a KV cache of {n_bytes:,} bytes ({max_tokens:,} tokens)") from None

    @property
    def batch(self) -> int:
        """Sequences side by side."""
        return len(self.lengths)

    @property
    def length(self) -> int:
        """Tokens read by the longest sequence: where the next one starts, if there is only one."""
        return max(self.lengths)

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return sum(store.nbytes for store in self._stores)

    @property
    def used_bytes(self) -> int:
        """Bytes of the tokens held, over all sequences."""
        return sum(store.bytes_held(length) for store in self._stores for length in self.lengths)

    def update(self, layer: int, k_BKTE: Array, v_BKTE: Array) -> View:
        """Keep new keys and values of one layer, and show what the new queries may look at.

        The lengths move once every layer has taken the tokens: see `advance`.

        Args:
            k_BKTE, v_BKTE: T new tokens of each sequence; T is 1 where there are several.
        """
        return self._stores[layer].update(k_BKTE, v_BKTE, self.lengths)

    @property
    def stores(self) -> tuple[Store, ...]:
        """One a layer, for a loop that takes single steps: see `Store.append_one`."""
        return self._stores

    def held(self, layer: int, sequence: int = 0) -> View:
        """Keys and values that one layer keeps of one sequence, oldest first. Not to be written to."""
        return self._stores[layer].held(sequence, self.lengths[sequence])

    def advance(self, n_tokens: int) -> None:
        """Count `n_tokens` more as read, in every sequence."""
        self.lengths = [length + n_tokens for length in self.lengths]

    def truncate(self, n_tokens: int) -> None:
        """Forget all but the first `n_tokens` tokens of every sequence.

        Raises:
            UsageError: a layer has let go of tokens that the first `n_tokens` would need.
        """
        for length in self.lengths:
            if length > n_tokens and not all(store.can_truncate(length, n_tokens) for store in self._stores):
                raise UsageError(f"a window has moved on: {length} tokens can't be cut to the first {n_tokens}")
        self.lengths = [min(length, n_tokens) for length in self.lengths]

    def row(self, index: int) -> "KVCache":
        """Sequence `index` as a cache of its own that shares this one's memory, to prefill it alone.

        Its length is a copy: write it back to `lengths[index]` when the prefill is done.
        """
        return self._part([store.row(index) for store in self._stores], [self.lengths[index]])

    def select(self, indices: Sequence[int]) -> "KVCache":
        """A new cache with copies of the sequences `indices` only, to go on without those that are done."""
        return self._part([store.select(indices) for store in self._stores], [self.lengths[i] for i in indices])

    def with_layers(self, stores: Mapping[int, Store]) -> "KVCache":
        """This cache, still empty, with other stores in some layers."""
        assert self.length == 0
        return self._part([stores.get(layer, store) for layer, store in enumerate(self._stores)], self.lengths)

    def forget(self, first: int, drop: int, turns: Sequence[Turn]) -> None:
        """Drop `drop` tokens from position `first` on, of the only sequence, and move the later ones up.

        Args:
            turns: for each layer, what turns keys back by `drop` positions; None where they carry none.
        """
        assert self.batch == 1
        assert 0 < drop <= self.length - first
        for store, turn in zip(self._stores, turns, strict=True):
            store.forget(first, drop, self.length, turn)
        self.lengths = [self.length - drop]

    def _part(self, stores: Sequence[Store], lengths: list[int]) -> "KVCache":
        part = object.__new__(KVCache)
        part.max_tokens, part.lengths, part._stores = self.max_tokens, lengths, tuple(stores)
        return part
