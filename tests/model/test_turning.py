"""How far each layer of a family turns, beside the formula written out in float64."""

import numpy as np
import pytest
from helpers.family_configs import FAMILIES
from helpers.family_models import family

from glasscli.model.rope import rotate
from glasscli.model.turning import Turning

POSITIONS = np.array([0, 1, 7, 19])


@pytest.mark.parametrize("kind", FAMILIES)
def test_layers_turn_by_their_own_base_and_not_where_they_carry_no_positions(kind: str) -> None:
    config = family(kind).config
    turns = Turning(config).by_layer(POSITIONS, 20)
    assert len(turns) == config.n_layers
    for rope, found in zip(config.ropes, turns, strict=True):
        assert (found is None) == (rope is None)
        if rope is None or found is None:
            continue
        assert np.abs(np.abs(found) - rope.attention_factor).max() < 1e-6
        if rope.kind == "default":
            width = rope.rotary_dim(config.head_dim)
            frequency = rope.theta ** -(np.arange(0, width, 2) / width)
            np.testing.assert_allclose(found, np.exp(1j * POSITIONS[:, None] * frequency), atol=2e-6)


@pytest.mark.parametrize("kind", ["mistral", "gemma3", "smollm3", "phi3"])
def test_back_undoes_what_forward_does(kind: str) -> None:
    config = family(kind).config
    turning = Turning(config)
    rows = np.random.default_rng(0).standard_normal((2, 5, config.head_dim)).astype(np.float32)
    ahead = turning.forward(rows, np.full(5, 3))
    for rope, back in zip(config.ropes, turning.back(3, 8), strict=True):
        assert (back is None) == (rope is None)
        if back is not None and rope == config.rope:
            np.testing.assert_allclose(back(ahead), rows, atol=1e-5)


def test_only_layers_that_turn_alike_are_called_so() -> None:
    assert Turning(family("mistral").config).alike
    assert not Turning(family("gemma3").config).alike  # two bases
    assert not Turning(family("smollm3").config).alike  # some layers do not turn
    assert not Turning(family("llama-dynamic").config).alike  # angles that a longer text changes


def test_a_span_is_the_rotations_of_its_positions() -> None:
    config = family("mistral").config
    turning = Turning(config)
    whole = turning.by_layer(np.arange(9), 9)[0]
    assert whole is not None
    np.testing.assert_array_equal(turning.span(3, 9), whole[3:])
    heads = np.ones((1, 6, config.head_dim), np.float32)
    assert rotate(heads, turning.span(3, 9)).shape == heads.shape
