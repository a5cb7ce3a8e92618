"""How far one run's predictions are from another's: what a smaller cache costs, in the field's own measures.

All in float64 and natural logarithms, over the same scored tokens; p is the full cache's distribution, q the tested
one's. Pure functions of logits: they know no cache and no model.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array
from glasscli.errors import UsageError

Numbers = NDArray[np.float64]
AT_ONCE = 2**18  # logits turned into float64 at a time: they stay in the processor's cache


@dataclass(frozen=True)
class Divergence:
    """One run beside another, over all scored tokens.

    Attributes:
        n_tokens: how many were scored.
        delta_nats: mean of ln p(y) − ln q(y) over the tokens y that came: what each costs more, paired.
        delta_error: its standard error, from the means of the chunks; None with fewer than two.
        kld, kld_p99, kld_max: Σ p ln(p/q) of a position: mean, 99th percentile, largest.
        same_top: share of positions whose likeliest token is the same.
        klds: Σ p ln(p/q) of each position, an array a chunk.
    """

    n_tokens: int
    delta_nats: float
    delta_error: float | None
    kld: float
    kld_p99: float
    kld_max: float
    same_top: float
    klds: tuple[Numbers, ...] = field(default=(), compare=False, repr=False)

    def by_depth(self, n: int) -> tuple[tuple[int, float], ...]:
        """`n` stretches of the scored positions, shallow to deep: how long each is, its mean KL divergence."""
        parts = zip(*(np.array_split(kld, n) for kld in self.klds), strict=True)
        return tuple((len(part[0]), float(np.concatenate(part).mean())) for part in parts)


@dataclass(frozen=True)
class Chunk:
    """The scored positions of one chunk: logits of the full cache and of the tested one, and what came."""

    full_TV: Array
    tested_TV: Array
    next_ids: Sequence[int]


def log_softmax(logits_TV: Array) -> Numbers:
    """ln of the softmax of each row, float64."""
    x = logits_TV.astype(np.float64)
    x -= x.max(axis=-1, keepdims=True)
    x -= np.log(np.exp(x).sum(axis=-1, keepdims=True))
    return x


def mean_nats(logits_TV: Array, next_ids: Sequence[int]) -> float:
    """Mean of −ln p(y): its exponential is the perplexity."""
    told = [log_softmax(logits_TV[rows])[range(n), list(next_ids[rows])] for rows, n in _stretches(logits_TV)]
    return float(-np.concatenate(told).mean())


def kl_divergence(p_TV: Array, q_TV: Array) -> Numbers:
    """Σ p ln(p/q) of each row [T], from logits. 0 where both rows are the same, never below.

    Source: Kullback & Leibler 1951; the direction is that of llama.cpp's perplexity tool.
    """
    return _kl(log_softmax(p_TV), log_softmax(q_TV))


def _kl(ln_p: Numbers, ln_q: Numbers) -> Numbers:
    ratio = ln_p - ln_q
    found: Numbers = np.einsum("tv,tv->t", np.exp(ln_p), ratio)
    return np.maximum(found, 0.0)


def _stretches(logits_TV: Array) -> Iterator[tuple[slice, int]]:
    """Rows that are turned into float64 together, and how many they are."""
    n, step = len(logits_TV), max(1, AT_ONCE // logits_TV.shape[1])
    for first in range(0, n, step):
        yield slice(first, first + step), min(step, n - first)


def compare(chunks: Iterator[Chunk] | Sequence[Chunk]) -> Divergence:
    """The tested run beside the full one. Chunks may come one by one: none is kept.

    Raises:
        UsageError: there is nothing to compare.
    """
    klds, deltas, same = [], [], []
    for chunk in chunks:
        kld, delta = _of_chunk(chunk)
        klds.append(kld)
        deltas.append(delta)
        same.append(chunk.full_TV.argmax(axis=-1) == chunk.tested_TV.argmax(axis=-1))
    if not klds or not all(map(len, klds)):
        raise UsageError("there are no scored tokens to compare")
    every, delta = np.concatenate(klds), np.concatenate(deltas)
    return Divergence(
        n_tokens=len(delta),
        delta_nats=float(delta.mean()),
        delta_error=standard_error([float(part.mean()) for part in deltas]),
        kld=float(every.mean()),
        kld_p99=float(np.percentile(every, 99)),
        kld_max=float(every.max()),
        same_top=float(np.concatenate(same).mean()),
        klds=tuple(klds),
    )


def _of_chunk(chunk: Chunk) -> tuple[Numbers, Numbers]:
    """KL divergence and ln p(y) − ln q(y) of each position."""
    klds, deltas = [np.empty(0)], [np.empty(0)]
    for rows, n in _stretches(chunk.full_TV):
        ln_p, ln_q = log_softmax(chunk.full_TV[rows]), log_softmax(chunk.tested_TV[rows])
        ids = list(chunk.next_ids[rows])
        klds.append(_kl(ln_p, ln_q))
        deltas.append(ln_p[range(n), ids] - ln_q[range(n), ids])
    return np.concatenate(klds), np.concatenate(deltas)


def standard_error(means: Sequence[float]) -> float | None:
    """Of the mean of some means: their standard deviation (n − 1) over √n; None with fewer than two."""
    n = len(means)
    if n < 2:
        return None
    centre = math.fsum(means) / n
    return math.sqrt(math.fsum((mean - centre) ** 2 for mean in means) / (n - 1) / n)
