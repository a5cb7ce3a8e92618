"""Plain numbers: 4, 2 or 1 byte each, no blocks.

fp8 holds x / scale. With a scale of 1 (vLLM's default) e4m3 cuts off at ±448 and e5m2 turns what is above 57,344
into ∞; a scale for the whole tensor (`calibrated`) makes its largest magnitude the format's.
"""

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.formats import minifloat
from glasscli.cache.formats.base import Format, Packed
from glasscli.cache.formats.minifloat import Layout, narrow, widen


class Float32(Format):
    """Numbers as they are. Reading copies nothing."""

    name = "f32"
    dtype = np.dtype("<f4")

    def _pack(self, rows: Array, out: Packed) -> None:
        out[...] = rows

    def _unpack(self, packed: Packed, out: Array) -> None:
        out[...] = packed

    def scores(self, q: Array, packed: Packed, out: Array | None = None, scratch: Array | None = None) -> Array:
        return np.matmul(q, packed.swapaxes(-1, -2), out)

    def mix(self, weights: Array, packed: Packed, out: Array | None = None, scratch: Array | None = None) -> Array:
        return np.matmul(weights, packed, out)


class Float16(Format):
    """IEEE halves, to the nearest, ties to even. More than 65,504 becomes ∞."""

    name = "f16"
    dtype = np.dtype("<f2")

    @np.errstate(over="ignore")
    def _pack(self, rows: Array, out: Packed) -> None:
        out[...] = rows

    def _unpack(self, packed: Packed, out: Array) -> None:
        widen(packed, minifloat.F16, out)


class BFloat16(Format):
    """The upper half of a float32, to the nearest, ties to even."""

    name = "bf16"
    dtype = np.dtype("<u2")

    def _pack(self, rows: Array, out: Packed) -> None:
        out[...] = narrow(rows, minifloat.BF16)

    def _unpack(self, packed: Packed, out: Array) -> None:
        widen(packed, minifloat.BF16, out)


class Float8(Format):
    """A byte a number, divided by `scale`."""

    dtype = np.dtype("u1")

    def __init__(self, name: str, layout: Layout, scale: float = 1.0) -> None:
        self.name, self.layout, self.scale = name, layout, scale

    @property
    def largest(self) -> float:
        """The largest finite number at scale 1."""
        return float(widen(np.array([self.layout.special - 1], np.uint8), self.layout)[0])

    def calibrated(self, rows: Array) -> "Float8":
        """This format with the scale that makes the largest magnitude of `rows` its largest number."""
        largest = float(np.abs(rows).max(initial=0))
        return Float8(self.name, self.layout, largest / self.largest or 1.0)

    def _pack(self, rows: Array, out: Packed) -> None:
        out[...] = narrow(rows if self.scale == 1 else rows / np.float32(self.scale), self.layout)

    def _unpack(self, packed: Packed, out: Array) -> None:
        widen(packed, self.layout, out)
        if self.scale != 1:
            np.multiply(out, np.float32(self.scale), out)
