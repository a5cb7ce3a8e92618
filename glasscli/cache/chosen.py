"""From a choice of cache to the stores that hold it, for each kind of attention."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from glasscli.cache.choice import CacheChoice
from glasscli.cache.formats.names import KIVI
from glasscli.cache.kv_cache import STORES, MakeStore
from glasscli.cache.store import Store
from glasscli.specs.attention_specs import SlidingAttention
from glasscli.specs.cache_spec import CacheSpec, FullAttention

if TYPE_CHECKING:
    from glasscli.cache.sinks import TurnBy


def chosen_stores(choice: CacheChoice, turn_by: "TurnBy | None" = None) -> Mapping[type[CacheSpec], MakeStore]:
    """What makes the store of each kind of attention, as `choice` says.

    Args:
        turn_by: turns keys by positions, needed where `choice` counts positions anew.
    """
    if choice.is_full:
        return STORES
    # Packed stores with all their formats: few runs need them, so that no other reads them.
    from glasscli.cache.evicting import EvictingStore
    from glasscli.cache.kivi import KiviStore
    from glasscli.cache.packed import PackedStore
    from glasscli.cache.rows import Packing
    from glasscli.cache.sinks import SinkStore

    assert turn_by is not None or not choice.renumbered

    def full(spec: Any, max_tokens: int, batch: int) -> Store:
        packing = Packing.chosen(choice, spec)
        if choice.keeps == "window":
            turn = turn_by if choice.renumbered else None
            return SinkStore(packing, spec, max_tokens, batch, choice.tokens, choice.sinks, turn)
        if choice.keeps == "h2o" or choice.keeps == "tova":
            return EvictingStore(packing, spec, max_tokens, batch, choice.tokens, choice.keeps)
        if {choice.k, choice.v} & KIVI:
            return KiviStore(packing, spec, max_tokens, batch, choice.residual)
        return PackedStore(packing, spec, max_tokens, batch)

    if choice.keeps != "all" or {choice.k, choice.v} & KIVI:
        return {FullAttention: full}

    def sliding(spec: Any, max_tokens: int, batch: int) -> Store:
        return SinkStore(Packing.chosen(choice, spec), spec, max_tokens, batch, spec.size)

    return {FullAttention: full, SlidingAttention: sliding}
