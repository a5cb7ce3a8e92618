"""Rotary position embedding: a query or key is turned by an angle that grows with its position.

A head of E numbers is read as E/2 points in the plane. Point i of a token at position p is turned by
p · frequency[i]; a dot product of two turned heads then depends on the distance of their positions alone.
A point is one complex number, and turning it is one complex multiplication.

Hugging Face stores the two coordinates of point i at places i and i + E/2 of a head ("half-split"). Glass
moves them next to each other when it loads W_Q and W_K (`pair_order`), so that a head can be *viewed* as
complex numbers. Scores don't notice: both factors of the dot product are reordered alike.

Source: Su et al. 2021, arXiv:2104.09864, section 3.
"""

import math

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array
from glasscli.config.rotary import RopeScaling

Rotations = NDArray[np.complex64]


def frequencies(rope: RopeScaling, head_dim: int, n_seen: int = 0) -> Array:
    """Radians a position for each rotated pair of a head, float32 [R/2], fastest first.

    Angles are float32 throughout, as in the reference implementation of the models: float64 angles differ by
    2e-3 at position 2,048, and the weights were trained with the float32 ones.

    Args:
        n_seen: length of the text, the new tokens included; some kinds turn otherwise once it is long.
    """
    rotary_dim = rope.rotary_dim(head_dim)
    exponent = np.arange(0, rotary_dim, 2, dtype=np.float32) / np.float32(rotary_dim)
    theta = _larger_theta(rope, rotary_dim, n_seen) if rope.kind == "dynamic" else rope.theta
    frequency = np.float32(1) / np.power(np.float32(theta), exponent)
    if rope.kind == "linear":
        frequency /= np.float32(rope.factor)
    elif rope.kind == "llama3":
        frequency = _stretch_low(frequency, rope)
    elif rope.kind == "yarn":
        frequency = _stretch_by_pair(frequency, rope)
    elif rope.kind == "longrope":
        long = n_seen > rope.original_max_seq_len
        frequency /= np.array(rope.long_factors if long else rope.short_factors, np.float32)
    return frequency


def _larger_theta(rope: RopeScaling, rotary_dim: int, n_seen: int) -> float:
    """The base at which the slowest pair turns as far over `n_seen` tokens as it was trained to, or nearly."""
    if rotary_dim == 2:  # one pair, of frequency 1 whatever the base
        return rope.theta
    longer = max(n_seen, rope.original_max_seq_len) / rope.original_max_seq_len
    grown: float = rope.theta * (rope.factor * longer - (rope.factor - 1)) ** (rotary_dim / (rotary_dim - 2))
    return grown


def _stretch_by_pair(frequency: Array, rope: RopeScaling) -> Array:
    """Divide by `factor` what closes less than `beta_slow` circles, keep what closes more than `beta_fast`.

    Between the two pairs are mixed along a straight line over their numbers.

    Source: Peng et al. 2023, arXiv:2309.00071, section 3.2, with the ramp over pairs that its code has.
    """
    n_pairs = len(frequency)

    def pair_with(circles: float) -> float:
        return n_pairs * math.log(rope.original_max_seq_len / (circles * 2 * math.pi)) / math.log(rope.theta)

    low, high = pair_with(rope.beta_fast), pair_with(rope.beta_slow)
    if rope.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, 2 * n_pairs - 1)
    if low == high:
        high += 0.001
    stretched = np.clip((np.arange(n_pairs, dtype=np.float32) - np.float32(low)) / np.float32(high - low), 0, 1)
    return (stretched * frequency / np.float32(rope.factor) + (1 - stretched) * frequency).astype(np.float32)


def _stretch_low(frequency: Array, rope: RopeScaling) -> Array:
    """Divide by `factor` what turns too slowly to close a circle within the trained length; keep the rest.

    Between `low_freq_factor` and `high_freq_factor` circles the two are mixed.
    """
    circles = np.float32(rope.original_max_seq_len) * frequency / np.float32(2 * math.pi)
    keep = (circles - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor)
    keep = np.clip(keep, 0, 1)
    return ((1 - keep) * frequency / rope.factor + keep * frequency).astype(np.float32)


def rotations(frequency: Array, start: int, stop: int) -> Rotations:
    """The factors that turn pairs at positions `start` to `stop` − 1: complex64 [stop − start, E/2]."""
    return rotations_at(frequency, np.arange(start, stop))


def rotations_at(frequency: Array, positions: NDArray[np.integer]) -> Rotations:
    """The factors that turn pairs at `positions` [T], in any order: complex64 [T, E/2]."""
    angle = positions.astype(np.float32)[:, None] * frequency
    factor = np.empty(angle.shape, np.complex64)
    factor.real = np.cos(angle)
    factor.imag = np.sin(angle)
    return factor


def rotate(heads: Array, rotations_TP: Rotations) -> Array:
    """Turn every pair of every head by its token's factor.

    Args:
        heads: float32 [..., T, E], pairs adjacent, the last axis contiguous.
        rotations_TP: complex64 [T, P], P ≤ E/2, or what broadcasts to the pairs. Numbers after the first P pairs
            stay as they are.

    Returns:
        a new array of the shape of `heads`. Lengths are kept, and position 0 is not turned at all.
    """
    n_pairs = rotations_TP.shape[-1]
    if 2 * n_pairs == heads.shape[-1]:
        return np.multiply(heads.view(np.complex64), rotations_TP, order="C").view(np.float32)
    turned = heads.copy(order="C")
    pairs = turned.view(np.complex64)[..., :n_pairs]
    np.multiply(pairs, rotations_TP, pairs)
    return turned


def pair_order(head_dim: int, rotary_dim: int | None = None) -> NDArray[np.intp]:
    """Where each place of a head with adjacent pairs comes from in a half-split one: 0, E/2, 1, E/2 + 1, …

    With a `rotary_dim` only that many numbers at the start are pairs.
    """
    rotary_dim = head_dim if rotary_dim is None else rotary_dim
    pairs = np.arange(rotary_dim).reshape(2, -1).T.ravel()
    return np.concatenate([pairs, np.arange(rotary_dim, head_dim)])


def half_split_order(head_dim: int, rotary_dim: int | None = None) -> NDArray[np.intp]:
    """The way back: `x[..., pair_order(E, R)][..., half_split_order(E, R)]` is `x`."""
    return np.argsort(pair_order(head_dim, rotary_dim))
