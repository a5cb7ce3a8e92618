"""What the fields of each family mean, the dtype of the cache, and what is noted. The cases: `helpers.family_cases`."""

from collections import Counter
from typing import Any

import pytest
from helpers.family_cases import BY_NAME, LLAMA, full

from glasscli.budget.subjects import from_config
from glasscli.config.families import layout
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import (
    CacheSpec,
)


def specs(config: dict[str, Any], engine: str = "logical") -> Counter[CacheSpec]:
    return Counter(layout(config, engine).layers)


@pytest.mark.parametrize("name", BY_NAME)
def test_layers_are_read_from(name: str) -> None:
    config, expected = BY_NAME[name]
    assert specs(config) == Counter(expected)


def test_layers_stand_in_the_model_s_order() -> None:
    found = layout(LLAMA | {"model_type": "gemma2", "head_dim": 16, "sliding_window": 32})
    assert [spec.name for spec in found.layers] == ["sliding", "full", "sliding", "full"]
    assert found.n_layers == 4


def test_transformers_keeps_a_copy_for_each_query_head_of_falcon_40b() -> None:
    config, _ = BY_NAME["Falcon 40B"]
    assert specs(config, "transformers") == Counter({full(128, 64): 60})


def test_an_encoder_has_a_size_for_transformers_alone() -> None:
    """BERT without is_decoder: no cache by nature, but the class fills one that it is handed."""
    bert = LLAMA | {"model_type": "bert"}
    with pytest.raises(ConfigError):
        layout(bert)
    subject = from_config(bert, "transformers")
    assert subject.logical == subject.layout
    assert subject.layout.layers == (full(8, 8),) * 4


def test_whisper_s_encoder_length_is_known() -> None:
    config, _ = BY_NAME["Whisper: the decoder's layers, each with the encoder's"]
    assert layout(config).encoder_tokens == 1500


@pytest.mark.parametrize(
    ("quantization", "hint"),
    [
        ({"quant_method": "awq", "bits": 4}, None),
        ({"quant_method": "fp8", "kv_cache_scheme": None}, None),
        ({"kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"),
        ({"kv_cache_scheme": "FP8"}, "fp8"),
        ({"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"kv_cache_scheme": {"num_bits": 8, "type": "int"}}, "int8"),
    ],
)
def test_only_the_cache_s_own_scheme_changes_its_dtype(quantization: dict[str, Any], hint: str | None) -> None:
    assert layout(LLAMA | {"quantization_config": quantization}).kv_dtype_hint == hint


def test_what_is_assumed_is_noted() -> None:
    plain = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}
    notes = " ".join(layout(plain).notes)
    assert "no model_type" in notes
    assert "dtype is not given" in notes
    assert layout(LLAMA).notes == ()
