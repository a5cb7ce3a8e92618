"""One cell of an attention matrix, taken apart: which dimensions of query and key make up the score.

    score = Σ over dimensions i of  q_i · k_i · scale        q and k rotated by their positions

Of the vectors before rotation the same products sum to what the score would be at distance 0. The rotation mixes only
the two dimensions of a pair, so the difference is the distance's doing pair by pair: fast pairs change most.

Source: Vig 2019, arXiv:1906.05714, section 3.3 (the neuron view); Su et al. 2021, arXiv:2104.09864, section 3.2.2.
"""

import math
from dataclasses import dataclass

import numpy as np

from glasscli.arrays import Array
from glasscli.config.model_config import ModelConfig
from glasscli.errors import UsageError
from glasscli.inspect.trace import LayerTrace


@dataclass(frozen=True)
class CellTerms:
    """The score of one query and one key in one head. Arrays are float64 [E], Hugging Face's half-split order.

    Attributes:
        query, key: positions; the key's at most the query's where the mask is causal.
        q, k: the rotated vectors; `terms`: their products, scaled.
        plain_q, plain_k, plain_terms: the same before rotation; None where the key's is not in the trace, since it
            was read into the cache before.
        score: of the trace.
    """

    layer: int
    head: int
    kv_head: int
    query: int
    key: int
    scale: float
    q: Array
    k: Array
    terms: Array
    plain_q: Array | None
    plain_k: Array | None
    plain_terms: Array | None
    score: float

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return math.fsum(self.terms.tolist())

    @property
    def gap(self) -> float:
        """|sum − score|: rounding."""
        return abs(self.total - self.score)

    @property
    def at_distance_0(self) -> float | None:
        """The score these two would have at the same position: the sum of the terms before rotation."""
        return None if self.plain_terms is None else math.fsum(self.plain_terms.tolist())


def cell_terms(trace: LayerTrace, config: ModelConfig, head: int, query: int, key: int) -> CellTerms:
    """The products that make up one score.

    Args:
        query, key: positions in the text. The query must be one of the trace's.

    Raises:
        UsageError: no such head, query or key, or a key that was not there yet.
    """
    n_new, n_seen = trace.scores_HTS.shape[1:]
    if not 0 <= head < config.n_heads:
        raise UsageError(f"there is no head {head}: a layer of this model has heads 0 to {config.n_heads - 1}")
    row = query - trace.start
    if not 0 <= row < n_new:
        raise UsageError(f"there is no query at position {query}: those are {trace.start} to {trace.start + n_new - 1}")
    if not trace.first_key <= key < n_seen:
        raise UsageError(f"there is no key at position {key}: those are {trace.first_key} to {n_seen - 1}")
    score = float(trace.scores_HTS[head, row, key])
    if not math.isfinite(score):
        raise UsageError(f"there was no key at position {key} yet when the query at {query} was computed")
    scale = 1 / math.sqrt(config.head_dim) if config.attention_scale is None else config.attention_scale
    kv_head = head // config.group_size
    q, k = (x.astype(np.float64) for x in (trace.rope_q_HTE[head, row], trace.cache_k_KSE[kv_head, key]))
    plain_q, plain_k = _plain(trace, head, kv_head, row, key - trace.start)
    return CellTerms(
        layer=trace.layer,
        head=head,
        kv_head=kv_head,
        query=query,
        key=key,
        scale=scale,
        q=q,
        k=k,
        terms=q * k * scale,
        plain_q=plain_q,
        plain_k=plain_k,
        plain_terms=None if plain_q is None or plain_k is None else plain_q * plain_k * scale,
        score=score,
    )


def rotated_pairs(config: ModelConfig, layer: int) -> list[tuple[int, int]]:
    """The two dimensions of each pair that a layer rotates, the fastest first; none where it does not rotate."""
    rope = config.ropes[layer]
    half = 0 if rope is None else rope.rotary_dim(config.head_dim) // 2
    return [(i, i + half) for i in range(half)]


def in_pairs(terms_E: Array) -> Array:
    """The two terms of each rotated pair, dimension i and i + E/2, summed: [E/2], the fastest pair first.

    For heads that are rotated whole; of others these are pairs in name only.
    """
    first, second = np.split(terms_E, 2)
    return first + second


def _plain(trace: LayerTrace, head: int, kv_head: int, row: int, key_row: int) -> tuple[Array, Array | None]:
    """q and k as they were before rotation, normed where the model norms them."""
    q_HTE = trace.q_HTE if trace.q_norm_HTE is None else trace.q_norm_HTE
    k_KTE = trace.k_KTE if trace.k_norm_KTE is None else trace.k_norm_KTE
    key = k_KTE[kv_head, key_row].astype(np.float64) if key_row >= 0 else None
    return q_HTE[head, row].astype(np.float64), key
