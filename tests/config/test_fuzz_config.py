"""Settings changed at random: a clean error, or the logits that `helpers/reference.py` computes from them."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
from helpers import reference
from helpers.fuzz_cases import CONFIG, IDS, WEIGHTS, edits, outcome, said
from helpers.model_folders import write_folder
from helpers.mutations import Edit, edited
from hypothesis import given
from hypothesis import strategies as st

from glasscli.checkpoint.facts import read_facts
from glasscli.checkpoint.load import load_model
from glasscli.errors import GlassError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples; each test rewrites what it changes."""
    return write_folder(tmp_path_factory.mktemp("fuzz") / "m", CONFIG, WEIGHTS)


# Config.json.

DEFAULTS = {
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "mlp_bias": False,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}
values = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        [0, 1, 2, 3, 4, 5, 8, 16, 320, -1, 2**31, 10**12, 10**40, 0.5, 1e-3, 1.0, 4.0, 1e300, math.nan, math.inf]
    ),
    st.sampled_from(
        ["", "4", "silu", "gelu", "llama", "mistral", "default", "linear", "llama3", "yarn", "longrope", "\x1b[0m"]
    ),
    st.lists(st.integers(-5, 400), max_size=3),
    st.dictionaries(st.sampled_from(["rope_type", "rope_theta", "factor"]), st.sampled_from(["linear", 2, 100.0])),
)
ROPE_FIELDS = ["rope_type", "rope_theta", "factor", "low_freq_factor", "partial_rotary_factor"]


def meaning(config: dict[str, Any]) -> dict[str, Any]:
    """The settings that a config.json stands for, read as transformers' LlamaConfig reads it.

    But for the head: where nothing is said and the file has none, it is the embedding, as llama.cpp has it.
    """
    given = {key: value for key, value in config.items() if value is not None}
    full = {**DEFAULTS, **given}
    full.setdefault("num_key_value_heads", full["num_attention_heads"])
    full["tie_word_embeddings"] = given.get("tie_word_embeddings", "lm_head.weight" not in WEIGHTS)
    full.setdefault("head_dim", full["hidden_size"] // full["num_attention_heads"])
    rope = {key: value for key, value in full["rope_parameters"].items() if value is not None}
    theta = full.get("rope_theta", 10000.0)
    full["rope_parameters"] = {"rope_type": rope.get("type", "default"), "rope_theta": theta, **rope}
    return full


@given(st.data())
def test_changed_settings(folder: Path, data: st.DataObject) -> None:
    (folder / "model.safetensors").write_bytes(safetensors.numpy.save(WEIGHTS))
    config = json.loads(json.dumps(CONFIG))
    for _ in range(data.draw(st.integers(1, 2))):
        if data.draw(st.booleans()):
            target, field = config, data.draw(st.sampled_from(sorted(CONFIG)))
        else:
            target, field = config.get("rope_parameters"), data.draw(st.sampled_from(ROPE_FIELDS))
        if isinstance(target, dict):
            target[field] = data.draw(values)
            if data.draw(st.integers(0, 3)) == 0:
                del target[field]
    (folder / "config.json").write_text(json.dumps(config))
    outcome(lambda: read_facts(folder))
    loaded = outcome(lambda: load_model(folder))
    if loaded is not None:
        expected = reference.logits(meaning(config), WEIGHTS, IDS)
        np.testing.assert_allclose(loaded.model(IDS), expected, atol=2e-4)


@given(edits)
def test_changed_bytes_of_the_config(folder: Path, changes: list[Edit]) -> None:
    (folder / "model.safetensors").write_bytes(safetensors.numpy.save(WEIGHTS))
    text = edited(json.dumps(CONFIG).encode(), changes, 2**31)
    (folder / "config.json").write_bytes(text)
    loaded = outcome(lambda: load_model(folder))
    if loaded is not None:
        expected = reference.logits(meaning(json.loads(text)), WEIGHTS, IDS)
        np.testing.assert_allclose(loaded.model(IDS), expected, atol=2e-4)


@pytest.mark.parametrize("field", [*sorted(CONFIG), "rope_scaling", "partial_rotary_factor", "quantization_config"])
def test_values_too_long_or_too_deep_to_show(folder: Path, field: str) -> None:
    (folder / "model.safetensors").write_bytes(safetensors.numpy.save(WEIGHTS))
    for depth in (3, sys.getrecursionlimit() // 2, sys.getrecursionlimit() - 200, 100_000):
        text = json.dumps({**CONFIG, field: "HERE"}).replace('"HERE"', "[" * depth + "]" * depth)
        (folder / "config.json").write_text(text)
        with pytest.raises(GlassError) as caught:
            load_model(folder)
        said(caught.value)
    (folder / "config.json").write_text(json.dumps({**CONFIG, field: ["\x1b]52;c;AAAA\x07" * 100_000]}))
    with pytest.raises(GlassError) as caught:
        load_model(folder)
    said(caught.value)
