"""A Llama of one layer whose weights are the same on every machine, for comparing what others keep of its cache."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.numbers_to_pack import bell
from helpers.random_llama import settings, shapes

N_TOKENS = 24


def one_layer(width: int) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]]:
    """Settings and tensors: 4 query heads of `width`, 2 key/value heads."""
    config = settings(hidden_size=64, head_dim=width, num_hidden_layers=1)
    tensors = {}
    for seed, (name, shape) in enumerate(shapes(config).items(), 100):
        numbers = bell(int(np.prod(shape)), 0.2, seed).reshape(shape)
        tensors[name] = numbers + np.float32("norm" in name)
    return config, tensors


def prompt(config: dict[str, Any]) -> list[int]:
    """`N_TOKENS` ids."""
    return [int(i) for i in np.random.PCG64(7).random_raw(N_TOKENS) % config["vocab_size"]]
