"""A GGUF as a checkpoint, against the models that llama.cpp's converter made it from (data/gguf/converted)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.formula import weights

from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.checkpoint.gguf.checkpoint import GGUF
from glasscli.checkpoint.gguf.header import read_header

CONVERTED = Path(__file__).parents[2] / "data" / "gguf" / "converted"
FACTS: dict[str, Any] = json.loads((CONVERTED / "facts.json").read_text())
# The names that published checkpoints have, where transformers 5 calls a tensor otherwise in memory.
PUBLISHED = {
    "gptneox": {"lm_head.weight": "embed_out.weight"},
    "gptneox-sequential": {"lm_head.weight": "embed_out.weight"},
}


def converted(name: str) -> GGUF:
    checkpoint = open_checkpoint(CONVERTED / f"{name}.gguf")
    assert isinstance(checkpoint, GGUF)
    return checkpoint


@pytest.mark.parametrize("name", FACTS)
def test_every_tensor_comes_back_under_its_own_name(name: str) -> None:
    checkpoint = converted(name)
    infos = {info.name: info for info in checkpoint.tensors()}
    shapes = {PUBLISHED.get(name, {}).get(key, key): (key, shape) for key, shape in FACTS[name]["tensors"].items()}
    assert {key: list(info.shape) for key, info in infos.items()} == {key: shape for key, (_, shape) in shapes.items()}
    for key, (original, shape) in shapes.items():
        found = checkpoint.read(infos[key])
        assert found.dtype == np.float32
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, weights(original, shape), err_msg=key)


def older(config: dict[str, Any]) -> dict[str, Any]:
    """A config.json with rotary settings where files had them before transformers 5."""
    said = dict(config)
    rope = said.pop("rope_parameters", {})
    full = rope.get("full_attention", rope)
    if said["model_type"] == "gemma3_text":
        said["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
    said["rope_theta"] = full.get("rope_theta")
    partial = full.get("partial_rotary_factor", 1.0)
    if said["model_type"] == "gpt_neox":
        said |= {"rotary_emb_base": said.pop("rope_theta"), "rotary_pct": partial}
    elif said["model_type"] == "stablelm" or partial != 1:
        said["partial_rotary_factor"] = partial
    if full.get("rope_type", "default") != "default":
        beside = ("rope_theta", "partial_rotary_factor")
        said["rope_scaling"] = {key: value for key, value in full.items() if key not in beside}
    said["n_inner"] = said.get("n_inner") or 4 * said.get("n_embd", 0)
    return said


# Facts that a GGUF tells and the config.json that it was made from leaves to a class, or tells otherwise.
TOLD = {"torch_dtype": "float16"}
ALIAS = {"hidden_act": "hidden_activation", "hidden_activation": "hidden_act"}


@pytest.mark.parametrize("name", FACTS)
def test_the_settings_are_those_of_the_config_json(name: str) -> None:
    config, said = older(FACTS[name]["config"]), converted(name).settings()
    width = config.get("hidden_size", 0) // config.get("num_attention_heads", 1)
    for key, value in said.items():
        expected = config.get(key, config.get(ALIAS.get(key, ""), TOLD.get(key)))
        if key == "head_dim" and expected is None:
            expected = width
        if key == "original_max_position_embeddings" and "longrope" not in name:
            expected = config["max_position_embeddings"]  # without longrope it means nothing
        if key == "rope_scaling" and name == "phi3-longrope":
            factor = value.pop("attention_factor")  # the converter writes out what transformers computes
            assert factor == pytest.approx((1 + np.log(64 / 32) / np.log(32)) ** 0.5)
        assert value == expected, key
    decisive = {"rope_scaling", "rope_theta", "rotary_pct", "sliding_window", "layer_types", "tie_word_embeddings"}
    for key in decisive & config.keys() - said.keys():
        assert config[key] in (None, {}) or set(config[key]) == {"full_attention"}, key
    assert said["tie_word_embeddings"] == config["tie_word_embeddings"]


def test_what_stands_in_no_key() -> None:
    gemma3 = converted("gemma3").settings()
    assert [word.split("_")[0] for word in gemma3["layer_types"]] == ["sliding"] * 5 + ["full", "sliding"]
    assert converted("smollm3").settings()["no_rope_layers"] == [1, 1, 1, 0, 1]
    assert converted("llama-biases").settings()["rope_scaling"] == {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192}  # fmt: skip


def test_settings_need_no_numpy(tmp_path: Path) -> None:
    import subprocess
    import sys

    program = (
        "import sys; from glasscli.checkpoint.gguf.checkpoint import GGUF; c = GGUF(sys.argv[1]); c.settings();"
        "c.tensors(); print({'numpy', 'tokenizers'} & set(sys.modules))"
    )
    path = CONVERTED / "llama.gguf"
    run = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
    assert read_header(path).version == 3
