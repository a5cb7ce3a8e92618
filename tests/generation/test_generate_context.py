"""What happens when prompt and text outgrow the context: refuse, cut, or slide."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from glasscli import SamplingParams, generate, load_model
from glasscli.checkpoint.load import LoadedModel
from glasscli.errors import UsageError
from glasscli.generation.loop import Generation

GREEDY = SamplingParams(temperature=0)
END = 0


def ids(run: Generation) -> list[int]:
    return [step.token_id for step in run]


@pytest.fixture
def small(make_model_folder: Callable[..., Path]) -> LoadedModel:
    """A context of 32 tokens, and no end of text."""
    return load_model(make_model_folder(max_position_embeddings=32, eos_token_id=None))


def test_prompt_and_text_together_never_exceed_the_context(small: LoadedModel) -> None:
    for n_prompt in (1, 20, 31, 32):
        run = generate(small, [5] * n_prompt, max_new_tokens=100)
        assert (len(ids(run)), run.finish_reason) == (32 - n_prompt, "context")


def test_a_longer_prompt_is_refused_with_both_numbers(small: LoadedModel) -> None:
    with pytest.raises(UsageError, match=r"33 tokens.*holds 32"):
        generate(small, [5] * 33)


def test_left_cuts_the_oldest_to_three_quarters_and_keeps_the_beginning_mark(small: LoadedModel) -> None:
    prompt = list(range(10, 60))
    run = generate(small, prompt, overflow="left")
    assert (run.prompt.token_ids, run.prompt.n_dropped) == (tuple(range(36, 60)), 26)
    run = generate(small, [END, *prompt], overflow="left")
    assert (run.prompt.token_ids, run.prompt.n_dropped) == ((END, *range(37, 60)), 27)
    short = generate(small, [5] * 24, overflow="left")
    assert (len(short.prompt.token_ids), short.prompt.n_dropped) == (24, 0)
    assert len(ids(run)) == 8


def test_sliding_goes_on_and_equals_a_fresh_run_over_what_is_left(make_model_folder: Callable[..., Path]) -> None:
    """With one layer, a key depends on its own token alone: the cache must be that of a text without the gap."""
    loaded = load_model(make_model_folder(max_position_embeddings=32, num_hidden_layers=1, eos_token_id=None))
    run = generate(loaded, range(10, 30), params=GREEDY, max_new_tokens=100, overflow="slide", n_top=3)
    held: list[int] = list(range(10, 30))
    for step in run:
        while len(held) > 32:
            del held[4:8]  # an eighth of 32 at once, after the first 4
        logits = loaded.model(held, last_only=True)[0].astype(float)
        logprobs = logits - logits.max() - math.log(np.exp(logits - logits.max()).sum())
        for token_id, logprob in step.top:
            assert logprob == pytest.approx(logprobs[token_id], abs=1e-4)
        held.append(step.token_id)
    assert (len(run.token_ids), run.finish_reason) == (100, "length")
    assert run.cache is not None
    assert run.cache.length <= 32 == run.cache.max_tokens
    assert run.n_slid == len(run.prompt.token_ids) + 99 - run.cache.length


def test_sliding_reads_a_prompt_of_any_length(small: LoadedModel) -> None:
    run = generate(small, [7] * 300, overflow="slide", max_new_tokens=5)
    assert (len(ids(run)), run.prompt.n_dropped) == (5, 0)


def test_sliding_changes_nothing_before_the_context_is_full(small: LoadedModel) -> None:
    plain = ids(generate(small, [7] * 5, seed=4, max_new_tokens=27))
    assert ids(generate(small, [7] * 5, seed=4, max_new_tokens=60, overflow="slide"))[:27] == plain
