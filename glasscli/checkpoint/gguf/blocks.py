"""Numbers packed in blocks of 32, back to float32: a half-precision scale (and offset), then a few bits a number.

`DEQUANTISE` gives for each type a function of stored bytes [blocks, bytes of a block] → [blocks, numbers of a block].
Every product and sum is rounded to float32 in the order in which ggml makes it: results are the same to the bit.

Source: ggml's block structures and `dequantize_row_*`, https://github.com/ggml-org/ggml (ggml-common.h, ggml-quants.c).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glasscli.checkpoint.gguf import k_blocks

Bytes = NDArray[np.uint8]
Integers = NDArray[np.integer]
Floats = NDArray[np.float32]

# The 16 levels of the IQ4 types, closer together near zero. Source: `kvalues_iq4nl`.
IQ4_LEVELS = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)


def floats(blocks: Bytes, start: int) -> Floats:
    """The half-precision number at byte `start` of each block, as a column of float32."""
    return blocks[:, start : start + 2].copy().view(np.float16).astype(np.float32)


def nibbles(packed: Bytes) -> Integers:
    """The low halves of all bytes, then the high halves."""
    return np.concatenate([packed & 15, packed >> 4], axis=1)


def fifth_bits(packed: Bytes) -> Integers:
    """The 32 bits of four bytes, lowest first, each where it belongs as the fifth bit of a number."""
    return np.unpackbits(packed, axis=1, bitorder="little") << 4


def q4_0(blocks: Bytes) -> Floats:
    """scale · (q − 8): scale, 16 bytes of nibbles."""
    return floats(blocks, 0) * (nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def q4_1(blocks: Bytes) -> Floats:
    """scale · q + least: scale, least, 16 bytes of nibbles."""
    return floats(blocks, 0) * nibbles(blocks[:, 4:]).astype(np.float32) + floats(blocks, 2)


def q5_0(blocks: Bytes) -> Floats:
    """scale · (q − 16): scale, 32 fifth bits, 16 bytes of nibbles."""
    quants = nibbles(blocks[:, 6:]) | fifth_bits(blocks[:, 2:6])
    return floats(blocks, 0) * (quants.astype(np.float32) - 16)


def q5_1(blocks: Bytes) -> Floats:
    """scale · q + least: scale, least, 32 fifth bits, 16 bytes of nibbles."""
    quants = nibbles(blocks[:, 8:]) | fifth_bits(blocks[:, 4:8])
    return floats(blocks, 0) * quants.astype(np.float32) + floats(blocks, 2)


def q8_0(blocks: Bytes) -> Floats:
    """scale · q: scale, 32 signed bytes."""
    return blocks[:, 2:].view(np.int8).astype(np.float32) * floats(blocks, 0)


def iq4_nl(blocks: Bytes) -> Floats:
    """scale · level[q]: scale, 16 bytes of nibbles."""
    levels = np.array(IQ4_LEVELS, np.float32)
    return floats(blocks, 0) * levels[nibbles(blocks[:, 2:])]


def iq4_xs(blocks: Bytes) -> Floats:
    """scale · (s − 32) · level[q] in eight runs of 32: scale, 2 high and 4 low bits of each s, 128 bytes of nibbles."""
    n = len(blocks)
    high = blocks[:, 2:4].copy().view("<u2").astype(np.uint16) >> np.arange(0, 16, 2, dtype=np.uint16) & 3
    low = np.stack([blocks[:, 4:8] & 15, blocks[:, 4:8] >> 4], axis=2).reshape(n, 8)
    scales = floats(blocks, 0) * ((low | high << 4).astype(np.float32) - 32)
    levels = np.array(IQ4_LEVELS, np.float32)
    quants = nibbles(blocks[:, 8:].reshape(-1, 16)).reshape(n, 8, 32)
    return (scales[:, :, None] * levels[quants]).reshape(n, 256)


def f16(blocks: Bytes) -> Floats:
    """Half precision."""
    return blocks.view("<f2").astype(np.float32)


def bf16(blocks: Bytes) -> Floats:
    """The upper half of a float32."""
    return (blocks.view("<u2").astype(np.uint32) << 16).view(np.float32)


def f32(blocks: Bytes) -> Floats:
    """As it is."""
    return blocks.view("<f4").astype(np.float32, copy=False)


def f64(blocks: Bytes) -> Floats:
    """Rounded to float32."""
    with np.errstate(over="ignore"):  # past float32 is infinite, which the reader refuses
        return blocks.view("<f8").astype(np.float32)


DEQUANTISE: dict[str, Callable[[Any], Floats]] = {
    "F32": f32, "F16": f16, "BF16": bf16, "F64": f64,
    "Q4_0": q4_0, "Q4_1": q4_1, "Q5_0": q5_0, "Q5_1": q5_1, "Q8_0": q8_0,
    "Q2_K": k_blocks.q2_k, "Q3_K": k_blocks.q3_k, "Q4_K": k_blocks.q4_k, "Q5_K": k_blocks.q5_k, "Q6_K": k_blocks.q6_k,
    "IQ4_NL": iq4_nl, "IQ4_XS": iq4_xs,
}  # fmt: skip
