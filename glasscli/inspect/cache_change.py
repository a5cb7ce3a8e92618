"""What another cache does to one layer's attention: head by head, beside the full cache on the same tokens.

The whole run is another one: the layers below read their caches in the same form, so that queries differ too, and what
enters the layer. Only in layer 0 are queries the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.choice import CacheChoice
from glasscli.cache.chosen import chosen_stores
from glasscli.cache.kv_cache import KVCache
from glasscli.cache.layout import layout_of
from glasscli.config.model_config import ModelConfig
from glasscli.inspect.dump import Dump
from glasscli.inspect.trace import LayerTrace


@dataclass(frozen=True)
class HeadChange:
    """How far one head is from what it is with the full cache. Means over queries; row 0 of a text, which sees only
    itself, is left out when there are others.

    Attributes:
        moved: total variation ½ Σ |a − b| between the weights of both: the share that goes to other keys.
        moved_most: the largest of any query; `query` is that one's position.
        dropped: weight that the full cache gives to keys which this one no longer holds.
        score_rms: root mean square of the difference of the scores of keys that both see.
        mix: ‖mix − full mix‖ / ‖full mix‖, over all queries.
    """

    head: int
    kv_head: int
    moved: float
    moved_most: float
    query: int
    dropped: float
    score_rms: float
    mix: float


@dataclass(frozen=True)
class LayerChange:
    """One layer. `entered` and `out`: relative change of what enters it, and of what attention adds; as `mix`."""

    layer: int
    entered: float
    out: float
    heads: tuple[HeadChange, ...]


def beside(cached: Dump, full: Dump, choice: CacheChoice) -> Dump:
    """The dump of a run with the cache of `choice`, with that of the full cache to compare it with."""
    return replace(cached, cache=choice.text, full=full.layers)


def layer_change(cached: LayerTrace, full: LayerTrace) -> LayerChange:
    """What the cache changed in a layer. Both runs are of the same queries and keys."""
    rows = _rows(full)
    positions = np.flatnonzero(rows) + full.start
    seen = cached.seen & full.seen
    group = len(cached.pattern_HTS) // len(cached.cache_k_KSE)
    heads = []
    for head, (a, b) in enumerate(zip(cached.pattern_HTS, full.pattern_HTS, strict=True)):
        a_TS, b_TS = a[rows].astype(np.float64), b[rows].astype(np.float64)
        moved = 0.5 * np.abs(a_TS - b_TS).sum(axis=1)
        gap = cached.last_scores[head][rows][seen[head][rows]] - full.last_scores[head][rows][seen[head][rows]]
        heads.append(
            HeadChange(
                head=head,
                kv_head=head // group,
                moved=float(moved.mean()),
                moved_most=float(moved.max()),
                query=int(positions[moved.argmax()]),
                dropped=float((b_TS * ~cached.seen[head][rows]).sum(axis=1).mean()),
                score_rms=float(np.sqrt(np.square(gap, dtype=np.float64).mean())) if gap.size else 0.0,
                mix=relative(cached.mix_HTE[head][rows], full.mix_HTE[head][rows]),
            )
        )
    entered, out = relative(cached.x_TD[rows], full.x_TD[rows]), relative(cached.out_TD[rows], full.out_TD[rows])
    return LayerChange(cached.layer, entered, out, tuple(heads))


def changes(dump: Dump) -> Sequence[LayerChange]:
    """What the cache changed in each layer of a dump that `beside` made; nothing of another dump."""
    return [layer_change(cached, full) for cached, full in zip(dump.layers, dump.full, strict=bool(dump.full))]


def held_bytes(config: ModelConfig, choice: CacheChoice, n_tokens: int) -> int:
    """Bytes that a cache of that choice really takes for so many tokens, in all layers; heads as `config` has them."""
    stores = chosen_stores(choice, lambda rows, _: rows)
    return KVCache(layout_of(config), n_tokens, stores=stores).nbytes


def relative(array: Array, full: Array) -> float:
    """‖array − full‖ / ‖full‖; 0 where both are 0."""
    size = float(np.linalg.norm(full.astype(np.float64)))
    gap = float(np.linalg.norm(array.astype(np.float64) - full))
    return gap / size if size else (float("inf") if gap else 0.0)


def _rows(trace: LayerTrace) -> "np.ndarray[tuple[int], np.dtype[np.bool]]":
    positions = trace.start + np.arange(len(trace.x_TD))
    rows: np.ndarray[tuple[int], np.dtype[np.bool]] = positions > 0 if (positions > 0).any() else positions >= 0
    return rows
