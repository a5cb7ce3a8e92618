"""Floats of 8 and 16 bits to and from float32, by moving their bits: much faster than NumPy does it for float16.

A small float with fewer bits of exponent, put where float32 keeps exponent and fraction, is the number it stands
for times a power of two; subnormal numbers included. ∞ and NaN are mended afterwards, where there are any.

Sources: IEEE 754-2019 (binary16), OCP 8-bit Floating Point Specification (E4M3, E5M2), 2023.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array

Bits = NDArray[Any]

FEW = 2048  # halves that NumPy converts in less time than the calls below take
FLOAT_MAGNITUDE, FLOAT_INFINITY, FLOAT_EXPONENT, FLOAT_FRACTION, FLOAT_BIAS = 0x7FFFFFFF, 0x7F800000, 8, 23, 127


@dataclass(frozen=True)
class Layout:
    """Sign, `exponent` bits, `fraction` bits.

    `special` is the lowest magnitude that is no finite number, as a whole number: ∞ if `has_infinity`, else NaN.
    """

    exponent: int
    fraction: int
    special: int
    has_infinity: bool

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def bias(self) -> int:
        return 2 ** (self.exponent - 1) - 1

    @property
    def magnitude(self) -> int:
        """All bits but the sign."""
        return 2 ** (self.bits - 1) - 1

    @property
    def shift(self) -> int:
        """How much further left float32 keeps them."""
        return FLOAT_FRACTION - self.fraction

    @cached_property
    def kept(self) -> np.int32:
        """Of a float32's bits, those that this layout has."""
        return np.int32((self.magnitude << self.shift) - 2**31)

    @cached_property
    def rescale(self) -> np.float32:
        return np.float32(2.0 ** (FLOAT_BIAS - self.bias))

    @property
    def signed(self) -> type[np.signedinteger[Any]]:
        return np.int8 if self.bits == 8 else np.int16

    @property
    def unsigned(self) -> type[np.unsignedinteger[Any]]:
        return np.uint8 if self.bits == 8 else np.uint16


F16 = Layout(5, 10, special=0x7C00, has_infinity=True)
BF16 = Layout(8, 7, special=0x7F80, has_infinity=True)
E5M2 = Layout(5, 2, special=0x7C, has_infinity=True)
E4M3 = Layout(4, 3, special=0x7F, has_infinity=False)


def widen(bits: Bits, layout: Layout, out: Array | None = None) -> Array:
    """What small floats, given as whole numbers or halves of their size, stand for: float32 of the same shape."""
    if out is None:
        out = np.empty(bits.shape, np.float32)
    if layout is F16 and bits.size < FEW:
        np.copyto(out, bits.view(np.float16))
        return out
    whole = out.view(np.int32)
    np.copyto(whole, bits.view(layout.signed))  # widening repeats the sign to the left
    np.left_shift(whole, layout.shift, whole)
    if layout.exponent == FLOAT_EXPONENT:
        return out
    np.bitwise_and(whole, layout.kept, whole)
    np.multiply(out, layout.rescale, out)
    magnitudes = np.bitwise_and(bits.view(layout.unsigned), layout.magnitude)
    if magnitudes.size and magnitudes.max() >= layout.special:
        np.copyto(out, np.nan, where=magnitudes >= layout.special)
        if layout.has_infinity:
            infinite = magnitudes == layout.special
            np.copyto(out, np.where(bits.view(layout.signed) < 0, -np.inf, np.inf), where=infinite, casting="unsafe")
    return out


@np.errstate(all="ignore")
def narrow(x: Array, layout: Layout) -> Bits:
    """The nearest small floats, ties to even, as unsigned whole numbers.

    What is too large becomes ∞, or the largest number where the layout has no ∞. NaN stays NaN.
    """
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    magnitude = bits & np.uint32(FLOAT_MAGNITUDE)
    # Half of what is cut off, less one where the last bit kept is 0: a tie then goes up only from an odd number.
    rounded = magnitude >> np.uint32(layout.shift)
    rounded &= np.uint32(1)
    rounded += np.uint32(2 ** (layout.shift - 1) - 1)
    rounded += magnitude
    rounded >>= np.uint32(layout.shift)
    if layout.exponent < FLOAT_EXPONENT:
        smallest = np.float32(2.0 ** (1 - layout.bias))  # with a full fraction; below it numbers are evenly spaced
        even = np.rint(magnitude.view(np.float32) * (np.float32(2.0**layout.fraction) / smallest))
        rounded -= np.uint32(FLOAT_BIAS - layout.bias << layout.fraction)
        np.copyto(rounded, even, where=magnitude < smallest.view(np.uint32), casting="unsafe")
        np.minimum(rounded, np.uint32(layout.special if layout.has_infinity else layout.special - 1), out=rounded)
    if magnitude.max(initial=0) > FLOAT_INFINITY:
        np.copyto(rounded, np.uint32(layout.magnitude), where=magnitude > np.uint32(FLOAT_INFINITY))
    bits = bits >> np.uint32(32 - layout.bits)
    bits &= np.uint32(layout.magnitude + 1)
    bits |= rounded
    return bits.astype(layout.unsigned)
