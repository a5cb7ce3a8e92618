"""Caches on a text: what each costs, read in one go as a token-by-token decoder would, and the traps in it."""

import numpy as np
import pytest

from glasscli import UsageError, cache_size, load_model
from glasscli.arrays import Array
from glasscli.cache.choice import CacheChoice
from glasscli.cache.choice_text import parse_choice
from glasscli.checkpoint.load import LoadedModel
from glasscli.quality.divergence import kl_divergence
from glasscli.quality.trial import Trial, cut_chunks

STORY = (
    "Once upon a time, there was a little girl named Lily. She had a red ball and a big brown dog. One "
    "day, Lily and her dog went to the park. They saw a boy named Tim. Tim was sad because he had lost "
    "his kite. Lily wanted to help. She looked behind the tree and under the bench. Then her dog began to "
    "bark. The kite was in the pond! Lily took a long stick and got the kite out of the water. Tim was "
    "very happy. He said thank you and gave Lily a hug. They all played together until the sun went down. "
    "Lily's mom was proud of her. From that day on, they were good friends. "
)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return load_model()


@pytest.fixture(scope="module")
def trial(loaded: LoadedModel) -> Trial:
    return Trial(loaded, [loaded.tokenizer.encode(STORY)[1:]], 64)


def test_chunks_begin_with_the_mark_and_stay_in_a_document() -> None:
    chunks = list(cut_chunks([list(range(1, 12)), [50, 51], [60, 61, 62]], 4, [0]))
    assert chunks == [[0, 1, 2, 3], [0, 4, 5, 6], [0, 7, 8, 9], [0, 60, 61, 62]]


def test_the_full_cache_costs_exactly_nothing(trial: Trial) -> None:
    found = trial.run(CacheChoice()).divergence
    assert (found.delta_nats, found.kld, found.kld_max, found.same_top) == (0, 0, 0, 1)
    assert found.n_tokens == 32 * len(trial.chunks)


def stepped(loaded: LoadedModel, spec: str, ids: list[int]) -> tuple[Array, Array]:
    """Logits of a chunk read in one go, and token by token."""
    choice, model = parse_choice(spec), loaded.model
    cache = model.chosen_cache(choice, len(ids))
    whole = model(ids, model.chosen_cache(choice, len(ids)))
    return whole, np.concatenate([model([token_id], cache) for token_id in ids])


@pytest.mark.parametrize("spec", ["window=16", "sinks=4+window=12", "sinks=4+window=12,renumber", "h2o=16", "tova=16"])
def test_one_pass_is_what_a_decoder_sees_token_by_token(trial: Trial, loaded: LoadedModel, spec: str) -> None:
    whole, steps = stepped(loaded, spec, trial.chunks[0])
    np.testing.assert_allclose(whole, steps, rtol=0, atol=2e-4)


@pytest.mark.parametrize("spec", ["f16", "q8_0", "q4_0", "k=q8_0,v=q4_0", "kivi2", "q8_0,sinks=4+window=12"])
def test_with_rounding_too_up_to_numbers_on_the_edge_between_two(trial: Trial, loaded: LoadedModel, spec: str) -> None:
    """Sums in another order differ in the last bit, and now and then one is then rounded to the other side.

    That must be nothing beside what the format costs.
    """
    ids = trial.chunks[0]
    whole, steps = stepped(loaded, spec, ids)
    between = float(kl_divergence(whole, steps).mean())
    assert between < 0.1 * float(kl_divergence(loaded.model(ids), whole).mean())


def test_fewer_bits_cost_more_and_keys_more_than_values(trial: Trial) -> None:
    kld = {name: trial.run(parse_choice(name)).divergence.kld for name in ("f16", "q8_0", "q5_1", "q4_0")}
    assert 0 < kld["f16"] < kld["q8_0"] < kld["q5_1"] < kld["q4_0"] < 0.1
    keys, values = (trial.run(parse_choice(name)).divergence.kld for name in ("k=q4_0,v=q8_0", "k=q8_0,v=q4_0"))
    assert keys > values


@pytest.mark.parametrize("dtype", ["f32", "f16", "q8_0", "q4_0"])
def test_bytes_a_token_are_the_budgets(trial: Trial, dtype: str) -> None:
    """2 · 4 layers · 2 heads · 32 dims; the budget counts them without running anything."""
    found = trial.run(parse_choice(dtype))
    budget = cache_size("glass-1m", 1, k_dtype=dtype, v_dtype=dtype)
    assert (found.bytes_per_token, found.constant_bytes) == (budget.bytes_total, 0)


def test_a_window_is_constant_and_forgets(trial: Trial) -> None:
    found = trial.run(parse_choice("window=16"))
    assert (found.bytes_per_token, found.constant_bytes) == (0, 16 * 2048)
    assert found.divergence.kld > 0.01


def test_this_model_repeats_no_random_string_so_none_is_said_to_be_forgotten(trial: Trial) -> None:
    assert trial.copied < 0.1
    assert trial.run(parse_choice("q8_0")).copied is None


def test_sharing_heads_without_training_ruins_the_model(trial: Trial) -> None:
    assert trial.run(parse_choice("kv-heads=1")).divergence.kld > 1


def test_texts_too_short_and_chunks_too_long_are_refused(loaded: LoadedModel) -> None:
    with pytest.raises(UsageError, match="no document of the text has the 80 tokens of a chunk"):
        Trial(loaded, [[5] * 20], 80)
    with pytest.raises(UsageError, match="a chunk of 513 tokens; this model reads 8 to 512"):
        Trial(loaded, [[5] * 600], 513)
