"""Tiny random models of every family, made without transformers: tensors by the names and shapes that rows give."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glasscli import Llama, ModelConfig
from glasscli.checkpoint.load import LoadedModel, load_model
from glasscli.config.tensor_shapes import expected_tensors
from helpers.family_configs import FAMILIES
from helpers.model_folders import byte_level, write_folder


def random_tensors(given: dict[str, Any]) -> dict[str, NDArray[np.float32]]:
    """Float32 tensors, the same on every machine: norms about 1 (about 0 where 1 is added), all else about 0."""
    config, rng = ModelConfig.from_dict(given), np.random.default_rng(7)
    found = {}
    for role, name, shape, _ in expected_tensors(config):
        about = 1.0 - config.architecture.norm_offset if role.endswith("norm") else 0.0
        found[name] = rng.normal(about, 0.2, shape).astype(np.float32)
    return found


@cache
def random_model(kind: str) -> Llama:
    """The model of one of `FAMILIES`."""
    return Llama(ModelConfig.from_dict(FAMILIES[kind]), random_tensors(FAMILIES[kind]))


@cache
def family_folder(kind: str) -> Path:
    """A folder with such a model, in which every byte is a token."""
    given = {**FAMILIES[kind], "vocab_size": 257}
    return write_folder(Path(mkdtemp()) / kind, given, random_tensors(given), byte_level(257, bos=False))


@cache
def family(kind: str) -> LoadedModel:
    """The same, loaded."""
    return load_model(family_folder(kind))
