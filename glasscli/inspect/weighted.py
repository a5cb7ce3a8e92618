"""What weights fetch: each head's weights times the length of the values they stand on, and what that does to its sink.

A weight says how much of a value is taken, not how much there is to take. Where heads rest, on the first token, values
are often short, and most of such a weight moves nothing.

Source: Kobayashi et al. 2020, arXiv:2004.10102, section 3; here without the output matrix.
"""

from dataclasses import dataclass

import numpy as np

from glasscli.arrays import Array
from glasscli.inspect.measures import value_weighted
from glasscli.inspect.trace import LayerTrace


@dataclass(frozen=True)
class WeightedHead:
    """One head's first token against the others. Means are over rows, the first token's left out.

    Attributes:
        sink: weight on position 0.
        fetched: share of A·‖v‖ that comes from position 0: Σ A·‖v‖ there over Σ A·‖v‖ of the row.
        sink_length: ‖v‖ of position 0.
        mean_length, least, most: ‖v‖ of the other positions.

    None where no row sees position 0, or there is no other position.
    """

    head: int
    kv_head: int
    sink: float | None
    fetched: float | None
    sink_length: float | None
    mean_length: float | None
    least: float | None
    most: float | None


@dataclass(frozen=True)
class Weighted:
    """A layer's weights times lengths: A·‖v‖ [H, T, S], ‖v‖ [K, S], float64, and each head's sink."""

    weighted_HTS: Array
    lengths_KS: Array
    heads: tuple[WeightedHead, ...]

    def shares(self, head: int) -> Array:
        """A·‖v‖ of one head over the longest ‖v‖ that it can fetch [T, S]: 1 is a whole weight on that one."""
        longest = float(self.lengths_KS[self.heads[head].kv_head].max())
        weighted: Array = self.weighted_HTS[head]
        return weighted / longest if longest else weighted


def weigh(trace: LayerTrace) -> Weighted:
    """The weights of a layer, times the lengths of the values they stand on."""
    weighted, lengths = value_weighted(trace.pattern_HTS.astype(np.float64), trace.cache_v_KSE)
    group = len(weighted) // len(lengths)
    heads = (_head(trace, head, head // group, weighted[head], lengths[head // group]) for head in range(len(weighted)))
    return Weighted(weighted, lengths, tuple(heads))


def _head(trace: LayerTrace, head: int, kv_head: int, weighted_TS: Array, lengths_S: Array) -> WeightedHead:
    rows = trace.start + np.arange(len(weighted_TS)) > 0
    seen_TS = trace.seen[head][rows]
    fetched = weighted_TS[rows]
    sums = fetched.sum(axis=1)
    tells = sums > 0
    first = bool(seen_TS[:, :1].any())
    others = lengths_S[1:][seen_TS[:, 1:].any(axis=0)]
    return WeightedHead(
        head=head,
        kv_head=kv_head,
        sink=float(trace.pattern_HTS[head][rows, 0].mean(dtype=np.float64)) if first else None,
        fetched=float((fetched[tells, 0] / sums[tells]).mean()) if first and tells.any() else None,
        sink_length=float(lengths_S[0]) if first else None,
        mean_length=float(others.mean()) if others.size else None,
        least=float(others.min()) if others.size else None,
        most=float(others.max()) if others.size else None,
    )
