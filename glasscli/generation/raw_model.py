"""How likely tokens are to the raw model: temperature 1, no penalty, no filter. Logits in, figures out.

What is told of a token beside the sampler's own numbers; nothing here chooses one.
"""

import math

import numpy as np

from glasscli.arrays import Array


def figures(raw_V: Array, token_id: int) -> tuple[float, int, float]:
    """ln p of a token, its rank (1 + how many tokens are likelier), and the entropy of all in bits.

    Args:
        raw_V: finite logits in float64.
    """
    centred = raw_V - raw_V.max()
    weights = np.exp(centred)
    total = float(weights.sum())
    log_total = math.log(total)
    chosen = centred[token_id]
    entropy_bits = max(0.0, (log_total - float(weights.dot(centred)) / total) / math.log(2))
    return float(chosen) - log_total, 1 + int(np.count_nonzero(centred > chosen)), entropy_bits


def top_alternatives(logits_V: Array, n: int) -> tuple[tuple[int, float], ...]:
    """The n likeliest tokens of the raw model as (id, logprob), best first; of equals the lower id first."""
    raw = logits_V.astype(np.float64)
    candidates = np.flatnonzero(raw >= np.partition(raw, -n)[-n]) if 0 < n < raw.size else np.arange(raw.size)
    ids = candidates[np.argsort(-raw[candidates], kind="stable")[:n]]
    centred = raw - raw.max()
    log_total = math.log(np.exp(centred).sum())
    return tuple((int(i), float(centred[i]) - log_total) for i in ids)
