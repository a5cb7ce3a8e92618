"""The K types: blocks of 256 numbers in 16 runs of 16 (or 8 of 32), each run with a small scale of its own.

All take stored bytes [blocks, bytes of a block] and give [blocks, 256] in float32, rounded as ggml rounds.
Source: as `blocks`.
"""

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Integers = NDArray[np.integer]
Floats = NDArray[np.float32]

_TWO_BITS = np.arange(0, 8, 2, dtype=np.uint8)[:, None]  # how far to shift for each of a byte's four pairs of bits
_ONE_BIT = np.arange(8, dtype=np.uint8)[:, None]


def q2_k(blocks: Bytes) -> Floats:
    """(scale · s) · q − (least · m): 16 bytes of s and m, 64 bytes of q, scale, least."""
    n = len(blocks)
    scales = _half(blocks, 80) * (blocks[:, :16] & 15).astype(np.float32)
    least = _half(blocks, 82) * (blocks[:, :16] >> 4).astype(np.float32)
    quants = _pairs(blocks[:, 16:80]).reshape(n, 16, 16).astype(np.float32)
    return (scales[:, :, None] * quants - least[:, :, None]).reshape(n, 256)


def q3_k(blocks: Bytes) -> Floats:
    """(scale · (s − 32)) · (q − 4): 32 bytes of q's third bits, 64 of its lower two, 12 of s, scale.

    A third bit that is 0 takes 4 away.
    """
    n = len(blocks)
    third = (blocks[:, None, :32] >> _ONE_BIT & 1) << 2  # bit j of byte i belongs to number 32·j + i
    quants = (_pairs(blocks[:, 32:96]) | third.reshape(n, 256)).astype(np.float32) - 4
    packed = blocks[:, 96:108]
    low = np.concatenate([packed[:, :8] & 15, packed[:, :8] >> 4], axis=1)  # 16 nibbles
    high = (packed[:, None, 8:] >> _TWO_BITS & 3).reshape(n, 16)
    scales = _half(blocks, 108) * ((low | high << 4).astype(np.float32) - 32)
    return (scales[:, :, None] * quants.reshape(n, 16, 16)).reshape(n, 256)


def q4_k(blocks: Bytes) -> Floats:
    """(scale · s) · q − (least · m): scale, least, 12 bytes of s and m, 128 bytes of q."""
    scales, least = _six_bits(blocks)
    return _scaled(scales, _halves(blocks[:, 16:]), least)


def q5_k(blocks: Bytes) -> Floats:
    """As Q4_K, with 32 bytes of fifth bits before the others."""
    scales, least = _six_bits(blocks)
    fifth = (blocks[:, None, 16:48] >> _ONE_BIT & 1) << 4  # bit j of byte i belongs to number 32·j + i
    return _scaled(scales, _halves(blocks[:, 48:]) | fifth, least)


def q6_k(blocks: Bytes) -> Floats:
    """(scale · s) · (q − 32): 128 bytes of q's lower four bits, 64 of its upper two, 16 signed s, scale."""
    n = len(blocks)
    low = blocks[:, :128].reshape(n, 2, 1, 64) >> np.array([0, 4], np.uint8)[:, None] & 15
    high = blocks[:, 128:192].reshape(n, 2, 1, 32) >> _TWO_BITS & 3
    quants = (low.reshape(n, 256) | high.reshape(n, 256) << 4).astype(np.float32) - 32
    scales = _half(blocks, 208) * blocks[:, 192:208].view(np.int8).astype(np.float32)
    return (scales[:, :, None] * quants.reshape(n, 16, 16)).reshape(n, 256)


def _half(blocks: Bytes, start: int) -> Floats:
    return blocks[:, start : start + 2].copy().view("<f2").astype(np.float32)


def _pairs(packed: Bytes) -> Integers:
    """Four 2-bit numbers a byte: of each 32 bytes, first the lowest of all, then the next."""
    n = len(packed)
    return (packed.reshape(n, -1, 1, 32) >> _TWO_BITS & 3).reshape(n, -1)


def _halves(packed: Bytes) -> Integers:
    """[blocks, 8, 32]: of each 32 bytes, first the low nibbles, then the high ones."""
    n = len(packed)
    shifts = np.array([0, 4], np.uint8)[:, None]
    return (packed.reshape(n, 4, 1, 32) >> shifts & 15).reshape(n, 8, 32)


def _six_bits(blocks: Bytes) -> tuple[Floats, Floats]:
    """Scales and leasts of the eight runs, multiplied out: both [blocks, 8].

    Twelve bytes a b c of four each: of runs 0–3, s and m are the lower six bits of a and b; of runs 4–7, the nibbles
    of c with the upper two bits of a and b on top.
    """
    a, b, c = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scales = np.concatenate([a & 63, c & 15 | a >> 6 << 4], axis=1)
    least = np.concatenate([b & 63, c >> 4 | b >> 6 << 4], axis=1)
    return _half(blocks, 0) * scales.astype(np.float32), _half(blocks, 2) * least.astype(np.float32)


def _scaled(scales: Floats, quants: Integers, least: Floats) -> Floats:
    made = scales[:, :, None] * quants.astype(np.float32) - least[:, :, None]
    return made.reshape(len(made), 256)
