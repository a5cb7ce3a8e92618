"""Which tokens a decode step looked at, over all heads of several layers: one share a token.

Heads differ in what their weights are worth. A head that has found nothing rests on the first token, whose values are
short, so plain means of weights name that token whatever the text says. Here each weight counts by the length of the
value that it fetches, A·‖v‖ (`measures.value_weighted`), summed over the heads and given as shares of the whole.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from glasscli.arrays import Array
from glasscli.inspect.measures import value_weighted
from glasscli.inspect.trace import LayerTrace, Trace


@dataclass(frozen=True)
class Watch:
    """What to watch while a text is written: hand `trace` to `generate`, and ask for `shares` after each step."""

    trace: Trace
    heads: tuple[int, ...]

    @classmethod
    def of(cls, layers: Iterable[int], heads: Iterable[int]) -> "Watch":
        """Watch these heads of these layers."""
        return cls(Trace(layers), tuple(heads))

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that count."""
        return tuple(sorted(self.trace.wanted))

    def shares(self) -> Array:
        """What the last step fetched from each token it has read, as `looked_at`."""
        return looked_at((self.trace.layers[layer] for layer in self.layers), self.heads)


def looked_at(layers: Iterable[LayerTrace], heads: Collection[int] | None = None) -> Array:
    """What the last query of a run fetched from each key, as shares that sum to 1: float64 [S].

    Args:
        layers: traces of the same run; values that a layer no longer holds count 0.
        heads: query heads to count (default: all).

    Source: Kobayashi et al. 2020, arXiv:2004.10102, equation 3, summed over heads.
    """
    fetched_S: Array | None = None
    for trace in layers:
        last = trace.pattern_HTS[:, -1:].astype(np.float64)
        weighted_HS = value_weighted(last, trace.cache_v_KSE)[0][:, 0]
        chosen = weighted_HS if heads is None else weighted_HS[sorted(heads)]
        fetched_S = chosen.sum(axis=0) if fetched_S is None else fetched_S + chosen.sum(axis=0)
    if fetched_S is None:
        raise ValueError("no layer to look at")
    total = fetched_S.sum()
    shares: Array = fetched_S / total if total > 0 else fetched_S
    return shares
