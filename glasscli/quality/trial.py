"""Caches put to the test: the same text read with each, and what it cost beside the full one.

What a query sees is what a token-by-token decoder's cache holds right after that token was appended; the stores see to
that, so a chunk is read in one go. Chunks begin with the opening mark and stay inside one document, and their second
halves are scored, so that a window has something to forget.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.choice import CacheChoice
from glasscli.errors import UsageError
from glasscli.quality.divergence import Chunk, Divergence, compare, mean_nats
from glasscli.quality.merged import merged_model

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

COPY_TOKENS = 64
# A full cache that repeats less than this of a random string can't show what a smaller one forgets.
COPIES = 0.1


@dataclass(frozen=True)
class Result:
    """One cache on one text.

    Attributes:
        bytes_per_token: what each further token adds; 0 where nothing grows any more.
        constant_bytes: what does not grow with the text: a window, sinks, the exact rest of a packed cache.
        copied: share of a random string's second telling that the model still predicts; None where the full cache
            can't either.
    """

    choice: CacheChoice
    bytes_per_token: int
    constant_bytes: int
    divergence: Divergence
    copied: float | None


class Trial:
    """A model, a text cut into chunks, and what the full cache says of it, computed once.

    Attributes:
        chunks: token ids of each chunk.
        perplexity: of the full cache over the scored halves.
        copied: what share of a random string the full cache repeats.
    """

    def __init__(self, loaded: "LoadedModel", documents: Sequence[Sequence[int]], context: int, seed: int = 0) -> None:
        """Cut `documents` (token ids, without the opening mark) into chunks of `context` tokens, mark included.

        Raises:
            UsageError: no document is as long as a chunk, or the chunk is too short or too long for the model.
        """
        if not 8 <= context <= loaded.config.max_seq_len:
            raise UsageError(f"a chunk of {context} tokens; expected 8 to {loaded.config.max_seq_len}")
        self.loaded, self.context = loaded, context
        self.chunks = list(cut_chunks(documents, context, loaded.config.bos_ids[:1]))
        if not self.chunks:
            raise UsageError(f"no document of the text has the {context} tokens of a chunk; ask for shorter ones")
        self._full = [_scored(loaded.model(ids), context) for ids in self.chunks]
        nats = [mean_nats(logits, self._next(ids)) for logits, ids in zip(self._full, self.chunks, strict=True)]
        self.perplexity = float(np.exp(np.mean(nats)))
        self._copy_ids = _told_twice(loaded, min(COPY_TOKENS, context // 2 - 1), seed)
        self.copied = _copied(loaded.model(self._copy_ids), self._copy_ids)

    def run(self, choice: CacheChoice) -> Result:
        """Read the text with a cache of that choice.

        Raises:
            ConfigError: the choice can't be for this model.
        """
        config = self.loaded.config
        choice.check(config.n_kv_heads, config.head_dim)
        model = self.loaded.model if choice.kv_heads is None else merged_model(self.loaded, choice.kv_heads)
        chunks = []
        for ids, full in zip(self.chunks, self._full, strict=True):
            tested = _scored(model(ids, model.chosen_cache(choice, len(ids))), self.context)
            chunks.append(Chunk(full, tested, self._next(ids)))
        copied = None
        if self.copied >= COPIES:
            copied = _copied(model(self._copy_ids, model.chosen_cache(choice, len(self._copy_ids))), self._copy_ids)
        long, longer = (model.chosen_cache(choice, n).nbytes for n in (4096, 8192))
        grown = (longer - long) // 4096
        return Result(choice, grown, long - 4096 * grown, compare(chunks), copied)

    def _next(self, ids: Sequence[int]) -> Sequence[int]:
        return ids[self.context // 2 :]


def cut_chunks(documents: Sequence[Sequence[int]], context: int, mark: Sequence[int]) -> Iterator[list[int]]:
    """Whole chunks of `context` tokens, each beginning with `mark`; what is left of a document is dropped."""
    step = context - len(mark)
    for ids in documents:
        for first in range(0, len(ids) - step + 1, step):
            yield [*mark, *ids[first : first + step]]


def _scored(logits_TV: Array, context: int) -> Array:
    """The rows that predict the second half of a chunk."""
    return logits_TV[context // 2 - 1 : -1]


def _told_twice(loaded: "LoadedModel", n: int, seed: int) -> list[int]:
    """The opening mark, `n` random tokens that are words of the tokenizer, and the same again."""
    barred = {*loaded.unused_ids, *loaded.tokenizer.special_ids}
    words = [i for i in range(loaded.config.vocab_size) if i not in barred]
    told = random.Random(seed).sample(words, min(n, len(words)))
    return [*loaded.config.bos_ids[:1], *told, *told]


def _copied(logits_TV: Array, ids: Sequence[int]) -> float:
    """Share of the second telling whose likeliest prediction is right, its first token left out."""
    n = len(ids) // 2
    guessed = logits_TV[len(ids) - n : -1].argmax(axis=-1)
    return float((guessed == np.array(ids[len(ids) - n + 1 :])).mean())
