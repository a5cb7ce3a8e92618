"""Gemma 3 that sees: its text model runs from the same folder, by every name that its tensors have had."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.family_configs import FAMILIES
from helpers.family_models import random_tensors
from helpers.model_folders import byte_level, write_folder

from glasscli import ConfigError, Llama, ModelConfig, cache_size, load_model

TEXT = {**FAMILIES["gemma3"], "vocab_size": 257}
SEES: dict[str, Any] = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "text_config": {**TEXT, "bos_token_id": 2, "eos_token_id": 1},
    "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 8, "num_hidden_layers": 1},
    "bos_token_id": 3,
    "eos_token_id": [1, 106],
}
IDS = [(7 * i * i + 3) % 257 for i in range(40)]


@pytest.mark.parametrize("prefix", ["language_model.model.", "model.language_model."])
def test_it_runs_as_the_text_model_alone_would(prefix: str, tmp_path: Path) -> None:
    tensors = random_tensors(TEXT)
    named = {prefix + name.removeprefix("model."): array for name, array in tensors.items()}
    named["vision_tower.vision_model.post_layernorm.weight"] = np.ones(8, np.float32)
    loaded = load_model(write_folder(tmp_path / "m", SEES, named, byte_level(257, bos=False)))
    expected = Llama(ModelConfig.from_dict(TEXT), tensors)(IDS)
    np.testing.assert_array_equal(loaded.model(IDS), expected)
    assert (loaded.config.bos_ids, loaded.config.eos_ids) == ((3,), (1, 106))
    assert any("vision_tower" in note for note in loaded.notes)
    assert loaded.model.new_cache(50).nbytes == cache_size(SEES, 50, k_dtype="f32", v_dtype="f32").bytes_total


def test_what_the_4b_leaves_out_is_what_its_class_assumes() -> None:
    """Its published text_config, and the shapes of its published tensors."""
    said = {
        "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024,
    }  # fmt: skip
    config = ModelConfig.from_dict({**SEES, "text_config": said})
    assert (config.vocab_size, config.n_heads, config.n_kv_heads, config.head_dim) == (262208, 8, 4, 256)
    assert (config.tied, config.max_seq_len, config.attention_scale) == (True, 131072, 1 / 16)
    assert [rope.theta for rope in config.ropes[4:6] if rope] == [1e4, 1e6]
    assert [rope.factor for rope in config.ropes[4:6] if rope] == [1, 8]


def test_a_refusal_names_the_nested_field() -> None:
    with pytest.raises(ConfigError, match=r"text_config.hidden_act is \"relu\""):
        ModelConfig.from_dict({**SEES, "text_config": {**TEXT, "hidden_activation": "relu"}})
    with pytest.raises(ConfigError, match=r"text_config.final_logit_softcapping is 5.0; glass runs a gemma3 that caps"):
        ModelConfig.from_dict({**SEES, "text_config": {**TEXT, "final_logit_softcapping": 5.0}})
