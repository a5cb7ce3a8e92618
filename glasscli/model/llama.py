"""Third stop of a prompt: token ids in, logits out.

    ids ─ embedding ─ block × n_layers ─ norm ─ logits

The model holds weights. The cache is handed in and belongs to whoever runs the loop.
"""

import threading
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array
from glasscli.cache.choice import CacheChoice
from glasscli.cache.chosen import chosen_stores
from glasscli.cache.kv_cache import STORES, KVCache, MakeStore
from glasscli.cache.layout import layout_of
from glasscli.config.model_config import ModelConfig
from glasscli.config.rotary import RopeScaling
from glasscli.errors import ConfigError, UsageError
from glasscli.model.block import Step, block, scaled
from glasscli.model.decode import Decoder
from glasscli.model.ops import norm
from glasscli.model.places import At, untouched
from glasscli.model.rope import Rotations
from glasscli.model.turning import Turning
from glasscli.model.weights import BlockWeights, Weights, load_weights

if TYPE_CHECKING:
    from glasscli.inspect.trace import Trace
    from glasscli.specs.cache_spec import CacheSpec

# New tokens computed at once: enough to keep the matrix products busy, fewer where a block's scores
# (heads × block × tokens seen) would pass 3 MiB.
PREFILL_BLOCK, SMALLEST_BLOCK, LARGEST_SCORES = 128, 32, 3 * 2**18


class Llama:
    """A model with its weights in memory, ready to compute: a Llama, or another row of `config.architectures`.

    Attributes:
        config: its settings.
        layout: one attention entry a layer, for `KVCache` and the budget.
        weights: its weights, arranged for computing.
    """

    def __init__(self, config: ModelConfig, tensors: Mapping[str, Array] | Weights) -> None:
        """Take float32 `tensors` by the names in their file, already checked against `config`; or arranged ones."""
        self.config = config
        self.layout = layout_of(config)
        self.weights = tensors if isinstance(tensors, Weights) else load_weights(config, tensors)
        self._turning = Turning(config)
        self._scratch = threading.local()

    def with_blocks(self, blocks: Mapping[int, BlockWeights]) -> "Llama":
        """A model that has other weights in some layers, and shares all else with this one."""
        made = copy(self)
        made.weights = replace(
            self.weights, blocks=tuple(blocks.get(layer, own) for layer, own in enumerate(self.weights.blocks))
        )
        made._scratch = threading.local()  # a decoder holds the weights it was made for
        return made

    def new_cache(
        self,
        max_tokens: int | None = None,
        batch: int = 1,
        stores: "Mapping[type[CacheSpec], MakeStore]" = STORES,
    ) -> KVCache:
        """An empty cache that fits this model (default: as many tokens as it was trained for)."""
        return KVCache(self.layout, self.config.max_seq_len if max_tokens is None else max_tokens, batch, stores)

    def chosen_cache(self, choice: CacheChoice, max_tokens: int | None = None, batch: int = 1) -> KVCache:
        """An empty cache of the user's choice. How many heads share a key is a matter of the weights, not of this.

        Raises:
            ConfigError: as `stores_for`.
        """
        return self.new_cache(max_tokens, batch, self.stores_for(choice))

    def stores_for(self, choice: CacheChoice) -> "Mapping[type[CacheSpec], MakeStore]":
        """What makes the store of each kind of attention, as the user chose.

        Raises:
            ConfigError: the choice can't be for this model (`CacheChoice.check`), or positions that layers turn
                differently are to be counted anew.
        """
        if choice.renumbered and not self._turning.alike:
            raise ConfigError("positions can be counted anew only where all layers rotate alike", "rope_parameters")
        return chosen_stores(choice, self._turning.forward)

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
        the fast form of `model.decode`.

        Args:
            token_ids: at least one id below `vocab_size`.
            cache: of one sequence, appended to; None reads the ids with nothing before them.
            last_only: predict what follows the last token only.
            trace: sees the named places of the run, and may change numbers there.

        Returns:
            logits, float32 [T, V], or [1, V] with `last_only`.

        Raises:
            UsageError: no tokens, an id out of range, more tokens than the cache has room for, or a cache of
                several sequences.
        """
        self._check(token_ids)
        if cache is None:
            cache = self.new_cache(len(token_ids))
        elif cache.batch > 1:
            raise UsageError(
                f"the cache holds {cache.batch} sequences: read a prompt into one of them by `cache.row(i)`, "
                "and a token of each by `decode_batch`"
            )
        end = cache.length + len(token_ids)
        if end > cache.max_tokens:
            raise UsageError(
                f"{len(token_ids)} more tokens don't fit a cache that holds {cache.length} of {cache.max_tokens}"
            )
        self._check_positions(end)
        if trace is None and len(token_ids) == 1 and cache.length and self.has_fast_form:
            return self._own_decoder().step(token_ids[0], cache)[None]
        most = self._most_at_once(cache, len(token_ids) if trace is not None else None)
        streams, first = [], 0
        while first < len(token_ids):
            stop = first + (most or self._block_size(cache.length))
            x_TD = self._read(token_ids[first:stop], cache, end, trace)
            streams.append(x_TD[-1:] if last_only else x_TD)
            first = stop
        x_TD = streams[-1] if last_only else np.concatenate(streams)
        return self.logits(x_TD, untouched if trace is None else trace.at(None))

    def logits(self, x_TD: Array, at: At = untouched) -> Array:
        """What a residual stream [..., D] predicts: the last norm and the head, [..., V]."""
        config = self.config
        normed = at("final_norm", norm(x_TD, self.weights.norm, config.norm_eps))
        logits = scaled(normed @ self.weights.unembedding.T, config.logit_scale)
        if config.logit_softcap is not None:
            logits = config.logit_softcap * np.tanh(logits / config.logit_softcap)
        return at("logits", logits)

    def decode_batch(self, token_ids: Sequence[int], cache: KVCache) -> Array:
        """Append one token to every sequence of `cache`, each at its own length: logits float32 [B, V].

        Raises:
            UsageError: not one id a sequence, an id out of range, or a full sequence.
        """
        self._check(token_ids)
        if len(token_ids) != cache.batch or max(cache.lengths) >= cache.max_tokens:
            raise UsageError(f"{len(token_ids)} tokens for {cache.batch} sequences that hold {cache.lengths}")
        positions, end = np.array(cache.lengths), cache.length + 1
        self._check_positions(end)
        rotations = self._turning.by_layer(positions, end)
        step = Step(self.config, cache, tuple(None if r is None else r[:, None, None] for r in rotations))
        return self.logits(self._through_blocks(self._embed(token_ids, positions)[:, None], step)[:, 0])

    def decoder(self) -> Decoder:
        """The fast form of a single step, with scratch space of its own: for one loop, in one thread."""
        return Decoder(self)

    @property
    def has_fast_form(self) -> bool:
        """Whether `model.decode` computes this architecture."""
        return Decoder.knows(self.config)

    @property
    def can_slide(self) -> bool:
        """Whether tokens that were read can move to other positions (`slide_window`)."""
        return self.weights.positions is None

    def slide_window(self, cache: KVCache, sinks: int, drop: int) -> None:
        """Forget `drop` tokens after the first `sinks`, and move the later ones up to close the gap.

        Keys that move are turned back by `drop` positions, so that positions count within the cache: what an
        endless text needs to stay inside the positions that were trained for.

        Raises:
            UsageError: each position has an embedding, so that what is kept can't be moved.

        Source: Xiao et al. 2023, arXiv:2309.17453, section 3.2 ("attention sinks").
        """
        if not self.can_slide:
            raise UsageError("each position of this model has an embedding: what it has read can't be moved")
        cache.forget(sinks, drop, self._turning.back(drop, cache.length))

    def rotations(self, start: int, stop: int, rope: RopeScaling | None = None) -> Rotations:
        """The rotations of positions `start` to `stop` − 1, complex64 [stop − start, E/2]."""
        return self._turning.span(start, stop, rope)

    def _most_at_once(self, cache: KVCache, asked: int | None) -> int | None:
        """How many tokens to read at once if that is given: all with a trace, one where a cache goes by attention."""
        if not any(store.by_attention for store in cache.stores):
            return asked
        if asked is not None and asked > 1:
            raise UsageError(
                "a cache that drops tokens by what was attended to reads one token at a time: trace one token"
            )
        return 1

    def _block_size(self, seen: int) -> int:
        most = LARGEST_SCORES // (self.config.n_heads * (seen + PREFILL_BLOCK))
        return max(SMALLEST_BLOCK, min(PREFILL_BLOCK, most))

    def _read(self, token_ids: Sequence[int], cache: KVCache, end: int, trace: "Trace | None") -> Array:
        """The residual stream after the last block, [T, D]; `end` is where the whole text will end."""
        positions: NDArray[np.intp] = np.arange(cache.length, cache.length + len(token_ids))
        step = Step(self.config, cache, self._turning.by_layer(positions, end))
        x_BTD = self._embed(token_ids, positions)[None]
        if trace is not None:
            trace.begin(self.config, cache.length)
            x_BTD = trace.at(None)("embedding", x_BTD)
        return self._through_blocks(x_BTD, step, trace)[0]

    def _embed(self, token_ids: Sequence[int], positions: NDArray[np.intp]) -> Array:
        x_TD = scaled(self.weights.embedding[list(token_ids)], self.config.embedding_scale)
        return x_TD if self.weights.positions is None else x_TD + self.weights.positions[positions]

    def _through_blocks(self, x_BTD: Array, step: Step, trace: "Trace | None" = None) -> Array:
        for layer, weights in enumerate(self.weights.blocks):
            x_BTD = block(x_BTD, weights, layer, step, untouched if trace is None else trace.at(layer))
        step.cache.advance(x_BTD.shape[1])
        return x_BTD

    def _own_decoder(self) -> Decoder:
        """For a caller that hands in one token at a time and brings no scratch space: one decoder for each thread."""
        if not hasattr(self._scratch, "decoder"):
            self._scratch.decoder = Decoder(self)
        decoder: Decoder = self._scratch.decoder
        return decoder

    def _check_positions(self, end: int) -> None:
        if self.weights.positions is not None and end > len(self.weights.positions):
            raise UsageError(f"the model has embeddings of {len(self.weights.positions)} positions, not of {end}")

    def _check(self, token_ids: Sequence[int]) -> None:
        if not len(token_ids):
            raise UsageError("there are no tokens to read")
        if min(token_ids) < 0 or max(token_ids) >= self.config.vocab_size:
            worst = next(i for i in token_ids if not 0 <= i < self.config.vocab_size)
            raise UsageError(f"token id {worst} is outside the model's vocabulary of {self.config.vocab_size}")
