"""Third stop of a prompt: token ids in, logits out.

    ids ─ embedding ─ block × n_layers ─ norm ─ logits

The model holds weights. The cache is handed in and belongs to whoever runs the loop.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasscli.cache.kv_cache import KVCache
from glasscli.cache.layout import layout_of
from glasscli.config.model_config import ModelConfig
from glasscli.errors import UsageError
from glasscli.model.block import block
from glasscli.model.decode import Decoder, decode_batch
from glasscli.model.ops import Array, rms_norm
from glasscli.model.prefill import read
from glasscli.model.rope import Turns, frequencies, rotate, turns
from glasscli.model.weights import arrange

if TYPE_CHECKING:
    from glasscli.inspect.trace import Trace

# New tokens computed at once: enough to keep the matrix products busy, fewer where a block's scores
# (heads × block × tokens seen) would pass 3 MiB.
PREFILL_BLOCK, SMALLEST_BLOCK, LARGEST_SCORES = 128, 32, 3 * 2**18


class Llama:
    """A Llama with its weights in memory, ready to compute.

    Attributes:
        config: its settings.
        layout: one attention entry a layer, for `KVCache` and the budget.
        weights: its weights, arranged for computing.
    """

    def __init__(self, config: ModelConfig, tensors: Mapping[str, Array]) -> None:
        """Take float32 `tensors` by their Hugging Face names, already checked against `config`."""
        self.config = config
        self.layout = layout_of(config)
        self.weights = arrange(config, tensors)
        self.frequency = frequencies(config.rope, config.head_dim)

    def new_cache(self, max_tokens: int | None = None, batch: int = 1) -> KVCache:
        """An empty cache that fits this model (default: as many tokens as it was trained for)."""
        return KVCache(self.layout, max_tokens or self.config.max_seq_len, batch)

    def __call__(
        self,
        token_ids: Sequence[int],
        cache: KVCache | None = None,
        *,
        last_only: bool = False,
        trace: "Trace | None" = None,
    ) -> Array:
        """Read `token_ids` behind what `cache` holds, and predict what follows each of them.

        Long prompts are computed in blocks of at most 128 tokens, so that no T × T matrix is ever held; with a
        `trace` they are computed in one, since the whole matrix was asked for. One token behind a cache takes
        the fast form of `model.decode`, several without a trace that of `model.prefill`.

        Args:
            token_ids: at least one id below `vocab_size`.
            cache: appended to; None reads the ids with nothing before them.
            last_only: predict what follows the last token only.
            trace: keeps the attention steps of its layers.

        Returns:
            logits, float32 [T, V], or [1, V] with `last_only`.

        Raises:
            UsageError: no tokens, an id out of range, or more tokens than the cache has room for.
        """
        self._check(token_ids)
        if cache is not None and trace is None and len(token_ids) == 1 and cache.length < cache.max_tokens:
            return self._decoder(cache).step(token_ids[0])[None]
        if cache is None:
            cache = self.new_cache(len(token_ids))
        if cache.length + len(token_ids) > cache.max_tokens:
            raise UsageError(
                f"{len(token_ids)} more tokens don't fit a cache that holds {cache.length} of {cache.max_tokens}"
            )
        streams, first = [], 0
        while first < len(token_ids):
            stop = len(token_ids) if trace is not None else first + self._block_size(cache.length)
            x_TD = self._read(token_ids[first:stop], cache, trace)
            streams.append(x_TD[-1:] if last_only else x_TD)
            first = stop
        x_TD = streams[-1] if last_only else np.concatenate(streams)
        return rms_norm(x_TD, self.weights.norm, self.config.norm_eps) @ self.weights.unembedding.T

    def _block_size(self, seen: int) -> int:
        most = LARGEST_SCORES // (self.config.n_heads * (seen + PREFILL_BLOCK))
        return max(SMALLEST_BLOCK, min(PREFILL_BLOCK, most))

    def _read(self, token_ids: Sequence[int], cache: KVCache, trace: "Trace | None") -> Array:
        """The residual stream after the last block, [T, D]."""
        if trace is None:
            return read(self, token_ids, cache)
        start = cache.length
        turns_TP = self.turns(start, start + len(token_ids))
        x_TD = self.weights.embedding[list(token_ids)]
        for layer, weights in enumerate(self.weights.blocks):
            before = x_TD
            x_TD, steps = block(x_TD, weights, self.config, cache, layer, turns_TP)
            trace.keep(layer, start, before, steps)
            del steps  # the scores of one layer at a time are enough
        cache.advance(len(token_ids))
        return x_TD

    def _decoder(self, cache: KVCache) -> Decoder:
        workspace = cache.workspace
        if not isinstance(workspace, Decoder) or workspace.model is not self:  # another model may have filled it
            cache.workspace = workspace = Decoder(self, cache)
        return workspace

    def decode_batch(self, token_ids: Sequence[int], cache: KVCache) -> Array:
        """Append one token to every sequence of `cache`, each at its own length: logits float32 [B, V].

        Raises:
            UsageError: not one id a sequence, an id out of range, or a full sequence.
        """
        self._check(token_ids)
        if len(token_ids) != cache.batch or max(cache.lengths) >= cache.max_tokens:
            raise UsageError(f"{len(token_ids)} tokens for {cache.batch} sequences that hold {cache.lengths}")
        x_BD = decode_batch(self, token_ids, cache)
        return rms_norm(x_BD, self.weights.norm, self.config.norm_eps) @ self.weights.unembedding.T

    def slide_window(self, cache: KVCache, sinks: int, drop: int) -> None:
        """Forget `drop` tokens after the first `sinks`, and move the later ones up to close the gap.

        Keys that move are turned back by `drop` positions, so that positions count within the cache: what an
        endless text needs to stay inside the positions that were trained for.

        Source: Xiao et al. 2023, arXiv:2309.17453, section 3.2 ("attention sinks").
        """
        length = cache.length
        assert cache.batch == 1
        assert 0 < drop <= length - sinks
        moved = cache.kv[:, :, 0, :, sinks + drop : length].copy()
        moved[:, 0] = rotate(moved[:, 0], self.turns(drop, drop + 1).conj())
        cache.kv[:, :, 0, :, sinks : length - drop] = moved
        cache.truncate(length - drop)

    def turns(self, start: int, stop: int) -> Turns:
        """The rotations of positions `start` to `stop` − 1, complex64 [stop − start, E/2]."""
        return turns(self.frequency, start, stop)

    def _check(self, token_ids: Sequence[int]) -> None:
        if not len(token_ids):
            raise UsageError("there are no tokens to read")
        if min(token_ids) < 0 or max(token_ids) >= self.config.vocab_size:
            worst = next(i for i in token_ids if not 0 <= i < self.config.vocab_size)
            raise UsageError(f"token id {worst} is outside the model's vocabulary of {self.config.vocab_size}")
