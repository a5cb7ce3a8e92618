"""Float32 numbers that formats are compared on: the same on every machine and with every NumPy.

They come from PCG64's raw words, whose sequence is fixed, by exact arithmetic.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

SCALES = (1e-3, 1.0, 100.0)
COUNT = 131_072


def bell(count: int, scale: float, seed: int = 1) -> Floats:
    """Numbers that look normal with a standard deviation near `scale`: sums of four uniform ones."""
    words = np.random.PCG64(seed).random_raw(count).view(np.uint16).reshape(count, 4)
    return ((words.astype(np.float64).sum(axis=1) - 2 * 65535) / 65535 * 1.75 * scale).astype(np.float32)


def whole(count: int, least: int, largest: int, step: float, seed: int = 2) -> Floats:
    """Multiples of `step` from least · step to largest · step: levels that fall on ties."""
    words = np.random.PCG64(seed).random_raw(count) >> np.uint64(32)
    return ((words % np.uint64(largest - least + 1)).astype(np.float64) + least).astype(np.float32) * np.float32(step)


def any_bits(count: int, seed: int = 3) -> Floats:
    """Every kind of float32 there is, by its bits: subnormal, ∞, NaN."""
    return np.random.PCG64(seed).random_raw(count // 2).view(np.float32)


def blocks() -> dict[str, Floats]:
    """Cases of many blocks of 32, by name."""
    cases = {f"bell {scale:g}": bell(COUNT, scale, seed) for seed, scale in enumerate(SCALES, 10)}
    cases["ties"] = whole(COUNT, -16, 16, 0.5)
    cases["whole"] = whole(COUNT, -127, 127, 1.0)
    cases["tiny"] = bell(COUNT, 1e-36, seed=20)
    cases["large"] = bell(COUNT, 1e6, seed=21)
    return cases


def extremes() -> dict[str, Floats]:
    """Single blocks of 32 that are easily got wrong, by name."""
    ramp = np.arange(32, dtype=np.float32) - np.float32(15.5)
    lone = np.zeros(32, np.float32)
    lone[17] = -3
    return {
        "zeros": ramp * 0,
        "zeros after minus zero": -np.abs(ramp) * 0,
        "equal": ramp * 0 + 3,
        "equal and negative": ramp * 0 - np.float32(0.1),
        "all negative": -np.abs(ramp) - 1,
        "largest is negative": np.where(ramp == -15.5, np.float32(-20), ramp),
        "largest twice, positive first": np.where(ramp == 0.5, np.float32(-15.5), -ramp),
        "one number": lone,
        "subnormal": ramp * np.float32(1e-38),
        "scale too large for a half": ramp * np.float32(1e7),
        "next to the largest float": ramp * np.float32(2e37),
    }


def digest(array: NDArray[np.generic]) -> str:
    """SHA-256 of the array's bytes."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
