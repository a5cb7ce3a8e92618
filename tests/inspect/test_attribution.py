"""A logit as the sum of what every part wrote into it."""

import numpy as np
import pytest
from helpers.dump_cases import PROMPT, tiny
from helpers.odd_models import ODD, odd
from helpers.shipped_heads import copying_head

from glasscli import LoadedModel, load_model
from glasscli.inspect.attribution import attribute, through_norm
from glasscli.inspect.predictions import one_token
from glasscli.model.ops import Norm, layer_norm, rms_norm

LILY = "Once upon a time there was a little girl named Lily. One day,"


def model(kind: str) -> LoadedModel:
    return odd(kind) if kind in ODD else tiny(kind)


@pytest.mark.parametrize("kind", ["gqa", "mha", "biases", "untied", "head_dim", *ODD])
@pytest.mark.parametrize("position", [-1, 3])
def test_the_parts_sum_to_the_logit(kind: str, position: int) -> None:
    loaded = model(kind)
    a, b = one_token(loaded, "t"), one_token(loaded, "o")
    logits = loaded.model(loaded.encode(PROMPT))[position].astype(np.float64)
    if (cap := loaded.config.logit_softcap) is not None:
        logits = cap * np.arctanh(logits / cap)
    alone, both = (attribute(loaded, PROMPT, a, minus, position=position) for minus in (None, b))
    assert alone.total == pytest.approx(logits[a.id], abs=2e-4)
    assert both.total == pytest.approx(logits[a.id] - logits[b.id], abs=2e-4)
    assert alone.ok
    assert both.ok
    heads = [(part.layer, part.head) for part in both.contributions if part.kind == "head"]
    assert heads == [(layer, head) for layer in range(3) for head in range(4)]


def test_what_nobody_writes_counts_nothing() -> None:
    """With a head's output gone, its part is 0, and the rest still sums to the logit of that run."""
    loaded = tiny()
    a = one_token(loaded, "t")

    def silence(layer: int | None, place: str, x: np.ndarray) -> np.ndarray:
        if (layer, place) != (1, "mix"):
            return x
        x = x.copy()
        x[2] = 0
        return x

    found = attribute(loaded, PROMPT, a, edit=silence)
    assert [part.logit for part in found.contributions if part.label == "1.2"] == [0.0]
    assert found.ok
    assert abs(found.logit - attribute(loaded, PROMPT, a).logit) > 0.01


def test_a_sum_that_is_not_the_logit_is_not_ok() -> None:
    """The check is one: numbers put in behind the parts' backs are found."""
    loaded = tiny()
    a = one_token(loaded, "t")
    off = attribute(loaded, PROMPT, a, edit=lambda _, place, x: x + 0.01 if place == "logits" else x)
    assert not off.ok
    assert off.gap == pytest.approx(0.01, abs=1e-4)


def test_a_norm_is_linear_once_its_scale_is_frozen() -> None:
    rng = np.random.default_rng(0)
    parts, weight = rng.normal(size=(3, 8)), rng.normal(size=8)
    whole = parts.sum(axis=0)
    for norm, expected in (
        (Norm(weight), rms_norm(whole, weight, 1e-5)),
        (Norm(weight, centred=True), layer_norm(whole, weight, 1e-5)),
        (None, whole),
    ):
        found = sum(through_norm(part, whole, norm, 1e-5) for part in parts)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_two_heads_pull_in_opposite_directions() -> None:
    """On the shipped weights a copying head speaks for the name, and another against it."""
    loaded = load_model()
    found = attribute(loaded, LILY, one_token(loaded, "Lily"), one_token(loaded, "she"))
    largest = [part.label for part in found.sorted()[:2]]
    assert found.ok
    assert largest[1] == copying_head().label
    assert [part.logit > 0 for part in found.sorted()[:2]] == [False, True]
