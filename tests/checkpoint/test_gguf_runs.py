"""Converted GGUFs of every family, run: the logits of the config and the tensors they were converted from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.formula import weights

from glasscli import Llama, ModelConfig
from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.checkpoint.tensors import load_tensors
from glasscli.config.tensor_shapes import expected_tensors

CONVERTED = Path(__file__).parents[1] / "data" / "gguf" / "converted"
FACTS: dict[str, Any] = json.loads((CONVERTED / "facts.json").read_text())
IDS = [1, 5, 2, 7, 3, 3, 8, 4, 19, 23, 0, 11, 6, 6, 9, 14, 2, 21, 10, 17]


@pytest.mark.parametrize("name", FACTS)
def test_the_logits_of_what_it_was_converted_from(name: str) -> None:
    config = ModelConfig.from_dict(FACTS[name]["config"])
    aliases = config.architecture.other_names
    tensors = {aliases.get(k, k): weights(k, s).astype(np.float32) for k, s in FACTS[name]["tensors"].items()}
    assert {spec.name for spec in expected_tensors(config)} <= set(tensors)
    checkpoint = open_checkpoint(CONVERTED / f"{name}.gguf")
    read = checkpoint.config()
    found = Llama(read, load_tensors(checkpoint, read))(IDS)
    expected = Llama(config, tensors)(IDS)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * float(np.abs(expected).max()))
