"""Where a scored text is surprising: by place, by how much, and which tokens most."""

import heapq
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from glasscli.inspect.scoring import ScoredToken, TextScore


@dataclass(frozen=True)
class Share:
    """Tokens of one kind.

    Attributes:
        start, stop: the kind: numbers from `start` on, below `stop`; `stop` is None for no end.
        n_tokens: how many.
        bits: their surprise in all.
    """

    start: float
    stop: float | None
    n_tokens: int
    bits: float

    @property
    def nats_per_token(self) -> float | None:
        """The mean of −ln p; None where there is no token."""
        return self.bits * math.log(2) / self.n_tokens if self.n_tokens else None


def by_position(score: TextScore, first: int = 8) -> tuple[Share, ...]:
    """Tokens by their place in their text: 1 to `first` − 1, then each span twice as far, up to the last there is.

    A model that uses what it has read foresees later tokens better.
    """
    last = max(token.position for token in score.tokens)
    bounds = [1]
    while (bound := first << (len(bounds) - 1)) <= last:
        bounds.append(bound)
    shares = _shares(bounds, [token.position for token in score.tokens], score)
    return tuple(share for share in shares if share.n_tokens)


def by_surprise(score: TextScore, bounds: Sequence[float]) -> tuple[Share, ...]:
    """Tokens by their surprise in bits: below the first of `bounds`, from each on, from the last on."""
    return _shares([0.0, *bounds], [token.bits for token in score.tokens], score)


def most_surprising(score: TextScore, n: int) -> tuple[ScoredToken, ...]:
    """The `n` least expected tokens, worst first; of equals the earlier first."""
    return tuple(heapq.nlargest(n, score.tokens, key=lambda token: token.bits))


def _shares(bounds: Sequence[float], numbers: Sequence[float], score: TextScore) -> tuple[Share, ...]:
    bits: list[list[float]] = [[] for _ in bounds]
    for number, token in zip(numbers, score.tokens, strict=True):
        bits[max(0, bisect_right(bounds, number) - 1)].append(token.bits)
    stops = (*bounds[1:], None)
    return tuple(Share(a, b, len(of), math.fsum(of)) for a, b, of in zip(bounds, stops, bits, strict=True))
