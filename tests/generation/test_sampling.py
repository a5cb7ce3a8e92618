"""The sampler: settings and their edges, hand-computed cases, the draw, and what a pick tells."""

import math
import random
import warnings

import numpy as np
import pytest
from helpers.scripted import logits_of
from hypothesis import given
from hypothesis import strategies as st

from glasscli.errors import GlassError, UsageError
from glasscli.generation.sampling import SamplingParams, draw, pick

EVERYTHING = SamplingParams(temperature=1, top_p=1)


# Settings out of range.


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *[("temperature", bad) for bad in (math.nan, math.inf, -math.inf, -1.0, -1e-9)],
        *[("top_k", bad) for bad in (-1, -100)],
        *[("top_p", bad) for bad in (math.nan, math.inf, -0.1, 1.0001)],
        *[("min_p", bad) for bad in (math.nan, math.inf, -0.1, 1.0001)],
        *[("repetition_penalty", bad) for bad in (math.nan, math.inf, 0.0, -1.0)],
        *[("frequency_penalty", bad) for bad in (math.nan, math.inf, -math.inf)],
        *[("presence_penalty", bad) for bad in (math.nan, math.inf, -math.inf)],
    ],
)
def test_settings_out_of_range_are_refused_by_name_and_value(setting: str, value: float) -> None:
    with pytest.raises(UsageError) as error:
        SamplingParams(**{setting: value})  # type: ignore[arg-type]
    assert setting.replace("_", " " if setting.endswith("penalty") else "-") in str(error.value)
    assert str(value) in str(error.value)


def test_settings_can_be_keys() -> None:
    biased = SamplingParams(logit_bias={3: 1.0})
    assert {biased: 1}[SamplingParams(logit_bias={3: 1.0})] == 1
    assert biased != SamplingParams()


# Greedy.


@pytest.mark.parametrize("temperature", [0.0, 5e-324, 1e-320, 1e-40, 1e-7])
def test_no_temperature_takes_the_best_and_of_equals_the_lowest_id(temperature: float) -> None:
    logits = np.array([1.0, 7.0, -3.0, 7.0], dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = pick(logits, SamplingParams(temperature, top_p=0.3), u=0.99)
    assert (chosen.token_id, chosen.p_sampled, chosen.n_kept, chosen.rank) == (1, 1.0, 1, 1)


def test_a_small_temperature_overflows_nothing() -> None:
    logits = np.array([300.0, -300.0, 299.9], dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pick(logits, SamplingParams(2e-6), u=0.999).token_id == 0


# The draw.


@pytest.mark.parametrize(
    ("u", "token_id"),
    [(0.0, 1), (0.2499, 1), (0.25, 3), (0.7499, 3), (0.75, 4), (1 - 2**-53, 4)],
)
def test_a_draw_inverts_the_running_sum_and_skips_dropped_tokens(u: float, token_id: int) -> None:
    weights = np.array([0.0, 1.0, 0.0, 2.0, 1.0, 0.0])
    assert draw(weights, u) == (token_id, weights[token_id] / 4, 3)


def test_draws_follow_the_probabilities() -> None:
    probabilities = np.array([0.5, 0.25, 0.125, 0.125])
    rng = random.Random(7)
    logits = logits_of(*probabilities)
    counts = np.bincount([pick(logits, EVERYTHING, u=rng.random()).token_id for _ in range(4000)], minlength=4)
    # Pearson's chi-squared, 3 degrees of freedom: 16.3 is passed once in a thousand.
    assert ((counts - 4000 * probabilities) ** 2 / (4000 * probabilities)).sum() < 16.3


@given(st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=60), st.floats(0, 1, exclude_max=True), st.data())
def test_whatever_the_settings_the_pick_is_a_kept_token(values: list[float], u: float, data: st.DataObject) -> None:
    params = SamplingParams(
        temperature=data.draw(st.floats(0, 1e308)),
        top_k=data.draw(st.integers(0, 70)),
        top_p=data.draw(st.floats(0, 1)),
        min_p=data.draw(st.floats(0, 1)),
        repetition_penalty=data.draw(st.floats(1e-320, 1e308)),
    )
    logits = np.array(values, dtype=np.float32)
    chosen = pick(logits, params, seen_ids=[0], u=u)
    assert 0 <= chosen.token_id < len(values)
    assert 0 < chosen.p_sampled <= 1
    assert 1 <= chosen.n_kept <= len(values)
    assert 1 <= chosen.rank <= len(values)
    assert chosen.logprob <= 1e-12
    assert -1e-12 <= chosen.entropy_bits <= math.log2(len(values)) + 1e-9


# What a pick tells.


def test_logprob_rank_and_entropy_are_the_raw_models() -> None:
    logits = logits_of(0.5, 0.125, 0.25, 0.125) + np.float32(3)
    params = SamplingParams(0.5, top_k=2, repetition_penalty=2.0)
    chosen = pick(logits, params, seen_ids=[0], u=0.9999)
    assert (chosen.token_id, chosen.rank, chosen.n_kept) == (2, 2, 2)
    assert chosen.logprob == pytest.approx(math.log(0.25), abs=1e-6)
    assert chosen.entropy_bits == pytest.approx(1.75, abs=1e-6)
    assert pick(logits, EVERYTHING, u=0.99).rank == 3  # of four, with an equal


def test_p_sampled_is_the_share_after_all_stages() -> None:
    chosen = pick(logits_of(0.5, 0.3, 0.2), SamplingParams(1, top_k=2, top_p=1), u=0.99)
    assert (chosen.token_id, chosen.p_sampled) == (1, pytest.approx(0.375, abs=1e-6))


def test_banned_tokens_are_never_chosen() -> None:
    logits = logits_of(0.1, 0.8, 0.1)
    assert pick(logits, SamplingParams(0.0), banned_ids=[1, 7]).token_id == 0
    assert {pick(logits, EVERYTHING, u=u / 10, banned_ids=[1]).token_id for u in range(10)} == {0, 2}
    with pytest.raises(GlassError, match="none is left"):
        pick(logits, SamplingParams(0.0), banned_ids=[0, 1, 2])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_not_numbers_give_an_error_and_no_token(bad: float, temperature: float) -> None:
    with pytest.raises(GlassError, match="1 of 3 logits are not finite"):
        pick(np.array([0, bad, 1], dtype=np.float32), SamplingParams(temperature))
