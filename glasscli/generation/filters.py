"""The stages of the sampler, each by itself: what is biased, penalised, banned, or left out of the draw.

They know an array of scores or weights and their own setting; `sampling` puts them in their order.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from glasscli.arrays import Array
from glasscli.errors import GlassError

# A sum that reaches top_p but for rounding has reached it: float32 logits can't tell the two apart.
MASS_ROUNDING = 1e-7
_HUGE = 1e300


def bias(scores: Array, biases: Mapping[int, float]) -> Array:
    """`scores` [V] with each finite bias added to its token's; a copy, unless there are none."""
    finite = {i: value for i, value in biases.items() if 0 <= i < scores.size and np.isfinite(value)}
    if not finite:
        return scores
    scores = scores.copy()
    ids = list(finite)
    scores[ids] = (scores[ids] + list(finite.values())).clip(-_HUGE, _HUGE)
    return scores


def penalize_counts(scores: Array, written_ids: Sequence[int], frequency: float, presence: float) -> Array:
    """`scores` [V] less `frequency` for each time a token was written, and `presence` if it was at all.

    A copy, unless there is nothing to do. Source: OpenAI's API reference, "Frequency and presence penalties":
    mu[j] -> mu[j] - c[j] * alpha_frequency - float(c[j] > 0) * alpha_presence.
    """
    if not (frequency or presence) or not len(written_ids):
        return scores
    scores = scores.copy()
    ids, counts = np.unique(np.asarray(written_ids, dtype=np.intp), return_counts=True)
    with np.errstate(over="ignore"):
        scores[ids] = (scores[ids] - counts * frequency - presence).clip(-_HUGE, _HUGE)
    return scores


def penalize(scores: Array, seen_ids: Sequence[int], penalty: float) -> Array:
    """`scores` [V] with seen tokens made less likely (penalty > 1) or more; a copy, unless there is nothing to do."""
    if penalty == 1 or not len(seen_ids):
        return scores
    scores = scores.copy()
    ids = np.asarray(seen_ids, dtype=np.intp)
    seen = scores[ids]
    with np.errstate(over="ignore"):
        seen = np.where(seen < 0, seen * penalty, seen / penalty)
    scores[ids] = seen.clip(-_HUGE, _HUGE)  # never infinite: inf - inf is no number
    return scores


def keep_top_k(weights: Array, k: int) -> None:
    """Zero all but the k (1 to V) largest weights [V], in place; ties with the k-th stay, as in Hugging Face."""
    weights[weights < np.partition(weights, -k)[-k]] = 0


def keep_top_p(weights: Array, p: float) -> None:
    """Zero all but the fewest weights [V] whose share is p or more, in place; of equals the lower id stays.

    Source: nucleus sampling, Holtzman et al. 2019, arXiv:1904.09751, section 3.1.
    """
    descending = np.sort(weights)[::-1]
    mass = descending.cumsum()
    n_kept = 1 + int(mass[:-1].searchsorted((p - MASS_ROUNDING) * mass[-1]))
    edge = descending[n_kept - 1]
    dropped = weights < edge
    n_tied_out = weights.size - n_kept - int(np.count_nonzero(dropped))
    if n_tied_out:
        dropped[np.flatnonzero(weights == edge)[-n_tied_out:]] = True
    np.putmask(weights, dropped, 0)


def keep_min_p(weights: Array, p: float) -> None:
    """Zero the weights [V] below p times the largest, in place.

    Source: Nguyen et al. 2024, arXiv:2407.01082.
    """
    weights[weights < p * weights.max()] = 0


def ban(scores: Array, banned_ids: Sequence[int]) -> Array:
    """`scores` with -inf for the banned tokens; a copy, unless there are none."""
    banned = [i for i in banned_ids if 0 <= i < scores.size]
    if not banned:
        return scores
    scores = scores.copy()
    scores[banned] = -np.inf
    if scores.max() == -np.inf:
        raise GlassError(f"all {scores.size} tokens are banned: none is left to choose")
    return scores
