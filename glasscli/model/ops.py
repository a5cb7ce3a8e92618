"""The small functions every layer is made of: norm, softmax, SwiGLU.

All take float32 and give float32. `math.sqrt`, never `np.sqrt` of a Python number: that would be a float64
scalar, and lift the whole array with it.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Mask = NDArray[np.bool]


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    """Scale each row to a root mean square of 1, then each column by `weight`.

    Source: Zhang & Sennrich 2019, arXiv:1910.07467, equation 4.

    Args:
        x: [..., D].
        weight: [D].
        eps: added to the mean square, so that a row of zeros stays one.
    """
    mean_square = np.einsum("...d,...d->...", x, x)[..., None] / x.shape[-1]
    y = x / np.sqrt(mean_square + eps)
    y *= weight
    return y


def softmax(scores: Array, out: Array | None = None) -> Array:
    """Turn each row into shares that sum to 1. A score of −∞ gets exactly 0. `out` may be `scores` itself.

    The row's maximum is subtracted first: it changes nothing in exact arithmetic, and keeps e^x finite.
    """
    shares = np.subtract(scores, scores.max(axis=-1, keepdims=True), out=out)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=-1, keepdims=True)
    return shares


def fit_for_softmax(least_sum: float, largest_sum: float) -> bool:
    """Whether sums of e^score make a softmax as exact as after subtracting the largest score.

    They do from 1e-25 to 1e25: what was rounded to 0 or to a few bits on the way is then below the last bit of a
    float32 share, and nothing overflowed. False for NaN.
    """
    return least_sum > 1e-25 and largest_sum < 1e25


def silu(x: Array) -> Array:
    """x · sigmoid(x), computed as x/2 · (1 + tanh(x/2)), which can't overflow.

    Source: Hendrycks & Gimpel 2016, arXiv:1606.08415, section 2.
    """
    half = x * 0.5
    y = np.tanh(half)
    y += 1
    y *= half
    return y


def swiglu(gate: Array, up: Array) -> Array:
    """silu(gate) · up, the gated unit between the MLP's matrices.

    Source: Shazeer 2020, arXiv:2002.05202, equation 6.
    """
    y = silu(gate)
    y *= up
    return y
