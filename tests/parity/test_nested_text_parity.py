"""The text of a Gemma 3 that sees, from a folder as transformers writes it: its logits in float64."""

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.family_configs import FAMILIES
from helpers.model_folders import byte_level
from test_llama import logits_of
from transformers import Gemma3Config, Gemma3ForConditionalGeneration

from glasscli import load_model


@pytest.mark.parametrize("kind", ["gemma3", "gemma3-every-2"])
def test_logits_of_a_text(kind: str, tmp_path: Path) -> None:
    torch.manual_seed(3)
    sees = {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28,
        "patch_size": 14,
    }  # fmt: skip
    text = {**FAMILIES[kind], "vocab_size": 257, "final_logit_softcapping": None}
    config = Gemma3Config(text_config=text, vision_config=sees, mm_tokens_per_image=4)
    config._attn_implementation = "eager"
    theirs = Gemma3ForConditionalGeneration(config).eval().float()
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.copy_(torch.randn_like(weight) * 0.2)
    theirs.save_pretrained(tmp_path)
    byte_level(257, bos=False).save(str(tmp_path / "tokenizer.json"))
    loaded = load_model(tmp_path)
    ids = np.random.default_rng(1).integers(0, 257, 60).tolist()
    expected = logits_of(theirs.double(), ids)
    cache = loaded.model.new_cache(60)
    found = np.concatenate([loaded.model(ids[:7], cache), *(loaded.model([token], cache) for token in ids[7:])])
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4)
    np.testing.assert_allclose(loaded.model(ids), expected, rtol=0, atol=2e-4)
    assert np.abs(expected).max() > 0.5
