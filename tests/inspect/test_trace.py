"""Traces: each named place of a run is what its formula says, and what an edit gives back is what goes on."""

import numpy as np
import pytest
from helpers.random_llama import settings, tensors, token_ids

from glasscli import Llama, ModelConfig, Trace, UsageError
from glasscli.arrays import Array
from glasscli.model.places import LAYER_PLACES, MODEL_PLACES, untouched

CONFIG = settings()
WEIGHTS = tensors(CONFIG)
IDS = token_ids(CONFIG, 9)


def model() -> Llama:
    return Llama(ModelConfig.from_dict(CONFIG), WEIGHTS)


def normed(x: Array, name: str) -> Array:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * WEIGHTS[name]


def test_the_mlp_and_the_residual_stream_by_their_formulas() -> None:
    trace = Trace(range(3), places=MODEL_PLACES)
    logits = model()(IDS, trace=trace)
    np.testing.assert_array_equal(trace.kept[None, "embedding"], WEIGHTS["model.embed_tokens.weight"][IDS])
    np.testing.assert_array_equal(trace.layers[0].x_TD, trace.kept[None, "embedding"])
    for i in range(3):
        layer, block = trace.layers[i], f"model.layers.{i}"
        np.testing.assert_allclose(layer.resid_mid_TD, layer.x_TD + layer.out_TD, rtol=0, atol=1e-5)
        x = normed(layer.resid_mid_TD, f"{block}.post_attention_layernorm.weight")
        gate, up = x @ WEIGHTS[f"{block}.mlp.gate_proj.weight"].T, x @ WEIGHTS[f"{block}.mlp.up_proj.weight"].T
        hidden = gate / (1 + np.exp(-gate)) * up
        down = hidden @ WEIGHTS[f"{block}.mlp.down_proj.weight"].T
        found = (layer.ffn_norm_TD, layer.gate_TF, layer.up_TF, layer.hidden_TF, layer.down_TD)
        for ours, expected in zip(found, (x, gate, up, hidden, down), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-4)
        np.testing.assert_allclose(layer.resid_post_TD, layer.resid_mid_TD + layer.down_TD, rtol=0, atol=1e-5)
        if i:
            np.testing.assert_array_equal(layer.x_TD, trace.layers[i - 1].resid_post_TD)
    final = normed(trace.layers[2].resid_post_TD, "model.norm.weight")
    np.testing.assert_allclose(trace.kept[None, "final_norm"], final, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(trace.kept[None, "logits"], logits)


def test_further_places_are_kept_of_every_layer() -> None:
    trace = Trace(places=["resid_post", "q"])
    model()(IDS, trace=trace)
    assert sorted(trace.kept) == sorted((layer, place) for layer in range(3) for place in ("resid_post", "q"))
    assert trace.kept[1, "q"].shape == (4, 9, 8)
    assert not trace.layers
    whole = Trace([1])
    model()(IDS, trace=whole)
    np.testing.assert_array_equal(trace.kept[1, "q"], whole.layers[1].q_HTE)


def test_an_edit_of_a_head_is_its_rows_of_the_output_matrix_taken_away() -> None:
    """Head 2 of layer 1 set to zero where the heads' results lie side by side, against W_O without its columns."""

    def zero(layer: int | None, place: str, array: Array) -> Array:
        if (layer, place) != (1, "mix"):
            return array
        changed = array.copy()
        changed[2] = 0
        return changed

    edited = model()(IDS, trace=Trace(edit=zero))
    without = {name: tensor.copy() for name, tensor in WEIGHTS.items()}
    without["model.layers.1.self_attn.o_proj.weight"][:, 16:24] = 0
    expected = Llama(ModelConfig.from_dict(CONFIG), without)(IDS)
    np.testing.assert_allclose(edited, expected, rtol=0, atol=1e-4)
    assert np.abs(expected - model()(IDS)).max() > 0.1


@pytest.mark.parametrize("place", [*LAYER_PLACES, *MODEL_PLACES])
def test_what_an_edit_gives_back_is_what_goes_on(place: str) -> None:
    """A number changed at any place changes the logits; one given back as it was changes nothing."""
    missing = {"q_norm", "k_norm", "softcap", "attn_post_norm", "ffn_post_norm", "mask"}

    def edit(layer: int | None, name: str, array: Array, by: float) -> Array:
        return array * np.float32(1 + by) if name == place and layer in (None, 1) else array

    plain = model()(IDS, trace=Trace([1]))
    same = model()(IDS, trace=Trace([1], edit=lambda *at: edit(*at, 0.0)))
    changed = model()(IDS, trace=Trace([1], edit=lambda *at: edit(*at, 0.5)))
    np.testing.assert_allclose(same, plain, rtol=0, atol=1e-5)
    assert (np.abs(changed - plain).max() < 1e-5) == (place in missing)


def test_an_edit_never_changes_what_was_kept_before_it_or_the_weights() -> None:
    before = model()(IDS)
    kept = Trace([0, 1, 2], edit=lambda layer, place, array: array * 0 if place == "scores" else array)
    one = model()
    one(IDS, trace=kept)
    np.testing.assert_array_equal(one(IDS), before)
    uniform = 1 / np.arange(1, 10)[:, None] * np.tri(9)
    np.testing.assert_allclose(kept.layers[2].pattern_HTS[0], uniform, atol=1e-6)


def test_places_that_do_not_exist_are_refused_and_nothing_is_paid_without_a_trace() -> None:
    with pytest.raises(UsageError, match=r"there is no place 'resid' in a run\. Places: embedding, "):
        Trace(places=["resid"])
    array = np.zeros(3)
    assert untouched("anything", array) is array
