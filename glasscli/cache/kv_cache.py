"""Keys and values of the tokens seen so far: allocated once, appended to at every step.

The cache belongs to whoever runs the loop and is handed to the model. It knows shapes and bytes, not
attention: keys arrive already rotated, and a key never changes afterwards.
"""

from collections.abc import Sequence

import numpy as np

from glasscli.errors import UsageError
from glasscli.model.ops import Array
from glasscli.specs.cache_spec import FullAttention


class KVCache:
    """Room for `max_tokens` keys and values a sequence, in one float32 array.

    Attributes:
        kv: [n_layers, 2 (K, V), batch, n_kv_heads, max_tokens, head_dim]. The key/value head comes before the
            position, so that the keys one head reads lie together.
        lengths: tokens held, for each sequence.
        workspace: where the model may leave scratch arrays that fit this cache, so that a step allocates
            nothing. It is no part of the cache's contents or bytes.
    """

    def __init__(self, layout: Sequence[FullAttention], max_tokens: int, batch: int = 1) -> None:
        """Allocate for `layout`, one entry a layer.

        Raises:
            UsageError: fewer than one token or sequence.
        """
        if max_tokens < 1 or batch < 1:
            raise UsageError(f"a cache needs at least 1 token and 1 sequence, not {max_tokens} and {batch}")
        kind = layout[0]
        assert all(other == kind for other in layout)
        assert kind.k_dim == kind.v_dim
        # Zeros, not empty: a masked place is multiplied by 0, and 0 · NaN would be NaN.
        shape = (len(layout), 2, batch, kind.n_kv_heads, max_tokens, kind.k_dim)
        try:
            self.kv: Array = np.zeros(shape, np.float32)
        except (MemoryError, ValueError):
            n_bytes = 4 * 2 * len(layout) * batch * kind.n_kv_heads * max_tokens * kind.k_dim
            raise UsageError(f"no memory for a KV cache of {n_bytes:,} bytes ({max_tokens:,} tokens)") from None
        self.lengths = [0] * batch
        self.workspace: object = None

    @property
    def batch(self) -> int:
        """Sequences side by side."""
        return len(self.lengths)

    @property
    def max_tokens(self) -> int:
        """Tokens there is room for, in each sequence."""
        return self.kv.shape[4]

    @property
    def length(self) -> int:
        """Tokens held by the longest sequence: where the next one starts, if there is only one."""
        return max(self.lengths)

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self.kv.nbytes

    @property
    def used_bytes(self) -> int:
        """Bytes of the tokens held, over all sequences."""
        return self.kv.nbytes // (self.batch * self.max_tokens) * sum(self.lengths)

    def row(self, index: int) -> "KVCache":
        """Sequence `index` as a cache of its own that shares this one's memory, to prefill it alone.

        Its length is a copy: write it back to `lengths[index]` when the prefill is done.
        """
        part = object.__new__(KVCache)
        part.kv = self.kv[:, :, index : index + 1]
        part.lengths = [self.lengths[index]]
        part.workspace = None
        return part

    def append(self, layer: int, k_KTE: Array, v_KTE: Array) -> tuple[Array, Array]:
        """Put keys and values of one layer behind those held, and return views of all of them.

        The length moves once every layer has appended: see `advance`.

        Returns:
            k_KSE, v_KSE: views into the cache, the new tokens included. Nothing is copied but the new tokens.
        """
        start, stop = self.length, self.length + k_KTE.shape[1]
        assert self.batch == 1
        assert stop <= self.max_tokens
        k_KSE, v_KSE = self.kv[layer, 0, 0], self.kv[layer, 1, 0]
        k_KSE[:, start:stop] = k_KTE
        v_KSE[:, start:stop] = v_KTE
        return k_KSE[:, :stop], v_KSE[:, :stop]

    def advance(self, n_tokens: int) -> None:
        """Count `n_tokens` more as held, in every sequence."""
        self.lengths = [length + n_tokens for length in self.lengths]

    def truncate(self, n_tokens: int) -> None:
        """Forget all but the first `n_tokens` tokens of every sequence."""
        self.lengths = [min(length, n_tokens) for length in self.lengths]

    def select(self, indices: Sequence[int]) -> "KVCache":
        """A new cache with copies of the sequences `indices` only, to go on without those that are done."""
        part = object.__new__(KVCache)
        part.kv = np.ascontiguousarray(self.kv[:, :, list(indices)])
        part.lengths = [self.lengths[index] for index in indices]
        part.workspace = None
        return part
