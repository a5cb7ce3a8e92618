"""Caches put to the test: the same text read with each, and what it cost beside the full one.

What a query sees is what a token-by-token decoder's cache holds right after that token was appended; the stores see to
that, so a chunk is read in two blocks. Chunks begin with the opening mark and stay inside one document, and their
second halves are scored, so that a window has something to forget.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.choice import CacheChoice
from glasscli.cache.kv_cache import KVCache
from glasscli.cache.one_head import OneHeadStore
from glasscli.errors import CheckpointError, UsageError
from glasscli.model.llama import Llama
from glasscli.quality.divergence import Chunk, Divergence, compare, mean_nats
from glasscli.quality.merged import merged_model, partly_merged_model

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

COPY_TOKENS = 64
# A full cache that repeats less than this of a random string can't show what a smaller one forgets.
COPIES = 0.1
LEAST = 8  # tokens of a chunk
SIZE_STEP = 64  # tokens between two sizes; a whole number of every format's blocks


@dataclass(frozen=True)
class Result:
    """One cache on one text.

    Attributes:
        bytes_per_token: what each further token adds; 0 where nothing grows any more.
        constant_bytes: what does not grow with the text: a window, sinks, the exact rest of a packed cache.
        chunk_bytes: what a chunk takes, the length at which its cost was measured.
        copied: share of a random string's second telling that the model still predicts; None where the full cache
            can't either.
    """

    choice: CacheChoice
    bytes_per_token: int
    constant_bytes: int
    chunk_bytes: int
    divergence: Divergence
    copied: float | None


class Trial:
    """A model, a text cut into chunks, and what the full cache says of it, computed once.

    Attributes:
        chunks: token ids of each chunk.
        perplexity: of the full cache over the scored halves.
        copied: what share of a random string the full cache repeats.
    """

    def __init__(
        self,
        loaded: "LoadedModel",
        documents: Sequence[Sequence[int]],
        context: int,
        most_chunks: int | None = None,
        seed: int = 0,
    ) -> None:
        """Cut `documents` (token ids, without the opening mark) into chunks of `context` tokens, mark included.

        Raises:
            UsageError: no document is as long as a chunk, or the chunk is too short or too long for the model.
            CheckpointError: what the model predicts is no number.
        """
        if not LEAST <= context <= loaded.config.max_seq_len:
            most = loaded.config.max_seq_len
            raise UsageError(
                f"a chunk of {context:,} token{'s' * (context != 1)}; this model reads {LEAST} to {most:,}"
            )
        self.loaded, self.context = loaded, context
        self.chunks = list(islice(cut_chunks(documents, context, loaded.config.bos_ids[:1]), most_chunks))
        if not self.chunks:
            raise UsageError(f"no document of the text has the {context:,} tokens of a chunk; ask for shorter ones")
        full = CacheChoice()
        self._full = [self._scored(loaded.model, self._cache(loaded.model, full), ids) for ids in self.chunks]
        if not all(np.isfinite(logits).all() for logits in self._full):
            raise CheckpointError("what the model predicts with the full cache is no number")
        nats = [mean_nats(logits, self._next(ids)) for logits, ids in zip(self._full, self.chunks, strict=True)]
        self.perplexity = float(np.exp(np.mean(nats)))
        self._n_told = min(COPY_TOKENS, context // 4, loaded.tokenizer.vocab_size // 4)
        self._copy_ids = told_twice(loaded, self.chunks[0], self._n_told, seed)
        self.copied = self._copied(loaded.model, full)

    @property
    def can_copy(self) -> bool:
        """Whether the full cache repeats enough of a random string to show what another forgets."""
        return self.copied >= COPIES

    def check(self, choice: CacheChoice) -> None:
        """Refuse a choice that can't be for this model.

        Raises:
            ConfigError, UsageError: see `CacheChoice.check` and `Llama.chosen_cache`.
        """
        self._cache(self._model(choice), choice)

    def run(self, choice: CacheChoice) -> Result:
        """Read the text with a cache of that choice.

        Raises:
            ConfigError: the choice can't be for this model.
        """
        model = self._model(choice)
        found = self._compare(model, lambda: self._cache(model, choice), choice)
        copied = self._copied(model, choice) if self.can_copy else None
        return Result(choice, *self.sizes(choice), self.chunk_bytes(choice), found, copied)

    def chunk_bytes(self, choice: CacheChoice) -> int:
        """Bytes that are held for a chunk."""
        return self._cache(self._model(choice), choice).nbytes

    def sizes(self, choice: CacheChoice) -> tuple[int, int]:
        """Bytes that each further token takes, and constant ones, as they are really held.

        A window longer than the model's context is never full: it grows.
        """
        model, most = self._model(choice), self.loaded.config.max_seq_len
        n = max(4096, min(choice.tokens + choice.sinks, most))
        n += -n % SIZE_STEP
        long, longer = (model.chosen_cache(choice, length).nbytes for length in (n, n + SIZE_STEP))
        grown = (longer - long) // SIZE_STEP
        return grown, long - n * grown

    def run_apart(self, choice: CacheChoice) -> Divergence:
        """What a cache costs, without its bytes and what it copies."""
        model = self.loaded.model
        return self._compare(model, lambda: self._cache(model, choice), choice)

    def run_layer(self, choice: CacheChoice, layer: int) -> Divergence:
        """What it costs if one layer alone has that cache, the others the full one."""
        model = self._partly_merged(choice, "kv", (layer,))

        def cache() -> KVCache:
            return self._cache(model, CacheChoice()).with_layers({layer: self._cache(model, choice).stores[layer]})

        return self._compare(model, cache, choice)

    def run_heads(self, choice: CacheChoice, roles: str) -> Divergence:
        """What it costs if keys ("k") or values ("v") alone are merged as the choice says, in the full cache."""
        model = self._partly_merged(choice, roles, None)
        return self._compare(model, lambda: self._cache(model, CacheChoice()), CacheChoice())

    def run_head(self, choice: CacheChoice, layer: int, head: int) -> Divergence:
        """What it costs if one key/value head of one layer alone keeps its tokens so, the others all of theirs.

        TOVA, which decides for all heads of a layer, decides for the one.
        """
        assert choice.kv_heads is None
        model, config = self.loaded.model, self.loaded.config

        def cache() -> KVCache:
            full, spec = self._cache(model, CacheChoice()), model.layout[layer]
            one = replace(spec, n_kv_heads=1)  # type: ignore[type-var]
            part = model.stores_for(choice)[type(spec)](one, self.context, 1)
            return full.with_layers({layer: OneHeadStore(full.stores[layer], part, head, config.group_size)})

        return self._compare(model, cache, choice)

    def _partly_merged(self, choice: CacheChoice, roles: str, layers: Sequence[int] | None) -> Llama:
        if choice.kv_heads is None:
            return self.loaded.model
        return partly_merged_model(self.loaded, choice.kv_heads, layers, roles)

    def _model(self, choice: CacheChoice) -> Llama:
        choice.check(self.loaded.config.n_kv_heads, self.loaded.config.head_dim)
        return self.loaded.model if choice.kv_heads is None else merged_model(self.loaded, choice.kv_heads)

    def _compare(self, model: Llama, cache: Callable[[], KVCache], choice: CacheChoice) -> Divergence:
        """The text read with a new cache for each chunk, beside the full cache."""

        def chunks() -> Iterator[Chunk]:
            for ids, full in zip(self.chunks, self._full, strict=True):
                tested = self._scored(model, cache(), ids)
                if not np.isfinite(tested).all():
                    raise CheckpointError(f"what the model predicts with the cache {choice.text} is no number")
                yield Chunk(full, tested, self._next(ids))

        return compare(chunks())

    def _cache(self, model: Llama, choice: CacheChoice) -> KVCache:
        return model.chosen_cache(choice, self.context)

    def _scored(self, model: Llama, cache: KVCache, ids: Sequence[int]) -> Array:
        """Logits that predict the second half of a chunk."""
        return _read(model, cache, ids[:-1], self.context // 2 - 1)

    def _next(self, ids: Sequence[int]) -> Sequence[int]:
        return ids[self.context // 2 :]

    def _copied(self, model: Llama, choice: CacheChoice) -> float:
        """Share of the second telling whose likeliest prediction is right, its first token left out."""
        told = self._copy_ids[len(self._copy_ids) - self._n_told + 1 :]
        logits = _read(model, self._cache(model, choice), self._copy_ids[:-1], len(self._copy_ids) - 1 - len(told))
        return float((logits.argmax(axis=-1) == np.array(told)).mean())


def cut_chunks(documents: Sequence[Sequence[int]], context: int, mark: Sequence[int]) -> Iterator[list[int]]:
    """Whole chunks of `context` tokens, each beginning with `mark`; what is left of a document is dropped."""
    step = context - len(mark)
    for ids in documents:
        for first in range(0, len(ids) - step + 1, step):
            yield [*mark, *ids[first : first + step]]


def _read(model: Llama, cache: KVCache, ids: Sequence[int], first: int) -> Array:
    """Read `ids` into an empty cache: the logits from token `first` on."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is no number is refused by whoever asked
        if model.has_fast_form and all(store.by_attention for store in cache.stores):
            # One token at a time, as such a cache must be read, is what the decoder is for.
            return np.concatenate([model([token_id], cache) for token_id in ids][first:])
        if first:
            model(ids[:first], cache, last_only=True)
        return model(ids[first:], cache)


def told_twice(loaded: "LoadedModel", chunk: Sequence[int], n: int, seed: int) -> list[int]:
    """A chunk that tells `n` random tokens, words of the tokenizer, at its beginning and again at its end."""
    barred = {*loaded.unused_ids, *loaded.tokenizer.special_ids}
    words = [i for i in range(loaded.config.vocab_size) if i not in barred]
    told = random.Random(seed).sample(words, n)
    mark = loaded.config.bos_ids[:1]
    between = chunk[len(mark) : len(chunk) - 2 * n]
    return [*mark, *told, *between, *told]
