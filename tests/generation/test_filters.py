"""What each stage of the sampler keeps: by hand, and as Hugging Face's own processors."""

import warnings
from itertools import accumulate

import numpy as np
import pytest
from helpers.scripted import logits_of

from glasscli.arrays import Array
from glasscli.errors import GlassError
from glasscli.generation.filters import bias, keep_min_p, keep_top_k, keep_top_p, penalize, penalize_counts
from glasscli.generation.sampling import SamplingParams, kept_by_stage, kept_weights, pick

EVERYTHING = SamplingParams(temperature=1, top_p=1)


def kept(weights: Array) -> list[int]:
    return np.flatnonzero(weights).tolist()


def test_the_penalty_looks_at_the_sign_and_counts_a_token_once() -> None:
    scores = np.array([2.0, -2.0, 0.0, 4.0])
    np.testing.assert_array_equal(penalize(scores, [0, 1, 0, 1, 1, 2], 2.0), [1.0, -4.0, 0.0, 4.0])
    np.testing.assert_array_equal(penalize(scores, [0, 1], 0.5), [4.0, -1.0, 0.0, 4.0])
    np.testing.assert_array_equal(scores, [2.0, -2.0, 0.0, 4.0])


@pytest.mark.parametrize(
    ("frequency", "presence", "expected"),
    [  # token 0 written three times, token 2 once: mu - count * frequency - (count > 0) * presence
        (0.5, 0.0, [0.5, -2.0, -0.5, 4.0]),
        (0.0, 0.75, [1.25, -2.0, -0.75, 4.0]),
        (0.5, 0.75, [-0.25, -2.0, -1.25, 4.0]),
        (-1.0, 0.25, [4.75, -2.0, 0.75, 4.0]),
        (0.0, 0.0, [2.0, -2.0, 0.0, 4.0]),
    ],
)
def test_penalties_by_count_are_openais(frequency: float, presence: float, expected: list[float]) -> None:
    scores = np.array([2.0, -2.0, 0.0, 4.0])
    np.testing.assert_allclose(penalize_counts(scores, [0, 2, 0, 0], frequency, presence), expected, rtol=1e-15)
    np.testing.assert_array_equal(scores, [2.0, -2.0, 0.0, 4.0])
    np.testing.assert_array_equal(penalize_counts(scores, [], frequency, presence), scores)


def test_biases_are_added_and_ids_past_the_end_left_out() -> None:
    scores = np.array([2.0, -2.0, 0.0])
    np.testing.assert_array_equal(bias(scores, {0: -1.5, 2: 3.0, 7: 1.0}), [0.5, -2.0, 3.0])
    assert bias(scores, {}) is scores


def test_biases_come_first_then_the_repetition_penalty_then_the_counts() -> None:
    """Token 0: (-1 + 3) / 2 - 2 * 0.25 - 0.125 = 0.375; token 1, of the prompt alone: 4 / 2; token 2 as it is."""
    params = SamplingParams(
        1, top_p=1, repetition_penalty=2, frequency_penalty=0.25, presence_penalty=0.125, logit_bias={0: 3.0}
    )
    weights = kept_weights(np.array([-1.0, 4.0, 1.0]), params, seen_ids=[1, 0, 0], written_ids=[0, 0])
    np.testing.assert_allclose(np.log(weights), [0.375 - 2, 0, 1 - 2], rtol=1e-12)


@pytest.mark.parametrize("temperature", [0.0, 1.0, 1e308])
def test_a_bias_of_minus_infinity_forbids_a_token(temperature: float) -> None:
    logits = logits_of(0.9, 0.06, 0.04)
    params = SamplingParams(temperature, top_p=1, repetition_penalty=1.5, logit_bias={0: -np.inf, 2: -np.inf})
    chosen = pick(logits, params, seen_ids=[0], u=0.0, written_ids=[0])
    assert (chosen.token_id, chosen.p_sampled, chosen.rank) == (1, 1.0, 2)
    with pytest.raises(GlassError, match="all 3 tokens are banned"):
        pick(logits, SamplingParams(temperature, logit_bias={0: -np.inf, 1: -np.inf, 2: -np.inf}))


@pytest.mark.parametrize("huge", [1e300, 1.7e308, -1.7e308])
def test_wild_biases_and_counts_overflow_nothing(huge: float) -> None:
    logits = np.array([30.0, -30.0, 20.0], dtype=np.float32)
    params = SamplingParams(1.0, frequency_penalty=huge, presence_penalty=huge, logit_bias={0: huge, 1: -huge})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = pick(logits, params, u=0.5, written_ids=[0, 0, 1])
    assert 0 < chosen.p_sampled <= 1


@pytest.mark.parametrize("penalty", [5e-324, 1e-300, 1e300, 1.7e308])
@pytest.mark.parametrize("temperature", [0.0, 2e-6, 1.0, 1e308])
def test_a_wild_penalty_overflows_nothing(penalty: float, temperature: float) -> None:
    logits = np.array([30.0, -30.0, 20.0, -1.0], dtype=np.float32)
    params = SamplingParams(temperature, repetition_penalty=penalty)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = pick(logits, params, seen_ids=[0, 1, 2, 3], u=0.5)
        assert pick(logits, params, seen_ids=[0, 1], u=0.0).token_id == (0 if penalty < 1 or temperature > 1e300 else 2)
    assert 0 < chosen.p_sampled <= 1


def test_the_penalty_comes_before_the_temperature_and_acts_when_greedy() -> None:
    logits = np.array([2.0, 1.9, -1.0], dtype=np.float32)
    assert pick(logits, SamplingParams(0.0), seen_ids=[0]).token_id == 0
    assert pick(logits, SamplingParams(0.0, repetition_penalty=1.2), seen_ids=[0]).token_id == 1
    weights = kept_weights(logits.astype(float), SamplingParams(0.5, top_p=1, repetition_penalty=2.0), seen_ids=[0])
    np.testing.assert_allclose(weights, np.exp(np.array([1.0, 1.9, -1.0]) / 0.5 - 1.9 / 0.5), rtol=1e-6)


@pytest.mark.parametrize(
    ("k", "expected"),
    [(1, [1]), (2, [1, 2, 3]), (3, [1, 2, 3]), (4, [0, 1, 2, 3])],
)
def test_top_k_keeps_ties_with_the_last(k: int, expected: list[int]) -> None:
    weights = np.array([0.1, 0.5, 0.2, 0.2])
    keep_top_k(weights, k)
    assert kept(weights) == expected


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (0.0, [1]),
        (1e-12, [1]),
        (0.4, [1]),
        (0.5, [1]),  # reached exactly: no extra token
        (0.500001, [1, 3]),
        (0.8, [1, 3]),  # 0.5 + 0.3: exact but for rounding
        (0.85, [1, 2, 3]),
        (0.9999, [0, 1, 2, 3]),
        (1.0, [0, 1, 2, 3]),
    ],
)
def test_top_p_keeps_the_fewest_that_reach_it(p: float, expected: list[int]) -> None:
    weights = kept_weights(logits_of(0.05, 0.5, 0.15, 0.3).astype(float), SamplingParams(1, top_p=p))
    assert kept(weights) == expected


@pytest.mark.parametrize("hundredths", [(30, 25, 20, 15, 10), (40, 30, 20, 10), (35, 33, 32), (22, 21, 20, 19, 18)])
def test_a_sum_that_reaches_top_p_but_for_rounding_has_reached_it(hundredths: tuple[int, ...]) -> None:
    """Shares in whole per cent, as float32 logits: their sums fall short of top-p in the eighth digit."""
    weights = logits_of(*(n / 100 for n in hundredths)).astype(float)
    for n_kept, reached in enumerate(accumulate(hundredths), 1):
        assert kept(kept_weights(weights, SamplingParams(1, top_p=reached / 100))) == list(range(n_kept))
        more = min(n_kept + 1, len(hundredths))
        assert kept(kept_weights(weights, SamplingParams(1, top_p=min(1, reached / 100 + 1e-5)))) == list(range(more))


def test_top_p_of_equals_keeps_the_lower_ids() -> None:
    weights = np.ones(10)
    keep_top_p(weights, 0.35)
    assert kept(weights) == [0, 1, 2, 3]


def test_top_p_counts_the_mass_that_top_k_left() -> None:
    # Alone, 0.4 + 0.3 reaches 0.7. Of the two that top-k keeps, 0.4 / 0.7 = 0.57 reaches 0.55 by itself.
    logits = logits_of(0.4, 0.3, 0.2, 0.1).astype(float)
    assert kept(kept_weights(logits, SamplingParams(1, top_k=2, top_p=0.55))) == [0]
    assert kept(kept_weights(logits, SamplingParams(1, top_p=0.55))) == [0, 1]


def test_top_k_one_then_any_top_p_leaves_one() -> None:
    logits = np.random.default_rng(0).normal(size=50)
    for p in (0.0, 0.1, 0.99, 1.0):
        weights = kept_weights(logits, SamplingParams(1, top_k=1, top_p=p))
        assert kept(weights) == [int(logits.argmax())]


@pytest.mark.parametrize(("p", "expected"), [(0.0, [0, 1, 2, 3]), (0.25, [0, 1, 2]), (0.26, [0, 1]), (1.0, [0])])
def test_min_p_is_relative_to_the_best(p: float, expected: list[int]) -> None:
    weights = np.array([0.8, 0.4, 0.2, 0.1]) / 0.8
    keep_min_p(weights, p)
    assert kept(weights) == expected


def test_each_stage_tells_what_it_left() -> None:
    logits = logits_of(0.4, 0.3, 0.2, 0.08, 0.02)
    params = SamplingParams(1, top_k=4, top_p=0.9, min_p=0.6)  # running sums of 0.98: 0.41, 0.71, 0.92
    assert kept_by_stage(logits, params) == {"top_k": 4, "top_p": 3, "min_p": 2}
    assert kept_by_stage(logits, SamplingParams(1, top_k=5, top_p=0.9)) == {"top_p": 3}
    assert kept_by_stage(logits, EVERYTHING) == {}
    assert kept_by_stage(logits, SamplingParams(0, top_k=2)) == {}
    assert pick(logits, params, u=0.5).n_kept == 2


@pytest.mark.parity
@pytest.mark.parametrize("seed", range(40))
def test_every_stage_agrees_with_hugging_face(seed: int) -> None:
    """Kept tokens equal, probabilities to rounding; the chain is assembled by transformers' own generate."""
    import torch
    from transformers import GenerationConfig, LlamaConfig
    from transformers.generation import GenerationMixin

    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 300))
    logits = rng.normal(scale=rng.choice([0.5, 3, 10]), size=size).astype(np.float32)
    params = SamplingParams(
        temperature=float(rng.choice([0.3, 0.8, 1.0, 1.7])),
        top_k=int(rng.choice([0, 1, 5, 40, 400])),
        top_p=float(rng.choice([0.0, 0.1, 0.5, 0.9, 0.95, 1.0])),
        min_p=float(rng.choice([0.0, 0.02, 0.3, 1.0])),
        repetition_penalty=float(rng.choice([1.0, 0.7, 1.3, 5.0])),
        logit_bias={int(i): float(rng.integers(-32, 32)) / 8 for i in rng.integers(0, size, size=rng.integers(0, 4))},
    )
    seen = rng.integers(0, size, size=12).tolist()
    config = GenerationConfig(
        do_sample=True,
        temperature=params.temperature,
        top_k=params.top_k,
        top_p=params.top_p,
        min_p=params.min_p,
        repetition_penalty=params.repetition_penalty,
        sequence_bias={(token_id,): value for token_id, value in params.logit_bias.items()} or None,
        num_beams=1,
    )

    class Host(GenerationMixin):
        config = LlamaConfig()

    chain = Host()._get_logits_processor(config, input_ids_seq_length=12)
    theirs = chain(torch.tensor([seen]), torch.tensor(logits[None], dtype=torch.float64)).softmax(-1)[0].numpy()
    weights = kept_weights(logits.astype(np.float64), params, seen)
    assert kept(weights) == kept(theirs)
    np.testing.assert_allclose(weights / weights.sum(), theirs, rtol=1e-9)
