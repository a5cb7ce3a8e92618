"""The rotation that llama.cpp puts before quantised keys and values: a Hadamard matrix over a head.

It spreads a few large channels over all of them, so that no block's scale is theirs alone. It is orthonormal and
its own inverse: queries turned alike give the same scores, and a mix of turned values is turned back once.

Source: Ashkboos et al. 2024, arXiv:2404.00456 (QuaRot); which widths: llama.cpp, `llama-kv-cache.cpp`, 2026-11.
"""

from functools import cache

import numpy as np

from glasscli.arrays import Array

LEAST = 64


@cache
def hadamard(size: int) -> Array:
    """Sylvester's matrix of `size` rows, a power of two, divided by √size: orthonormal and symmetric."""
    assert size > 0
    assert size & (size - 1) == 0
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    # 1/√size divided in double precision by a float32 root, as in llama.cpp.
    matrix = matrix * np.float32(1.0 / float(np.sqrt(np.float32(size))))
    matrix.flags.writeable = False
    return matrix


def rotation_size(role: str, width: int) -> int:
    """Over how many channels at a time llama.cpp turns rows of `width`; 1 where it doesn't.

    Only widths that are a multiple of 64 are turned: keys by the largest power of two that divides the width,
    values always 64 channels at a time.
    """
    if width % LEAST:
        return 1
    return width & -width if role == "k" else LEAST


def rotate(rows: Array, size: int) -> Array:
    """Turn rows [..., E] `size` channels at a time; E is a multiple of it. Twice gives the rows back."""
    if size == 1:
        return rows
    blocks = rows.reshape(*rows.shape[:-1], rows.shape[-1] // size, size)
    return (blocks @ hadamard(size)).reshape(rows.shape)
