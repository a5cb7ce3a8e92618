"""The cache that a text is written through: the one that was chosen, or a refusal before the first token."""

from typing import TYPE_CHECKING

from glasscli.errors import UsageError

if TYPE_CHECKING:
    from glasscli.cache.choice import CacheChoice
    from glasscli.cache.kv_cache import KVCache
    from glasscli.checkpoint.load import LoadedModel


def open_cache(
    loaded: "LoadedModel", choice: "CacheChoice", max_tokens: int, batch: int = 1, *, slides: bool = False
) -> "KVCache":
    """An empty cache of that choice.

    Args:
        slides: tokens in the middle will have to be forgotten.

    Raises:
        UsageError: it can't forget those, or it is for another number of heads than the model has.
        ConfigError: it can't be for this model.
    """
    n_heads = loaded.config.n_kv_heads
    if choice.kv_heads not in (None, n_heads):
        raise UsageError(
            f"the cache {choice.text} is for {choice.kv_heads} key/value heads and the model has {n_heads}: "
            "`quality.merged.with_merged_heads` makes one that fits"
        )
    if choice.is_full:
        return loaded.model.new_cache(max_tokens, batch)
    cache = loaded.model.chosen_cache(choice, max_tokens, batch)
    if slides and not all(store.forgets for store in cache.stores):
        raise UsageError(
            f"overflow slide forgets tokens in the middle of a text, and the cache {choice.text} of this model can't: "
            "use error or left"
        )
    return cache
