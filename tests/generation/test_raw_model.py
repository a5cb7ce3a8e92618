"""How likely tokens are to the raw model: by hand, and equal to what a pick tells."""

import math

import numpy as np
import pytest
from helpers.scripted import logits_of

from glasscli.generation.raw_model import figures, top_alternatives
from glasscli.generation.sampling import SamplingParams, pick


def test_figures_by_hand() -> None:
    """Halves, quarters and eighths: 1/2·1 + 1/4·2 + 2·1/8·3 = 1.75 bits. Equals share a rank."""
    raw = logits_of(0.5, 0.125, 0.25, 0.125).astype(np.float64) + 300
    for token_id, p, rank in ((0, 0.5, 1), (2, 0.25, 2), (1, 0.125, 3), (3, 0.125, 3)):
        assert figures(raw, token_id) == (pytest.approx(math.log(p), abs=1e-6), rank, pytest.approx(1.75, abs=1e-6))


def test_no_doubt_is_no_entropy_and_never_less() -> None:
    logprob, rank, entropy_bits = figures(np.array([900.0, 0.0, -900.0]), 0)
    assert (logprob, rank, entropy_bits) == (0.0, 1, 0.0)


def test_alternatives_come_best_first_and_of_equals_the_lower_id() -> None:
    top = top_alternatives(logits_of(0.125, 0.25, 0.5, 0.125), 3)
    assert [i for i, _ in top] == [2, 1, 0]
    assert [p for _, p in top] == pytest.approx(np.log([0.5, 0.25, 0.125]), abs=1e-6)
    assert len(top_alternatives(logits_of(0.5, 0.5), 5)) == 2
    logits = np.random.default_rng(1).normal(size=99).astype(np.float32)
    best = pick(logits, SamplingParams(0))
    assert top_alternatives(logits, 1) == ((best.token_id, best.logprob),)  # to the last bit
