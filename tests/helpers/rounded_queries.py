"""Queries rounded to 8 bits before they meet packed keys, as llama.cpp's CPU multiplies: what glass does not do.

With packed keys llama.cpp turns each query, after the rotary turn and the keys' own rotation, into blocks of q8_0 (of
q8_1 where keys have a minimum: the same levels) and sums products of whole numbers. Source: `q_to_vec_dot` in
`ggml_compute_forward_flash_attn_ext_f16_one_chunk`, ggml-cpu/ops.cpp, 2026-11; without flash attention its matrix
product rounds them, too.
"""

import numpy as np

from glasscli import Trace
from glasscli.arrays import Array
from glasscli.cache.choice import CacheChoice
from glasscli.cache.formats.registry import FORMATS
from glasscli.cache.formats.rotation import rotate, rotation_size
from glasscli.model.places import At


class RoundedQueries(Trace):
    """Hand one to a model's call with a cache of that choice, whose keys are packed in blocks."""

    def __init__(self, choice: CacheChoice, head_dim: int) -> None:
        super().__init__()
        self.turn = rotation_size("k", head_dim) if choice.rotated else 1

    def at(self, layer: int | None) -> At:
        def rounded(place: str, array: Array) -> Array:
            if place != "rope_q":
                return array
            packed = FORMATS["q8_0"].pack(rotate(np.ascontiguousarray(array), self.turn))
            return rotate(FORMATS["q8_0"].unpack(packed), self.turn)

        return rounded
