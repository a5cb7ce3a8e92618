"""The same measures as TransformerLens, whose own numbers are stored beside how they were made."""

import json
from pathlib import Path

import numpy as np
import pytest

from glasscli import LoadedModel, load_model
from glasscli.inspect.ablation import ablate_prompt
from glasscli.inspect.attribution import attribute
from glasscli.inspect.dump import token_of
from glasscli.inspect.lens import read_lens
from glasscli.inspect.patching import Patching, patch_parts, patch_stream

THEIRS = json.loads((Path(__file__).parent / "transformer_lens.json").read_text())
CLOSE = 1e-4  # theirs are float64, ours float32


@pytest.fixture(scope="module")
def shipped() -> LoadedModel:
    loaded = load_model()
    assert loaded.encode(THEIRS["prompt"]) == THEIRS["token_ids"]
    assert loaded.encode(THEIRS["other"]) == THEIRS["other_ids"]
    return loaded


def test_the_lens(shipped: LoadedModel) -> None:
    """Their places are the streams before each half block: ours after the one before it."""
    for at, token_id in enumerate((THEIRS["a"], THEIRS["b"])):
        (lens,) = read_lens(shipped, THEIRS["prompt"], token=token_of(shipped.tokenizer, token_id), n_top=3)
        assert len(lens.rows) == len(THEIRS["lens"]["places"])
        found = [row.watched.logprob for row in lens.rows if row.watched]
        np.testing.assert_allclose(found, np.array(THEIRS["lens"]["logprobs_of_a_b"])[:, at], atol=CLOSE)
        assert [[guess.token.id for guess in row.top] for row in lens.rows] == THEIRS["lens_top"]


def test_direct_logit_attribution(shipped: LoadedModel) -> None:
    a, b = (token_of(shipped.tokenizer, THEIRS[name]) for name in "ab")
    ours = attribute(shipped, THEIRS["prompt"], a, b)
    theirs = THEIRS["attribution"]
    found = {part.label: part.logit for part in ours.contributions}
    expected = {**theirs["heads"], "embedding": theirs["parts"]["embed"]}
    expected |= {f"mlp {layer}": theirs["parts"][f"{layer}_mlp_out"] for layer in range(4)}
    assert found.keys() == expected.keys()
    for label, value in expected.items():
        assert found[label] == pytest.approx(value, abs=CLOSE), label
    assert ours.logit == pytest.approx(theirs["logit difference"], abs=CLOSE)


def test_every_part_removed(shipped: LoadedModel) -> None:
    """Their hooks write zeros into hook_z and hook_mlp_out."""
    for at, name in enumerate("ab"):
        token = token_of(shipped.tokenizer, THEIRS[name])
        found = ablate_prompt(shipped, THEIRS["prompt"], token=token).effects
        assert {effect.part.label for effect in found} == THEIRS["removed"].keys()
        for effect in found:
            assert effect.watched.logprob == pytest.approx(THEIRS["removed"][effect.part.label][at], abs=CLOSE)


def test_every_part_patched(shipped: LoadedModel) -> None:
    """Their hooks write one run's hook_z or hook_resid_post into the other."""
    for at, name in enumerate("ab"):
        token = token_of(shipped.tokenizer, THEIRS[name])
        prompts = THEIRS["prompt"], THEIRS["other"]
        found = patches(patch_parts(shipped, *prompts, token=token))
        found |= patches(patch_stream(shipped, *prompts, token=token, positions=[10]))
        assert found.keys() >= THEIRS["patched"].keys()
        for label, expected in THEIRS["patched"].items():
            assert found[label] == pytest.approx(expected[at], abs=CLOSE), label


def patches(patching: Patching) -> dict[str, float]:
    return {patch.label: patch.watched.logprob for patch in patching.patches}
