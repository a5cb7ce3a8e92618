"""Each converted GGUF, put into transformers by the settings and tensors that glass reads: the same logits.

So what a header says of a family (its window, its multipliers, how positions are stretched) means in config.json's
words what it meant in the config.json that the converter read.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from helpers.formula import weights

from glasscli.checkpoint.gguf.checkpoint import GGUF
from glasscli.checkpoint.tensors import load_tensors
from glasscli.model.llama import Llama

CONVERTED = Path(__file__).parents[1] / "data" / "gguf" / "converted"
FACTS: dict[str, Any] = json.loads((CONVERTED / "facts.json").read_text())
IDS = torch.tensor([[1, 5, 2, 7, 3, 3, 8, 4, 19, 23, 0, 11, 6, 6, 9, 14, 2, 21, 10, 17]])


def model_of(settings: dict[str, Any], state: dict[str, torch.Tensor]) -> Any:
    """A model of transformers with these weights, in float64."""
    config = transformers.AutoConfig.for_model(
        **settings | {"pad_token_id": 0}
    )  # some classes assume a larger vocabulary
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).double().eval()
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected
    assert not set(missing) - {"lm_head.weight"}
    model.tie_weights()
    return model


@pytest.mark.parametrize("name", FACTS)
def test_the_same_logits(name: str) -> None:
    shapes = FACTS[name]["tensors"]
    original = model_of(FACTS[name]["config"], {k: torch.from_numpy(weights(k, s)).double() for k, s in shapes.items()})
    checkpoint = GGUF(CONVERTED / f"{name}.gguf")
    read = {info.name: torch.from_numpy(checkpoint.read(info)).double() for info in checkpoint.tensors()}
    if "embed_out.weight" in read:  # transformers 5's name in memory
        read["lm_head.weight"] = read.pop("embed_out.weight")
    found = model_of(checkpoint.settings(), read)
    with torch.no_grad():
        expected, logits = original(IDS).logits, found(IDS).logits
    assert torch.isfinite(expected).all()
    assert expected.std() > 0.01
    torch.testing.assert_close(logits, expected, rtol=1e-6, atol=1e-6 * float(expected.abs().max()))


@pytest.mark.parametrize("name", FACTS)
def test_glass_runs_it(name: str) -> None:
    """Logits of glass in float32 from the GGUF, beside transformers' in float64 from the original weights."""
    shapes = FACTS[name]["tensors"]
    original = model_of(FACTS[name]["config"], {k: torch.from_numpy(weights(k, s)).double() for k, s in shapes.items()})
    with torch.no_grad():
        expected = original(IDS).logits[0].numpy()
    checkpoint = GGUF(CONVERTED / f"{name}.gguf")
    config, notes = checkpoint.config(), list[str]()
    logits = Llama(config, load_tensors(checkpoint, config, notes))(IDS[0].tolist())
    assert not notes
    np.testing.assert_allclose(logits, expected, rtol=0, atol=2e-4 * np.abs(expected).max())
