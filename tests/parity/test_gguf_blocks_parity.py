"""Packed numbers made float32 beside the `gguf` package's, on random bytes of every type, infinities and all."""

import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

from glasscli.checkpoint.gguf.blocks import DEQUANTISE
from glasscli.checkpoint.gguf.tensor_types import TYPES

N_BLOCKS = 20_000
NOT_STORED = {"Q8_1"}  # llama.cpp's own between two steps; the package has it larger than ggml


@pytest.mark.parametrize("name", sorted(set(DEQUANTISE) - {"F64"}))
def test_every_type_is_equal_to_the_bit(name: str) -> None:
    n_numbers, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    blocks = np.random.default_rng().integers(0, 256, (N_BLOCKS, block_bytes), dtype=np.uint8)
    with np.errstate(all="ignore"):
        found = DEQUANTISE[name](blocks)
        expected = dequantize(blocks.reshape(-1), GGMLQuantizationType[name]).reshape(N_BLOCKS, n_numbers)
    same = (found.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(found) & np.isnan(expected))
    assert same.all(), np.argwhere(~same)[:3]


def test_sizes_of_blocks_are_the_packages() -> None:
    for number, (name, n_numbers, block_bytes) in TYPES.items():
        if name not in NOT_STORED:
            assert GGMLQuantizationType(number).name == name
            assert GGML_QUANT_SIZES[GGMLQuantizationType(number)] == (n_numbers, block_bytes)
