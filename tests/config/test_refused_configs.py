"""What no size is given for, by the field at fault; and that nothing config-shaped ends in a traceback."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.family_cases import LLAMA
from hypothesis import given, settings
from hypothesis import strategies as st

from glasscli.config.families import layout
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import CacheSpec

DATA = Path(__file__).parents[1] / "data" / "kv"
MLA = LLAMA | {"model_type": "deepseek_v3", "kv_lora_rank": 8, "qk_rope_head_dim": 4}
GPT_OSS = LLAMA | {"model_type": "gpt_oss", "sliding_window": 8}

REFUSED: list[tuple[dict[str, Any], str]] = [
    (LLAMA | {"num_hidden_layers": None}, "num_hidden_layers"),
    (LLAMA | {"num_hidden_layers": 0}, "num_hidden_layers"),
    (LLAMA | {"num_hidden_layers": -1}, "num_hidden_layers"),
    (LLAMA | {"num_hidden_layers": True}, "num_hidden_layers"),
    (LLAMA | {"num_hidden_layers": 32.0}, "num_hidden_layers"),
    (LLAMA | {"num_hidden_layers": "32"}, "num_hidden_layers"),
    (LLAMA | {"num_hidden_layers": 10**12}, "num_hidden_layers"),
    (LLAMA | {"num_attention_heads": [8]}, "num_attention_heads"),
    (LLAMA | {"num_key_value_heads": 3}, "num_key_value_heads"),
    (LLAMA | {"num_key_value_heads": 0}, "num_key_value_heads"),
    (LLAMA | {"num_key_value_heads": float("nan")}, "num_key_value_heads"),
    (LLAMA | {"hidden_size": 65}, "hidden_size"),
    (LLAMA | {"hidden_size": None}, "hidden_size"),
    (LLAMA | {"head_dim": -8}, "head_dim"),
    (LLAMA | {"model_type": 7}, "model_type"),
    (LLAMA | {"torch_dtype": "complex64"}, "torch_dtype"),
    (LLAMA | {"model_type": "mistral", "sliding_window": 0}, "sliding_window"),
    (LLAMA | {"layer_types": ["full_attention"] * 3}, "layer_types"),
    (LLAMA | {"layer_types": ["full_attention"] * 3 + ["warp_attention"]}, "layer_types"),
    (LLAMA | {"layer_types": ["full_attention"] * 3 + ["linear_attention"]}, "layer_types"),
    (LLAMA | {"layer_types": "full_attention"}, "layer_types"),
    (LLAMA | {"layer_types": ["sliding_attention"] * 4}, "sliding_window"),
    (GPT_OSS | {"sliding_window": None}, "sliding_window"),
    (MLA | {"kv_lora_rank": "512"}, "kv_lora_rank"),
    (MLA | {"qk_rope_head_dim": None}, "qk_rope_head_dim"),
    (LLAMA | {"num_kv_shared_layers": 4}, "num_kv_shared_layers"),
    (LLAMA | {"per_layer_config": {"9": {"head_dim": 8}}}, "per_layer_config"),
    (LLAMA | {"per_layer_config": {"0": {"skip": ["attention"]}}}, "per_layer_config"),
    (LLAMA | {"quantization_config": {"kv_cache_scheme": {"num_bits": 3, "type": "int"}}},
     "quantization_config.kv_cache_scheme"),
    (LLAMA | {"quantization_config": {"kv_cache_quant_algo": "MYSTERY"}},
     "quantization_config.kv_cache_quant_algo"),
    # Encoders and models of no text: not 0, but no.
    (LLAMA | {"model_type": "bert"}, "is_decoder"),
    (LLAMA | {"model_type": "modernbert"}, "model_type"),
    (LLAMA | {"model_type": "vit"}, "model_type"),
    ({"model_type": "blt", "decoder_config": LLAMA}, "model_type"),
    # Nested, the field's whole path.
    ({"model_type": "gemma3", "text_config": {"num_hidden_layers": -3}}, "text_config.num_hidden_layers"),
    ({"model_type": "llava"}, "text_config"),
    # Unknown types that hint at another kind of memory.
    (LLAMA | {"model_type": "new_thing", "mamba_d_state": 16}, "mamba_d_state"),
    (LLAMA | {"model_type": "new_thing", "linear_num_value_heads": 16}, "linear_num_value_heads"),
    (LLAMA | {"model_type": "new_thing", "hybrid_layer_pattern": [0, 1, 0, 1]}, "hybrid_layer_pattern"),
    (LLAMA | {"model_type": "new_thing", "attn_type_list": [0, 1, 0, 1]}, "attn_type_list"),
    (LLAMA | {"model_type": "new_thing", "index_topk": 2048}, "index_topk"),
    (LLAMA | {"model_type": "new_thing", "compress_ratios": [4, 4, 4, 4]}, "compress_ratios"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "field"), REFUSED)
def test_is_refused_by_the_field(config: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        layout(config)
    assert refusal.value.field == field
    assert field.split(".")[-1] in str(refusal.value)
    assert len(str(refusal.value).splitlines()) <= 2


@pytest.mark.parametrize(
    ("config", "field"),
    [
        (LLAMA | {"model_type": "chatglm", "num_layers": 2}, "model_type"),
        (LLAMA | {"model_type": "new_thing"}, "model_type"),
        ({key: value for key, value in LLAMA.items() if key != "model_type"}, "model_type"),
        (LLAMA | {"model_type": "openai-gpt"}, "model_type"),
    ],
)
def test_transformers_is_refused_where_it_has_no_class_or_no_cache(config: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        layout(config, "transformers")
    assert refusal.value.field == field


@pytest.mark.parametrize("config", [[], "llama", None, 3, {}])
def test_what_is_no_config_is_refused(config: Any) -> None:
    with pytest.raises(ConfigError):
        layout(config)


def test_huge_numbers_are_exact() -> None:
    heads = 10**12
    (spec, *_) = layout(LLAMA | {"num_attention_heads": heads, "num_key_value_heads": heads, "head_dim": 3}).layers
    assert sum(tensor.rows * tensor.width for tensor in spec.tensors(7)) == 7 * heads * 6


def _configs() -> list[dict[str, Any]]:
    truth = json.loads((DATA / "transformers_truth.json").read_text())
    real = [json.loads(path.read_text()) for path in sorted((DATA / "configs").glob("*.json"))]
    return [case["config"] for case in truth] + real


CONFIGS = _configs()
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 70),
    st.sampled_from([10**12, 2**63, -(10**30)]),
    st.floats(),
    st.sampled_from(["", "full_attention", "sliding_attention", "linear_attention", "float32", "auto", "M*-E"]),
)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=6),
    st.dictionaries(st.sampled_from(["0", "head_dim", "x"]), SCALARS, max_size=2),
)


@st.composite
def config_shaped(draw: st.DrawFn) -> dict[str, Any]:
    """A real config in which a few fields, at the root or nested, are gone or hold something else."""
    config = json.loads(json.dumps(draw(st.sampled_from(CONFIGS))))
    for _ in range(draw(st.integers(1, 3))):
        place = config
        nested = [key for key, value in place.items() if isinstance(value, dict) and value]
        if nested and draw(st.booleans()):
            place = place[draw(st.sampled_from(nested))]
        field = draw(st.sampled_from(sorted(place)))
        if draw(st.integers(0, 3)) == 0:
            del place[field]
        else:
            place[field] = draw(VALUES)
        if not place:
            break
    return config


def elements(layers: tuple[CacheSpec, ...], tokens: int) -> int:
    return sum(tensor.rows * tensor.width for spec in layers for tensor in spec.tensors(tokens, encoder_tokens=3))


@settings(max_examples=400, deadline=None)
@given(config_shaped(), st.sampled_from(["logical", "transformers"]), st.integers(1, 64), st.integers(0, 64))
def test_any_config_gives_a_number_or_a_refusal(config: dict[str, Any], engine: str, tokens: int, more: int) -> None:
    try:
        found = layout(config, engine)
        held, later = elements(found.layers, tokens), elements(found.layers, tokens + more)
    except ConfigError:
        return
    assert 0 < held <= later


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(CONFIGS), st.integers(1, 200), st.integers(0, 200))
def test_more_tokens_never_hold_less(config: dict[str, Any], tokens: int, more: int) -> None:
    try:
        found = layout(config)
        assert elements(found.layers, tokens) <= elements(found.layers, tokens + more)
    except ConfigError:  # Reformer past a chunk, encoders
        return


@given(st.integers(1, 60), st.integers(0, 20), st.integers(1, 300))
def test_more_layers_never_hold_less(layers: int, more: int, tokens: int) -> None:
    for config in (LLAMA, MLA | {"qk_nope_head_dim": 8, "v_head_dim": 8}, GPT_OSS):
        few, many = (layout(config | {"num_hidden_layers": n}).layers for n in (layers, layers + more))
        assert elements(few, tokens) <= elements(many, tokens)
