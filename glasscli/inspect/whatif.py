"""Two questions put to one layer's real numbers: what if there were no mask, or no 1/√d?

And the derivative of softmax, which is where the second question has its answer: a saturated row has a
derivative near zero, and what has no derivative cannot learn.
"""

from dataclasses import dataclass

import numpy as np

from glasscli.arrays import Array, Mask
from glasscli.errors import UsageError
from glasscli.inspect.dump import SizeError
from glasscli.inspect.measures import row_entropy_bits
from glasscli.inspect.trace import LayerTrace
from glasscli.model.ops import softmax

WHAT_IFS = ("no-mask", "no-scale")
MAX_JACOBIAN = 4096
SATURATED = 0.99  # a row whose largest weight is above this has all but decided


@dataclass(frozen=True)
class Sharpness:
    """How sharp the rows of one head are; means over rows.

    Attributes:
        entropy_bits: −Σ a·log2 a.
        largest: the largest weight.
        saturated: share of rows whose largest weight is above 0.99.
        gradient: Σ a·(1 − a), the trace of the softmax Jacobian: 0 where a row has decided for one key,
            1 − 1/n where it looks at n keys equally.
        ahead: weight on keys after the query; 0 unless the mask is taken away.
        score_std: standard deviation of the scores that went in.
    """

    entropy_bits: float
    largest: float
    saturated: float
    gradient: float
    ahead: float
    score_std: float


def what_if_pattern(
    trace: LayerTrace, change: str, scale: float, softcap: float | None = None
) -> tuple[Array, Mask, Array]:
    """Scores [H, T, S], mask [T, S] and pattern [H, T, S] of the layer with `change`, from the q and k of the trace.

    `no-mask` lets every query see all keys of the trace, later ones included. `no-scale` leaves the factor of the
    scores out, which is `scale` in this model. Only this layer is changed; what entered it is as it was.

    Args:
        softcap: the model's cap of the scores, which stays.

    Raises:
        UsageError: an unknown change.
    """
    if change not in WHAT_IFS:
        raise UsageError(f"no what-if {change!r}. There are: {', '.join(WHAT_IFS)}.")
    if change == "no-mask":
        return trace.last_scores, np.ones_like(trace.mask_TS), softmax(trace.last_scores)
    unscaled = trace.scores_HTS * np.float32(1 / scale)
    if softcap is not None:
        unscaled = np.float32(softcap) * np.tanh(unscaled / np.float32(softcap))
    return unscaled, trace.mask_TS, softmax(np.where(trace.mask_TS, unscaled, np.float32(-np.inf)))


def sharpness(scores_TS: Array, mask_TS: Mask, pattern_TS: Array, start: int) -> Sharpness:
    """Of one head's rows. Row 0 of the text, which sees only itself, is left out when there are others."""
    p_T = start + np.arange(len(pattern_TS))
    rows = p_T > 0 if (p_T > 0).any() else p_T >= 0
    weights = pattern_TS[rows].astype(np.float64)
    later = np.arange(weights.shape[1]) > p_T[rows][:, None]
    largest = weights.max(axis=1)
    seen = scores_TS[rows][mask_TS[rows]]  # also those whose weight is too small for a float32
    return Sharpness(
        entropy_bits=float(row_entropy_bits(weights).mean()),
        largest=float(largest.mean()),
        saturated=float((largest > SATURATED).mean()),
        gradient=float((weights * (1 - weights)).sum(axis=1).mean()),
        ahead=float((weights * later).sum(axis=1).mean()),
        score_std=float(seen.std(dtype=np.float64)),
    )


def softmax_jacobian(weights_S: Array) -> Array:
    """diag(a) − a·aᵀ in float64: how each weight of a row answers a push on each score, ∂a_i / ∂s_j.

    Source: differentiate a_i = e^(s_i) / Σ e^(s_j).
    """
    a = weights_S.astype(np.float64)
    return np.diag(a) - np.outer(a, a)


@dataclass(frozen=True)
class JacobianFacts:
    """What is true of a softmax Jacobian, as computed; all but `largest_eigenvalue` are 0 in exact arithmetic.

    Attributes:
        asymmetry: largest |J − Jᵀ|.
        row_sum: largest |J·1|: a push on all scores alike changes nothing.
        smallest_eigenvalue: never below 0: J is positive semi-definite.
        largest_eigenvalue: at most ½ for any softmax.
        numeric_gap: largest distance from central differences with a step of 1e-5.
    """

    asymmetry: float
    row_sum: float
    smallest_eigenvalue: float
    largest_eigenvalue: float
    numeric_gap: float


def jacobian_facts(scores_S: Array) -> tuple[Array, JacobianFacts]:
    """The Jacobian of softmax at `scores_S` (the scores one query sees), and its properties, in float64.

    Raises:
        SizeError: more than 4,096 scores; time grows with their third power.
    """
    if len(scores_S) > MAX_JACOBIAN:
        raise SizeError(f"a Jacobian of {len(scores_S):,} × {len(scores_S):,}; the limit is {MAX_JACOBIAN:,}")
    scores = scores_S.astype(np.float64)
    jacobian = softmax_jacobian(softmax(scores))
    step = 1e-5
    push = step * np.eye(len(scores))
    numeric = (softmax(scores + push) - softmax(scores - push)).T / (2 * step)
    eigenvalues = np.linalg.eigvalsh(jacobian)
    return jacobian, JacobianFacts(
        asymmetry=float(np.abs(jacobian - jacobian.T).max()),
        row_sum=float(np.abs(jacobian.sum(axis=1)).max()),
        smallest_eigenvalue=float(eigenvalues[0]),
        largest_eigenvalue=float(eigenvalues[-1]),
        numeric_gap=float(np.abs(jacobian - numeric).max()),
    )
