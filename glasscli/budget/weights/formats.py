"""How one linear map of rows × columns is stored: a class for each layout, bytes to the last scale.

Rows are outputs, columns inputs. Every layout is the one that its producer writes and that vLLM and transformers load;
the sources stand at the classes. A bias is no part of it: it keeps the model's dtype.
"""

from dataclasses import dataclass

ITEM = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}


@dataclass(frozen=True)
class Format:
    """A layout, by the name that it goes by."""

    name: str

    def tensors(self, rows: int, columns: int) -> tuple[int, ...]:
        """The bytes of each tensor that one map becomes: its numbers, then scales and what else there is."""
        raise NotImplementedError

    def n_bytes(self, rows: int, columns: int) -> int:
        """What the numbers and their scales take together."""
        return sum(self.tensors(rows, columns))


@dataclass(frozen=True)
class Plain(Format):
    """One number after the other, as everything that is not quantised."""

    def tensors(self, rows: int, columns: int) -> tuple[int, ...]:
        return (rows * columns * ITEM[self.name],)


@dataclass(frozen=True)
class Scaled(Format):
    """Eight bits a number, and scales for the whole map, for each row or for each group of a row.

    `scale_bytes` each; `statics` further scales of one number: an input's, where it is fixed. Sources: ModelOpt's FP8,
    compressed-tensors' float- and int-quantized (files keep scales in the model's dtype, vLLM in float32, which counts
    here), bitsandbytes' SCB.
    """

    strategy: str
    scale_bytes: int
    group: int = 0
    statics: int = 0
    static_bytes: int = 4

    def tensors(self, rows: int, columns: int) -> tuple[int, ...]:
        n_scales = {"tensor": 1, "channel": rows, "group": rows * -(-columns // (self.group or 1))}[self.strategy]
        return rows * columns, n_scales * self.scale_bytes, self.statics * self.static_bytes


@dataclass(frozen=True)
class Blocks(Format):
    """FP8 with a float32 scale for each block of rows × columns, `weight_scale_inv`: DeepSeek V3's.

    Source: DeepSeek-V3's README_WEIGHTS.md, "FP8 Weight Documentation".
    """

    block_rows: int
    block_columns: int
    scale_bytes: int = 4
    statics: int = 0

    def tensors(self, rows: int, columns: int) -> tuple[int, ...]:
        blocks = -(-rows // self.block_rows) * -(-columns // self.block_columns)
        return rows * columns, blocks * self.scale_bytes, 4 * self.statics


@dataclass(frozen=True)
class Packed(Format):
    """Integers of `bits` in 32-bit words along a row, a scale for each group, perhaps packed zeros.

    compressed-tensors' pack-quantized: words of a row are padded, `shape_bytes` for the two numbers of weight_shape.
    """

    bits: int
    group: int
    zeros: bool
    scale_bytes: int = 2
    shape_bytes: int = 16

    def tensors(self, rows: int, columns: int) -> tuple[int, ...]:
        per_word = 32 // self.bits
        groups = -(-columns // (self.group or columns))
        zeros = -(-rows // per_word) * groups if self.zeros else 0
        return 4 * rows * -(-columns // per_word), rows * groups * self.scale_bytes, 4 * zeros, self.shape_bytes


@dataclass(frozen=True)
class Awq(Format):
    """qweight [in, out · bits / 32], qzeros [in / group, out · bits / 32] in words, float16 scales [in / group, out].

    Source: AutoAWQ's WQLinear_GEMM.
    """

    bits: int
    group: int

    def tensors(self, rows: int, columns: int) -> tuple[int, ...]:
        groups = -(-columns // (self.group or columns))
        words = rows * self.bits // 32
        return 4 * columns * words, 4 * groups * words, 2 * groups * rows


@dataclass(frozen=True)
class Gptq(Format):
    """qweight [in · bits / 32, out], qzeros [in / group, out · bits / 32], float16 scales, g_idx [in] in words.

    Source: AutoGPTQ's and GPTQModel's QuantLinear.
    """

    bits: int
    group: int

    def tensors(self, rows: int, columns: int) -> tuple[int, ...]:
        groups = -(-columns // (self.group or columns))
        packed, zeros = columns * self.bits // 32 * rows, groups * (rows * self.bits // 32)
        return 4 * packed, 4 * zeros, 2 * groups * rows, 4 * columns


@dataclass(frozen=True)
class Nvfp4(Format):
    """Two numbers a byte, an FP8 scale for each 16 of a row, and float32 scales of one number: weight's and input's.

    Source: ModelOpt's NVFP4 export; compressed-tensors' nvfp4-pack-quantized has the same tensors.
    """

    name: str = "nvfp4"
    group: int = 16
    statics: int = 2

    def tensors(self, rows: int, columns: int) -> tuple[int, ...]:
        return rows * -(-columns // 2), rows * -(-columns // self.group), 4 * self.statics


@dataclass(frozen=True)
class Mxfp4(Format):
    """Blocks of 32 numbers in 16 bytes with an exponent of one byte each: gpt-oss.

    Source: OCP Microscaling Formats 1.0; the `blocks` and `scales` of gpt-oss's checkpoints.
    """

    name: str = "mxfp4"

    def tensors(self, rows: int, columns: int) -> tuple[int, ...]:
        blocks = -(-columns // 32)
        return 16 * rows * blocks, rows * blocks


@dataclass(frozen=True)
class Bnb4(Format):
    """bitsandbytes' 4-bit: two numbers a byte and a scale for each 64, itself in 8 bits where it is nested.

    With the maps of 16 and 256 float32 that go with them; the few bytes of JSON that name the kind are not counted.
    Source: bitsandbytes' `functional.quantize_4bit` and `QuantState.as_dict`.
    """

    nested: bool
    block: int = 64

    def tensors(self, rows: int, columns: int) -> tuple[int, ...]:
        n = rows * columns
        scales = -(-n // self.block)
        nested = 4 * -(-scales // 256) + 4 * 256 if self.nested else 0
        return -(-n // 2), scales * (1 if self.nested else 4), nested, 4 * 16
