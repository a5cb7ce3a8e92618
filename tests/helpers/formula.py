"""Weights by formula: what a tensor holds follows from its name, so that a test needs no second file."""

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def weights(name: str, shape: Sequence[int]) -> NDArray[np.float32]:
    """Multiples of 1/64 from −126/64 to 126/64: exact in float16 too, even with 1 added."""
    numbers = np.arange(int(np.prod(shape)), dtype=np.int64) * 7919 + zlib.crc32(name.encode())
    return ((numbers % 253 - 126) / 64).astype(np.float32).reshape(shape)
