"""Every family without transformers: its stored logits, one cache for all forms, and what a row refuses by name."""

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden.make_families import N_LOGITS, N_TOKENS, POSITIONS, token_ids
from helpers.family_configs import FAMILIES, longrope
from helpers.family_models import random_model, random_tensors

from glasscli import ConfigError, Llama, ModelConfig, UsageError, cache_size
from glasscli.config.architectures import ARCHITECTURES

STORED = json.loads((Path(__file__).parents[1] / "golden" / "families.json").read_text())["logits"]


def test_every_row_has_a_model() -> None:
    assert {given["model_type"] for given in FAMILIES.values()} == set(ARCHITECTURES)
    assert set(STORED) == set(FAMILIES)


@pytest.mark.parametrize("kind", FAMILIES)
def test_logits_are_those_that_transformers_computed(kind: str) -> None:
    found = random_model(kind)(token_ids())[list(POSITIONS), :N_LOGITS]
    np.testing.assert_allclose(found, STORED[kind], rtol=0, atol=2e-4)


@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if "long" not in kind])
@pytest.mark.parametrize("size", [1, 3, 8])
def test_blocks_of_every_size_give_the_same_logits(kind: str, size: int) -> None:
    model, ids = random_model(kind), token_ids()
    kv = model.new_cache(N_TOKENS)
    parts = [model(ids[i : i + size], kv) for i in range(0, N_TOKENS, size)]
    np.testing.assert_allclose(np.concatenate(parts), model(ids), rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_cache_has_the_bytes_of_the_budget(kind: str) -> None:
    model = random_model(kind)
    for tokens in (1, 9, 300):
        budget = cache_size(FAMILIES[kind], tokens, batch=2, k_dtype="f32", v_dtype="f32")
        assert model.new_cache(tokens, batch=2).nbytes == budget.bytes_total


def test_a_text_longer_than_the_positions_is_refused() -> None:
    model = random_model("gpt2")
    with pytest.raises(UsageError, match="embeddings of 512 positions, not of 513"):
        model([1] * 513)
    kv = model.new_cache(520, batch=2)
    kv.lengths = [512, 3]
    with pytest.raises(UsageError, match="embeddings of 512 positions"):
        model.decode_batch([1, 1], kv)
    with pytest.raises(UsageError, match="can't be moved"):
        model.slide_window(model.new_cache(8), 1, 2)


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("gemma3", {"use_bidirectional_attention": True}, "use_bidirectional_attention is true; glass reads a text"),
        ("gemma3", {"hidden_activation": "relu"}, 'hidden_act is "relu"; glass computes a gemma3_text with'),
        ("gemma2", {"query_pre_attn_scalar": 0}, "query_pre_attn_scalar is 0: expected a number"),
        ("gemma2", {"attn_logit_softcapping": -1.0}, "attn_logit_softcapping is -1.0: expected a number"),
        ("granite", {"logits_scaling": 0}, "logits_scaling is 0: expected a number"),
        ("stablelm", {"qk_layernorm": "yes"}, "qk_layernorm"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is true; glass divides"),
        ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights is false; glass divides"),
        ("gpt2", {"add_cross_attention": True}, "add_cross_attention"),
        ("gpt2", {"activation_function": "relu"}, 'hidden_act is "relu"; glass computes a gpt2 with'),
        ("gpt_neox", {"hidden_act": "relu"}, 'hidden_act is "relu"'),
        ("phi3", {"rope_parameters": longrope(3, 8)}, "short_factor has 3 entries: expected 4"),
        ("phi3", {"rope_parameters": {"rope_type": "longrope", "short_factor": [1.0] * 4}}, "long_factor is missing"),
        ("qwen3", {"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5; glass rotates whole heads of a qwen3"),
        ("mistral", {"quantization_config": {"bits": 4}}, "quantization_config is set"),
        ("qwen2", {"layer_types": ["linear_attention"] * 3}, "layer_types"),
        ("smollm3", {"no_rope_layers": [1, 0]}, "no_rope_layers has 2 entries: expected 5"),
        ("smollm3", {"rope_parameters": {"rope_type": "mrope"}}, 'has type "mrope"; glass knows default'),
        ("olmo3", {"head_dim": 7}, "head_dim is 7: rotary embeddings turn pairs"),
        ("qwen3", {"per_layer_config": {"1": {"num_key_value_heads": 4}}}, "head_dim differs between layers"),
    ],
)
def test_what_a_row_does_not_say_is_refused_by_name(kind: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        ModelConfig.from_dict({**FAMILIES[kind], **change})
    assert len(str(error.value).splitlines()) <= 2


def test_old_spellings_of_a_family_mean_the_same() -> None:
    gemma = FAMILIES["gemma3"]
    old = {name: value for name, value in gemma.items() if name != "rope_parameters"}
    old |= {"rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "rope_scaling": {"type": "linear", "factor": 8.0}}
    assert ModelConfig.from_dict(old) == ModelConfig.from_dict(gemma)
    neox = {**FAMILIES["gpt_neox"], "rotary_pct": 0.5, "rotary_emb_base": 5000}
    new = {**FAMILIES["gpt_neox"], "rope_parameters": {"rope_theta": 5000, "partial_rotary_factor": 0.5}}
    assert ModelConfig.from_dict(neox) == ModelConfig.from_dict(new)
    early = {**FAMILIES["gemma"], "hidden_act": "gelu", "hidden_activation": None}
    assert ModelConfig.from_dict(early) == ModelConfig.from_dict(FAMILIES["gemma"])


@pytest.mark.parametrize("huge", [10**20, 10**400])
@pytest.mark.parametrize("kind", ["llama-yarn", "phi3-longrope", "llama-dynamic", "qwen3"])
@pytest.mark.parametrize("name", ["max_position_embeddings", "original_max_position_embeddings", "head_dim"])
def test_huge_numbers_end_in_no_traceback(kind: str, name: str, huge: int) -> None:
    given = {**FAMILIES[kind], name: huge}
    with contextlib.suppress(ConfigError):
        ModelConfig.from_dict(given)
    inside = {**given.get("rope_parameters", {}), name: huge}
    with contextlib.suppress(ConfigError):
        ModelConfig.from_dict({**FAMILIES[kind], "rope_parameters": inside})


def test_yarn_needs_a_base_above_one() -> None:
    rope = FAMILIES["llama-yarn"]["rope_parameters"] | {"rope_theta": 1.0}
    with pytest.raises(ConfigError, match=r"rope_theta is 1\.0: yarn needs a base above 1"):
        ModelConfig.from_dict(FAMILIES["llama-yarn"] | {"rope_parameters": rope})


def test_softcaps_that_are_null_are_off() -> None:
    config = ModelConfig.from_dict(
        FAMILIES["gemma2"] | {"attn_logit_softcapping": None, "final_logit_softcapping": None}
    )
    assert (config.attention_softcap, config.logit_softcap) == (None, None)
    usual = {k: v for k, v in FAMILIES["gemma2"].items() if not k.endswith("softcapping")}
    assert ModelConfig.from_dict(usual).attention_softcap == 50


@pytest.mark.parametrize("kind", ["phi3-longrope", "phi3"])
def test_a_llama_that_rotates_a_part_of_its_heads_is_a_phi3_with_its_tensors_apart(kind: str) -> None:
    given = {**FAMILIES[kind], "sliding_window": None, "rms_norm_eps": 1e-5}
    if kind == "phi3":
        given |= {"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}}
    fused, apart = random_tensors(given), {}
    config = ModelConfig.from_dict(given)
    kv = config.n_kv_heads * config.head_dim
    for name, array in fused.items():
        if "qkv_proj" in name:
            parts = np.split(array, [config.dim, config.dim + kv])
            apart |= {name.replace("qkv", which): part for which, part in zip("qkv", parts, strict=True)}
        elif "gate_up_proj" in name:
            parts = np.split(array, 2)
            apart |= {name.replace("gate_up", which): part for which, part in zip(("gate", "up"), parts, strict=True)}
        else:
            apart[name] = array
    llama = Llama(ModelConfig.from_dict({**given, "model_type": "llama"}), apart)
    phi3 = Llama(config, fused)
    assert llama.config.rotary_dim < llama.config.head_dim
    np.testing.assert_array_equal(llama(token_ids()), phi3(token_ids()))
