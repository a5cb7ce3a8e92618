"""How far one run's predictions are from another's: what a smaller cache costs, in the field's own measures.

All in float64 and natural logarithms, over the same scored tokens; p is the full cache's distribution, q the tested
one's. Pure functions of logits: they know no cache and no model.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array
from glasscli.errors import UsageError

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Divergence:
    """One run beside another, over all scored tokens.

    Attributes:
        n_tokens: how many were scored.
        delta_nats: mean of ln p(y) − ln q(y) over the tokens y that came: what each costs more, paired.
        delta_error: its standard error, from the means of the chunks; None with fewer than two.
        kld, kld_p99, kld_max: Σ p ln(p/q) of a position: mean, 99th percentile, largest.
        same_top: share of positions whose likeliest token is the same.
    """

    n_tokens: int
    delta_nats: float
    delta_error: float | None
    kld: float
    kld_p99: float
    kld_max: float
    same_top: float


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
    return float(-log_softmax(logits_TV)[np.arange(len(next_ids)), list(next_ids)].mean())


def kl_divergence(p_TV: Array, q_TV: Array) -> Numbers:
    """Σ p ln(p/q) of each row [T], from logits. 0 where both rows are the same, never below.

    Source: Kullback & Leibler 1951; the direction is that of llama.cpp's perplexity tool.
    """
    ln_p, ln_q = log_softmax(p_TV), log_softmax(q_TV)
    found: Numbers = (np.exp(ln_p) * (ln_p - ln_q)).sum(axis=-1)
    return np.maximum(found, 0.0)


def compare(chunks: Sequence[Chunk]) -> Divergence:
    """The tested run beside the full one.

    Raises:
        UsageError: there is nothing to compare.
    """
    if not chunks or not all(len(chunk.next_ids) for chunk in chunks):
        raise UsageError("there are no scored tokens to compare")
    klds, deltas, same = [], [], []
    for chunk in chunks:
        rows, ids = np.arange(len(chunk.next_ids)), list(chunk.next_ids)
        deltas.append(log_softmax(chunk.full_TV)[rows, ids] - log_softmax(chunk.tested_TV)[rows, ids])
        klds.append(kl_divergence(chunk.full_TV, chunk.tested_TV))
        same.append(chunk.full_TV.argmax(axis=-1) == chunk.tested_TV.argmax(axis=-1))
    kld, delta = np.concatenate(klds), np.concatenate(deltas)
    return Divergence(
        n_tokens=len(delta),
        delta_nats=float(delta.mean()),
        delta_error=standard_error([float(part.mean()) for part in deltas]),
        kld=float(kld.mean()),
        kld_p99=float(np.percentile(kld, 99)),
        kld_max=float(kld.max()),
        same_top=float(np.concatenate(same).mean()),
    )


def standard_error(means: Sequence[float]) -> float | None:
    """Of the mean of some means: their standard deviation (n − 1) over √n; None with fewer than two."""
    n = len(means)
    if n < 2:
        return None
    centre = math.fsum(means) / n
    return math.sqrt(math.fsum((mean - centre) ** 2 for mean in means) / (n - 1) / n)
