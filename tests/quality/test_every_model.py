"""Trials on models of every family, and beside a decoder that goes token by token."""

from pathlib import Path

import numpy as np
import pytest
from helpers.family_configs import FAMILIES
from helpers.family_models import family
from helpers.model_folders import write_folder
from helpers.random_llama import settings, tensors

from glasscli import load_model
from glasscli.cache.choice_text import parse_choice
from glasscli.checkpoint.load import LoadedModel
from glasscli.quality.by import By
from glasscli.quality.divergence import Chunk, compare
from glasscli.quality.parts import parts_of
from glasscli.quality.texts import documents_of, held_out_text
from glasscli.quality.trial import Trial
from glasscli.quality.usual import usual_choices


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_usual_caches_of_every_family_can_be_tried(kind: str) -> None:
    loaded = family(kind)
    ids = np.random.default_rng(5).integers(3, min(90, loaded.config.vocab_size), 40).tolist()
    trial = Trial(loaded, [ids], 32)
    choices = usual_choices(loaded.config, 32)
    assert len(choices) >= 2
    for choice in choices:
        trial.check(choice)
        result = trial.run(choice)
        assert 0 <= result.divergence.kld < 50, choice.text
        assert result.chunk_bytes > 0
    result = trial.run(parse_choice("f16"))
    layers = list(parts_of(trial, result, By.layer))
    assert len(layers) == loaded.config.n_layers
    assert max(part.kld for part in layers) > 0


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return load_model()


@pytest.fixture(scope="module")
def trial(loaded: LoadedModel) -> Trial:
    return Trial(loaded, documents_of(loaded, held_out_text()), 96, 2)


@pytest.mark.parametrize(
    "spec",
    ["window=24", "sinks=4+window=20", "sinks=4+window=20,renumber", "h2o=24", "tova=24", "f16,sinks=4+window=20"],
)
def test_a_trial_is_what_a_decoder_sees_token_by_token(trial: Trial, loaded: LoadedModel, spec: str) -> None:
    choice, half, chunks = parse_choice(spec), 48, []
    for ids in trial.chunks:
        full, cut = loaded.model.new_cache(96), loaded.model.chosen_cache(choice, 96)
        rows = [[loaded.model([token_id], cache)[0] for token_id in ids] for cache in (full, cut)]
        chunks.append(Chunk(*(np.array(row)[half - 1 : -1] for row in rows), ids[half:]))
    expected, found = compare(chunks), trial.run(choice).divergence
    assert found.kld == pytest.approx(expected.kld, rel=1e-3, abs=1e-7)
    assert found.delta_nats == pytest.approx(expected.delta_nats, abs=1e-4)
    assert found.same_top == expected.same_top
    assert found.n_tokens == 96


def test_what_is_rotated_costs_less_where_some_channels_are_loud(tmp_path: Path) -> None:
    """Heads of 64, as llama.cpp rotates, with channels of keys that spoil the blocks they stand in."""
    config = settings(head_dim=64, vocab_size=320, num_hidden_layers=2)
    weights = tensors(config)
    for layer in range(2):
        weights[f"model.layers.{layer}.self_attn.k_proj.weight"][::16] *= 12
    loaded = load_model(write_folder(tmp_path / "loud", config, weights))
    ids = np.random.default_rng(6).integers(1, 300, 260).tolist()
    trial = Trial(loaded, [ids], 64)
    rotated, plain = (trial.run(parse_choice(spec)).divergence.kld for spec in ("k=q4_0", "k=q4_0,norot"))
    assert 0 < 2 * rotated < plain
