"""Dumps of every family: the steps it has, formulas that are true of its layers, and checks that hold."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.family_configs import FAMILIES
from helpers.family_models import family

from glasscli.inspect.attribution import attribute
from glasscli.inspect.checks import check_layer
from glasscli.inspect.dump import dump_attention, dump_decode, take_rows, token_of
from glasscli.inspect.steps import explain, source_line, step_array, steps_of
from glasscli.model.attention import attend

PROMPT = "one two one two one two, then three"  # a token a letter, longer than the windows


def equations(kind: str, layer: int) -> dict[str, str]:
    config = family(kind).config
    return {name: step.equation(config) for name, step in steps_of(config, layer).items()}


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("mode", ["prefill", "decode", "rows"])
def test_every_check_holds(kind: str, mode: str) -> None:
    loaded = family(kind)
    layers = range(loaded.config.n_layers)
    if mode == "decode":
        dump = dump_decode(loaded, PROMPT, layers, [70, 71, 72])
    else:
        dump = dump_attention(loaded, PROMPT, layers, rows=(20, 30) if mode == "rows" else None)
    for trace in dump.layers:
        checks = check_layer(trace, dump.config)
        assert {name: check.text for name, check in checks.items() if not check.ok} == {}
        steps = steps_of(dump.config, trace.layer)
        assert set(checks) <= set(steps)
        for name, step in steps.items():
            assert step_array(trace, name).ndim == len(step.axes)
            assert "{" not in step.equation(dump.config) + explain(step, dump.config)
            assert step.source[1] in source_line(step)[2]
        mixed, _ = attend(
            trace.rope_q_HTE, trace.cache_k_KSE, trace.cache_v_KSE, trace.mask_TS, dump.config.score_scale,
            softcap=dump.config.attention_softcap,
        )  # fmt: skip
        np.testing.assert_allclose(mixed, trace.mix_HTE, atol=1e-4)


@pytest.mark.parametrize("kind", FAMILIES)
def test_decode_steps_are_the_rows_of_the_prefill(kind: str) -> None:
    loaded, new = family(kind), [70, 71, 72]
    steps = dump_decode(loaded, PROMPT, [1], new)
    if any(rope is not None and rope.grows for rope in loaded.config.ropes):
        pytest.skip("its angles depend on how much is read at once")
    whole = dump_attention(loaded, steps.token_ids, [1])
    rows = take_rows(whole, steps.start, len(steps.tokens))
    for name in steps_of(loaded.config, 1):
        ours, theirs = (step_array(dump.layers[0], name) for dump in (steps, rows))
        if name in ("scores", "softcap"):
            ours, theirs = (np.where(steps.layers[0].mask_TS, x, 0) for x in (ours, theirs))
        if name == "cache":  # a step sees what its window holds
            ours, theirs = (x[:, :, rows.layers[0].mask_TS.any(axis=0)] for x in (ours, theirs))
        np.testing.assert_allclose(ours, theirs, atol=1e-4, err_msg=name)


@pytest.mark.parametrize(
    ("kind", "step", "broken"),
    [
        ("qwen3", "q_norm", lambda t: {"q_norm_HTE": t.q_norm_HTE * np.linspace(1, 2, t.q_norm_HTE.shape[1])[:, None]}),
        ("olmo2", "k_norm", lambda t: {"k_norm_KTE": t.k_norm_KTE * np.linspace(1, 2, t.k_norm_KTE.shape[1])[:, None]}),
        ("gemma2", "softcap", lambda t: {"softcap_HTS": t.softcap_HTS * np.float32(1.1)}),
        ("gemma2", "softmax", lambda t: {"softcap_HTS": t.scores_HTS}),
        ("mistral", "mask", lambda t: {"mask_TS": np.tri(*t.mask_TS.shape, dtype=bool)}),
        ("mistral", "mask", lambda t: {"mask_TS": np.eye(*t.mask_TS.shape, dtype=bool)}),
        ("stablelm", "rope_q", lambda t: {"rope_q_HTE": t.rope_q_HTE + 0.01}),
        ("phi3-longrope", "rope_k", lambda t: {"rope_k_KTE": t.rope_k_KTE * 1.01}),
        ("granite", "scores", lambda t: {"scores_HTS": t.scores_HTS * 2}),
    ],
)
def test_a_check_notices(kind: str, step: str, broken: Any) -> None:
    dump = dump_attention(family(kind), PROMPT, [0])
    check = check_layer(replace(dump.layers[0], **broken(dump.layers[0])), dump.config)[step]
    assert not check.ok, check.text


def test_formulas_say_what_a_layer_does() -> None:
    local, everything = equations("gemma3", 0), equations("gemma3", 5)
    assert local["mask"] == "−∞ where key > query or key ≤ query − 9"
    assert everything["mask"] == "−∞ where key > query"
    assert local["rope_q"] == "turn q_norm by its position, base 10,000"
    assert everything["rope_k"] == "turn k_norm by its position, base 1e+06"
    assert local["cache"] == "append rope_k and v, keep 9"
    assert local["scores"] == "rope_q·rope_kᵀ · 0.2041"
    assert equations("gemma2", 0)["softcap"] == "2·tanh(scores / 2)"
    assert equations("qwen3", 0)["q_norm"] == "RMSNorm(q)·w"
    assert equations("olmo2", 0)["q_norm"] == "RMSNorm(q of all heads)·w"
    assert equations("olmo2", 0)["q"] == "x·W_Q"
    assert equations("olmo2-gqa-bias", 0)["out"] == "concat(mix) · W_O + b_O"
    assert equations("qwen2", 0)["q"] == "RMSNorm(x)·W_Q + b_Q"
    assert equations("qwen2", 0)["out"] == "concat(mix) · W_O"
    assert equations("gpt_neox", 0)["q"] == "LayerNorm(x)·W_Q + b_Q"
    assert equations("stablelm", 0)["rope_q"] == "turn q[:4] by its position"
    assert equations("smollm3", 3)["rope_q"] == "q, not turned"
    assert equations("smollm3", 2)["rope_q"] == "turn q by its position"
    assert equations("llama-yarn", 0)["rope_k"] == "turn k by its position, × 1.139"
    gpt2 = equations("gpt2", 0)
    assert gpt2["scores"] == "q·kᵀ / √9"
    assert gpt2["cache"] == "append k and v"
    assert not {"rope_q", "rope_k", "q_norm", "softcap"} & set(gpt2)


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_logit_is_the_sum_of_what_heads_and_mlps_write(kind: str) -> None:
    loaded = family(kind)
    found = attribute(loaded, PROMPT, token_of(loaded.tokenizer, 70), token_of(loaded.tokenizer, 90))
    assert found.ok, found.gap
    assert len(found.contributions) > loaded.config.n_layers * loaded.config.n_heads
