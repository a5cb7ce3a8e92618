"""What a header comes to as a config.json: headers by hand, as converters write them elsewhere, and as none should."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.gguf_files import LLAMA, write_gguf

from glasscli.checkpoint.gguf.checkpoint import GGUF
from glasscli.errors import CheckpointError, ConfigError


def said_of(tmp_path: Path, metadata: dict[str, Any], tensors: dict[str, Any] | None = None) -> dict[str, Any]:
    changed = {key: value for key, value in metadata.items() if value is not None}
    return GGUF(write_gguf(tmp_path / "m.gguf", changed, tensors)).settings()


def test_heads_and_widths_that_differ_from_layer_to_layer(tmp_path: Path) -> None:
    lists = {"llama.attention.head_count_kv": [2, 4], "llama.feed_forward_length": [12, 16]}
    said = said_of(tmp_path, LLAMA | lists)
    assert (said["num_key_value_heads"], said["intermediate_size"], said["num_attention_heads"]) == (
        [2, 4],
        [12, 16],
        4,
    )
    said = said_of(tmp_path, LLAMA | {"llama.attention.key_length": 6, "llama.attention.value_length": 4})
    assert (said["head_dim"], said["v_head_dim"]) == (6, 4)


def test_layers_that_predict_further_tokens_are_not_counted(tmp_path: Path) -> None:
    said = said_of(tmp_path, LLAMA | {"llama.nextn_predict_layers": 1, "llama.attention.head_count_kv": [2, 4]})
    assert (said["num_hidden_layers"], said["num_key_value_heads"]) == (1, 2)


def test_windows_that_the_file_says(tmp_path: Path) -> None:
    def types(**more: Any) -> list[str]:
        metadata = {key.replace("llama.", "gemma3."): value for key, value in LLAMA.items()}
        metadata |= {"general.architecture": "gemma3", "gemma3.attention.sliding_window": 4, "gemma3.block_count": 4}
        metadata |= {f"gemma3.{key}": value for key, value in more.items()}
        return [word.split("_")[0] for word in said_of(tmp_path, metadata)["layer_types"]]

    assert types() == ["sliding"] * 4
    assert types(**{"attention.sliding_window_pattern": 2}) == ["sliding", "full"] * 2
    assert types(**{"attention.sliding_window_pattern": [True, False, False, True]}) == [
        "sliding", "full", "full", "sliding"]  # fmt: skip
    assert types(**{"attention.sliding_window": 0}) == ["full"] * 4


def test_rotary_settings(tmp_path: Path) -> None:
    def rope(tensors: dict[str, Any] | None = None, **more: Any) -> Any:
        named = {f"llama.rope.{key}": value for key, value in more.items()}
        return said_of(tmp_path, LLAMA | {"llama.embedding_length": 32} | named, tensors).get("rope_scaling")

    assert rope() is None
    assert rope(**{"scaling.type": "none", "scaling.factor": 4.0}) is None
    assert rope(**{"scaling.factor": 4.0}) == {"rope_type": "linear", "factor": 4.0}
    assert rope(scale_linear=2.0) == {"rope_type": "linear", "factor": 2.0}
    yarn = {"scaling.type": "yarn", "scaling.factor": 4.0, "scaling.original_context_length": 32}
    assert rope(**yarn, **{"scaling.yarn_beta_fast": 16.0}) == {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 16.0}  # fmt: skip
    table = {"rope_freqs.weight": np.array([1, 2, 4, 3], np.float32)}  # no rule makes this
    found = rope(table)
    assert (found["rope_type"], found["attention_factor"]) == ("longrope", 1.0)
    assert found["short_factor"] == found["long_factor"] == [1, 2, 4, 3]
    assert rope({"rope_freqs.weight": np.ones(4, np.float32)}) is None
    for wrong in (np.ones(3, np.float32), np.ones(4, np.float16)):
        with pytest.raises(CheckpointError, match="expected 4 numbers in F32"):
            rope({"rope_freqs.weight": wrong})
    with pytest.raises(ConfigError, match="no frequency can be divided by"):
        rope({"rope_freqs.weight": np.array([1, 0, 1, 1], np.float32)})
    with pytest.raises(ConfigError, match="is 'new'; glass knows"):
        rope(**{"scaling.type": "new"})


def test_experts_make_a_llama_a_mixtral(tmp_path: Path) -> None:
    said = said_of(tmp_path, LLAMA | {"llama.expert_count": 8, "llama.expert_used_count": 2})
    assert (said["model_type"], said["num_local_experts"], said["num_experts_per_tok"]) == ("mixtral", 8, 2)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no architecture": ({"general.architecture": None}, "general.architecture is missing"),
    "a number for it": ({"general.architecture": 3}, "general.architecture is 3"),
    "another": ({"general.architecture": "clip", "clip.block_count": 2}, "is 'clip'; glass can run llama"),
    "no layers": ({"llama.block_count": None}, "llama.block_count is missing"),
    "0 layers": ({"llama.block_count": 0}, "llama.block_count is 0; expected a whole number from 1"),
    "layers in words": ({"llama.block_count": "two"}, "llama.block_count is two"),
    "too many layers": ({"llama.block_count": 10**6}, "from 1 to 10,000"),
    "a list for a number": ({"llama.embedding_length": [8, 8]}, "llama.embedding_length is a list"),
    "a short list": ({"llama.attention.head_count_kv": [2]}, "lists 1 values; expected one for each of 2 layers"),
    "a list of words": ({"llama.attention.head_count_kv": ["2", "2"]}, "holds what is no whole number"),
    "no heads": ({"llama.attention.head_count": None}, "llama.attention.head_count is missing"),
    "no epsilon": ({"llama.attention.layer_norm_rms_epsilon": None}, "layer_norm_rms_epsilon is missing"),
    "an epsilon in words": ({"llama.attention.layer_norm_rms_epsilon": "small"}, "is small; expected a number"),
    "an infinite base": ({"llama.rope.freq_base": float("inf")}, "freq_base is inf"),
    "part of a head": ({"llama.rope.dimension_count": 1}, "rope.dimension_count is not a head's width"),
    "only further tokens": ({"llama.nextn_predict_layers": 2}, "leaves no layer"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_headers_that_describe_no_model(name: str, tmp_path: Path) -> None:
    changes, words = WRONG[name]
    with pytest.raises(ConfigError) as found:
        said_of(tmp_path, LLAMA | changes)
    assert words in str(found.value)
    assert len(str(found.value)) < 300
