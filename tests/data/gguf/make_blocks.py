"""Write blocks.npz: random bytes of each quantised type, and what the `gguf` package makes of them.

    pip install gguf && python tests/data/gguf/make_blocks.py

Scales are kept finite; the rest is any bytes. The file in the repository is from gguf 0.19.0.
"""

from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

PLACE = Path(__file__).with_name("blocks.npz")
N_BLOCKS = 6
# Where half-precision numbers stand in a block.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0]}  # fmt: skip


def random_blocks(name: str, n_blocks: int, rng: np.random.Generator) -> np.ndarray:
    """Bytes [n_blocks, bytes of a block], each half-precision number in them finite."""
    blocks = rng.integers(0, 256, (n_blocks, GGML_QUANT_SIZES[GGMLQuantizationType[name]][1]), dtype=np.uint8)
    for start in HALVES[name]:
        scales = rng.normal(0, 1, n_blocks).astype(np.float16)
        blocks[:, start : start + 2] = scales.view(np.uint8).reshape(n_blocks, 2)
    return blocks


if __name__ == "__main__":
    made = {}
    for name in HALVES:
        blocks = random_blocks(name, N_BLOCKS, np.random.default_rng(7))
        made[name] = blocks
        made[f"{name} is"] = dequantize(blocks, GGMLQuantizationType[name])
    np.savez_compressed(PLACE, **made)
