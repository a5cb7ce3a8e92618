"""A model that says what it is told to, to test everything around it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.kv_cache import KVCache
from glasscli.checkpoint.load import LoadedModel


class Scripted:
    """In place of a `Llama`: after each call, the next token of `script` is by far the likeliest.

    Attributes:
        read: the tokens of every call.
    """

    def __init__(self, loaded: LoadedModel, script: Sequence[int]) -> None:
        self.layout, self.config = loaded.model.layout, loaded.config
        self.script, self.read = iter(script), list[tuple[int, ...]]()

    has_fast_form = False

    def new_cache(self, max_tokens: int, batch: int = 1) -> KVCache:
        """A real cache, which nothing fills."""
        return KVCache(self.layout, max_tokens, batch)

    def __call__(self, token_ids: Sequence[int], cache: KVCache | None = None, *, last_only: bool = False) -> Array:
        """Logits [1, V]."""
        self.read.append(tuple(token_ids))
        if cache is not None:
            cache.advance(len(token_ids))
        logits = np.zeros((1, self.config.vocab_size), np.float32)
        logits[0, next(self.script)] = 50
        return logits


def scripted(loaded: LoadedModel, script: str | Sequence[int]) -> LoadedModel:
    """`loaded` with a model that writes `script`: token ids, or a text."""
    ids = loaded.encode(script)[1:] if isinstance(script, str) else script
    return replace(loaded, model=Scripted(loaded, ids))  # type: ignore[arg-type]


def logits_of(*probabilities: float) -> Array:
    """Logits whose softmax is `probabilities`."""
    return np.log(np.array(probabilities)).astype(np.float32)
