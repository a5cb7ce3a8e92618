"""config.json to ModelConfig: every spelling that means the same, and everything that must be refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.random_llama import LLAMA3_ROPE, settings

from glasscli import ConfigError, ModelConfig, RopeScaling, load_config


def test_names_are_translated() -> None:
    config = ModelConfig.from_dict(settings(eos_token_id=[2, 5], rms_norm_eps=1e-6))
    assert (config.n_layers, config.n_heads, config.n_kv_heads, config.head_dim) == (3, 4, 2, 8)
    assert (config.dim, config.ffn_dim, config.vocab_size, config.max_seq_len) == (32, 48, 96, 512)
    assert (config.tied, config.norm_eps, config.eos_ids, config.bos_ids) == (True, 1e-6, (2, 5), (0,))
    assert config.group_size == 2


def test_absent_and_null_fields_take_the_class_defaults() -> None:
    bare = settings()
    for field in ("num_key_value_heads", "head_dim", "rope_parameters", "tie_word_embeddings", "eos_token_id"):
        for config in ({k: v for k, v in bare.items() if k != field}, {**bare, field: None}):
            translated = ModelConfig.from_dict(config)
            assert translated.n_kv_heads == (4 if field == "num_key_value_heads" else 2)
            assert translated.head_dim == 8
            assert translated.rope == RopeScaling()
            assert translated.tied is (field != "tie_word_embeddings")
            assert translated.eos_ids == (() if field == "eos_token_id" else (0,))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"rope_theta": 5e5}, RopeScaling(theta=5e5)),
        ({"rope_theta": 5e5, "rope_scaling": None}, RopeScaling(theta=5e5)),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, RopeScaling("linear", factor=2.0)),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}, RopeScaling(theta=1e6)),
        ({"rope_theta": 1e4, "rope_scaling": LLAMA3_ROPE}, RopeScaling("llama3", 1e4, 8.0, 1.0, 4.0, 64)),
    ],
)
def test_old_and_new_spellings_of_rope(given: dict[str, Any], expected: RopeScaling) -> None:
    config = settings()
    del config["rope_parameters"]
    assert ModelConfig.from_dict({**config, **given}).rope == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"architectures": ["MixtralForCausalLM"]},
            'architectures is "MixtralForCausalLM"; glass runs LlamaForCausalLM, Mistral',
        ),
        ({"model_type": "mixtral"}, 'model_type is "mixtral"; glass runs llama, mistral'),
        ({"hidden_act": "gelu"}, 'hidden_act is "gelu"; glass computes a llama with'),
        ({"num_key_value_heads": 3}, r"num_key_value_heads is 3, which does not divide num_attention_heads \(4\)"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0: expected at least 1"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000"),
        ({"hidden_size": 32.0}, "hidden_size is 32.0"),
        ({"hidden_size": True}, "hidden_size is true"),
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"hidden_size": 33, "head_dim": None}, r"hidden_size is 33, which num_attention_heads \(4\) does not divide"),
        ({"head_dim": 7}, "head_dim is 7: rotary embeddings turn pairs"),
        ({"rms_norm_eps": float("nan")}, "rms_norm_eps is nan"),
        ({"rms_norm_eps": 10**400}, "rms_norm_eps is a number of more than 30 digits"),
        ({"rms_norm_eps": 1e-320}, "rms_norm_eps is 1e-320: expected a number from 1e-30 to 1e30"),
        ({"rope_parameters": {**LLAMA3_ROPE, "factor": 1e-320}}, "factor is 1e-320"),
        ({"tie_word_embeddings": "yes"}, 'tie_word_embeddings is "yes": expected true or false'),
        ({"eos_token_id": "0"}, 'eos_token_id is "0": expected a token id'),
        (
            {"rope_parameters": {"rope_type": "proportional", "factor": 4.0}},
            'type "proportional"; glass knows default, linear, llama3, dynamic, yarn, longrope',
        ),
        ({"rope_parameters": [1]}, "rope_parameters is a list: expected an object"),
        ({"rope_parameters": {"rope_type": "linear"}}, "factor is missing"),
        ({"rope_parameters": {**LLAMA3_ROPE, "low_freq_factor": 4.0}}, "low_freq_factor 4.0, which must be below"),
        ({"partial_rotary_factor": 0.4}, "partial_rotary_factor is 0.4: 3 of 8 numbers of a head make no pairs"),
        ({"partial_rotary_factor": 1.5}, "partial_rotary_factor is 1.5: 12 of 8"),
        (
            {"rope_parameters": {"rope_type": "longrope", "short_factor": [1.0] * 3, "long_factor": [1.0] * 4}},
            "short_factor has 3 entries: expected 4, one for each rotated pair",
        ),
        (
            {"rope_parameters": {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [1.0, 1, 1, "1"]}},
            'long_factor is "1": expected a number',
        ),
        ({"rope_parameters": {"full_attention": {}, "sliding_attention": {}}}, "differs between kinds of layers"),
        ({"layer_types": ["linear_attention"] * 3}, "layer_types"),
        ({"quantization_config": {"bits": 4}}, "quantization_config is set"),
    ],
)
def test_what_glass_cannot_run_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        ModelConfig.from_dict(settings(**change), "some/config.json")
    assert str(error.value).startswith("some/config.json: ")
    assert error.value.field


def test_generation_config_names_the_end_of_text(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(settings(eos_token_id=1)))
    assert load_config(tmp_path).eos_ids == (1,)
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [3, 4, 3, 4000]}))
    assert load_config(tmp_path).eos_ids == (3, 4, 1)  # 4000 is past the vocabulary of 96: it can't be produced


def test_parameters_by_hand() -> None:
    """Embedding 96·32; a block 2·32·32 + 2·16·32 + 3·32·48 + 2·32; the last norm 32."""
    assert ModelConfig.from_dict(settings()).n_parameters == 96 * 32 + 3 * (2048 + 1024 + 4608 + 64) + 32


@pytest.mark.parametrize("content", ["", "{", "[]", "nul", '{"a": ' * 100_000])
def test_broken_files_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ConfigError, match=r"config\.json"):
        load_config(tmp_path)
    with pytest.raises(ConfigError, match=r"config\.json"):
        load_config(tmp_path / "absent")
