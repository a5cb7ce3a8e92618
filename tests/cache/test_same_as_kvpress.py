"""A text read while one token a layer is dropped at each step, as kvpress' TOVA chooses it (`make_kvpress.py`)."""

import json
from pathlib import Path

import numpy as np
from helpers.random_llama import settings, tensors

from glasscli import Llama, ModelConfig
from glasscli.cache.choice_text import parse_choice

MADE = json.loads((Path(__file__).parent / "kvpress.json").read_text())


def test_tova_drops_what_kvpress_drops() -> None:
    config, choice = settings(), parse_choice(f"tova={MADE['tova']}")
    model = Llama(ModelConfig.from_dict(config), tensors(config))
    for text in MADE["texts"]:
        ids = text["ids"]
        found = model(ids, model.chosen_cache(choice, len(ids)))
        np.testing.assert_allclose(found, text["logits"], rtol=0, atol=2e-4)
        assert np.abs(found - model(ids)).max() > 0.1
    assert len(MADE["texts"]) == 3
