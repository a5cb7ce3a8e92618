"""Windows against transformers under that mask; merged heads against its model of a rewritten checkpoint."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.random_llama import settings, tensors, token_ids
from test_llama import logits_of, reference

from glasscli import Llama, ModelConfig, load_model
from glasscli.cache.choice_text import parse_choice
from glasscli.locate.shipped import shipped_folder
from glasscli.quality.merged import merged_model

WINDOWS = {"window=10": (0, 10), "sinks=4+window=12": (4, 12), "sinks=1+window=1": (1, 1), "window=300": (0, 300)}


@pytest.mark.parametrize("spec", WINDOWS)
def test_windows_are_transformers_attention_under_that_mask(spec: str) -> None:
    import torch

    sinks, window = WINDOWS[spec]
    config = settings()
    ids = token_ids(config, 120)
    theirs = reference(config, tensors(config))
    query, key = np.indices((120, 120))
    seen = (key <= query) & ((query - key < window) | (key < sinks))
    mask = torch.from_numpy(np.where(seen, 0.0, np.finfo(np.float64).min))[None, None]
    with torch.no_grad():
        expected = theirs(torch.tensor([ids]), attention_mask=mask).logits[0].numpy()
    assert (np.abs(expected - logits_of(theirs, ids)).max() > 0.1) == (spec != "window=300")
    model = Llama(ModelConfig.from_dict(config), tensors(config))
    for size in (120, 7, 1):
        cache = model.chosen_cache(parse_choice(spec), 120)
        parts = [model(ids[i : i + size], cache) for i in range(0, 120, size)]
        np.testing.assert_allclose(np.concatenate(parts), expected, rtol=0, atol=2e-4)


def test_merged_heads_are_transformers_model_of_a_folder_with_their_means() -> None:
    """The shipped weights with one key/value head a layer, averaged here tensor by tensor in float64."""
    from safetensors.numpy import load_file

    folder = shipped_folder()
    config = json.loads((Path(folder) / "config.json").read_text())
    weights = {name: array.astype(np.float64) for name, array in load_file(Path(folder) / "model.safetensors").items()}
    for name in weights:
        if "k_proj" in name or "v_proj" in name:
            first, second = np.split(weights[name], 2)
            weights[name] = (first + second) / 2
    theirs = reference({**config, "num_key_value_heads": 1}, weights)
    ids = load_model().tokenizer.encode("Once upon a time, there was a little girl named Lily. She had a red ball.")
    merged = merged_model(load_model(), 1)
    np.testing.assert_allclose(merged(ids), logits_of(theirs, ids), rtol=0, atol=2e-4)
    assert np.abs(merged(ids) - load_model().model(ids)).max() > 1
