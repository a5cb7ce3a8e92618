"""The small functions every layer is made of: linear, norm, softmax, activations.

All take float32 and give float32. `math.sqrt`, never `np.sqrt` of a Python number: that would be a float64
scalar, and lift the whole array with it.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from glasscli.arrays import Array


class Norm(NamedTuple):
    """The weights of a norm. With `centred` it is LayerNorm, else RMSNorm. A bias is None where there is none."""

    weight: Array  # [D]
    bias: Array | None = None
    centred: bool = False


def linear(x: Array, weight: Array, bias: Array | None) -> Array:
    """x · W + b, for x of any leading axes. One matrix product: NumPy would make one for each sequence of a batch."""
    y = x.reshape(-1, x.shape[-1]) @ weight
    if bias is not None:
        y += bias
    return y.reshape(*x.shape[:-1], -1)


def norm(x: Array, weights: Norm | None, eps: float) -> Array:
    """The norm that `weights` belong to; `x` itself where an architecture has none here."""
    if weights is None:
        return x
    y = layer_norm(x, weights.weight, eps) if weights.centred else rms_norm(x, weights.weight, eps)
    if weights.bias is not None:
        y += weights.bias
    return y


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    """Scale each row to a root mean square of 1, then each column by `weight`.

    Source: Zhang & Sennrich 2019, arXiv:1910.07467, equation 4.

    Args:
        x: [..., D].
        weight: [D], or what broadcasts to `x`.
        eps: added to the mean square, so that a row of zeros stays one.
    """
    mean_square = np.einsum("...d,...d->...", x, x)[..., None] / x.shape[-1]
    y = x / np.sqrt(mean_square + eps)
    y *= weight
    return y


def layer_norm(x: Array, weight: Array, eps: float) -> Array:
    """Move each row to a mean of 0, scale it to a variance of 1, then each column by `weight`.

    Source: Ba et al. 2016, arXiv:1607.06450, equation 4.
    """
    return rms_norm(x - x.mean(axis=-1, keepdims=True), weight, eps)


def softmax(scores: Array, out: Array | None = None) -> Array:
    """Turn each row into shares that sum to 1. A score of −∞ gets exactly 0. `out` may be `scores` itself.

    The row's maximum is subtracted first: it changes nothing in exact arithmetic, and keeps e^x finite.
    """
    shares = np.subtract(scores, scores.max(axis=-1, keepdims=True), out=out)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=-1, keepdims=True)
    return shares


def row_sums(x: Array) -> Array:
    """The sums of the last axis, which stays, of length 1: as a matrix product, three times as fast as NumPy's sum."""
    rows = x.reshape(-1, x.shape[-1])
    return (rows @ np.ones((x.shape[-1], 1), x.dtype)).reshape(*x.shape[:-1], 1)


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


def gelu_tanh(x: Array) -> Array:
    """x · Φ(x), the normal distribution's Φ by its tanh formula: x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).

    Source: Hendrycks & Gimpel 2016, arXiv:1606.08415, section 2.
    """
    y = x * x
    y *= math.sqrt(2 / math.pi) * 0.044715
    y += math.sqrt(2 / math.pi)
    y *= x
    np.tanh(y, out=y)
    y += 1
    y *= x
    y *= 0.5
    return y


def gelu(x: Array) -> Array:
    """x · Φ(x), the normal distribution's Φ itself: x/2 · (1 + erf(x/√2)), to within |x| · 1e-7.

    Source: Hendrycks & Gimpel 2016, arXiv:1606.08415, section 2; erf by Abramowitz & Stegun 1964, 7.1.26.
    """
    z = np.abs(x) * math.sqrt(0.5)
    t = 1 / (1 + 0.3275911 * z)
    tail = t * 1.061405429
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail += coefficient
        tail *= t
    z *= -z
    tail *= np.exp(z, out=z)
    tail *= 0.5  # Φ(−|x|)
    return x * np.where(x > 0, 1 - tail, tail)


ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {"silu": silu, "gelu": gelu, "gelu_tanh": gelu_tanh}
