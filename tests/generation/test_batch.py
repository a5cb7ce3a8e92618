"""Several prompts together: each gets the text it would get alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.scripted import scripted

from glasscli import SamplingParams, generate, load_model
from glasscli.cache.choice import FULL
from glasscli.cache.choice_text import parse_choice
from glasscli.checkpoint.load import LoadedModel
from glasscli.errors import UsageError
from glasscli.generation.batch import GROUP, Batch, generate_batch

PROMPTS = ["Once upon a time", "", "The cat sat on the mat. " * 5, "日本語 🙂", "x"]


def run_all(batch: Batch) -> Batch:
    for _ in batch:
        pass
    return batch


@pytest.mark.parametrize("params", [SamplingParams(0), SamplingParams(), SamplingParams(1.2, repetition_penalty=1.2)])
def test_every_text_is_that_of_a_single_run(loaded: LoadedModel, params: SamplingParams) -> None:
    batch = run_all(generate_batch(loaded, PROMPTS, params=params, seed=10, max_new_tokens=30, n_top=2))
    for i, prompt in enumerate(PROMPTS):
        alone = generate(loaded, prompt, params=params, seed=10 + i, max_new_tokens=30)
        steps = list(alone)
        assert batch.runs[i].token_ids == alone.token_ids
        assert (batch.runs[i].text, batch.runs[i].finish_reason) == (alone.text, alone.finish_reason)
        assert batch.runs[i].written.perplexity == pytest.approx(alone.written.perplexity, rel=1e-5)
        assert len(steps) == len(batch.runs[i].token_ids)


@pytest.mark.parametrize("spec", ["", "k=fp8,v=bf16", "sinks=2+window=6", "h2o=12"])
def test_samples_of_one_prompt_read_it_once_and_are_those_of_single_runs(loaded: LoadedModel, spec: str) -> None:
    cache = parse_choice(spec) if spec else FULL
    prompts = ["Once upon a time", "The cat", "Once upon a time", "Once upon a time", "The cat"]
    settings: dict[str, Any] = {"max_new_tokens": 30, "ignore_eos": True, "cache": cache}
    batch = run_all(generate_batch(loaded, prompts, seed=20, **settings))
    for i, prompt in enumerate(prompts):
        alone = generate(loaded, prompt, seed=20 + i, **settings)
        assert [step.token_id for step in alone] == batch.runs[i].token_ids
    assert len({run.text for run in batch.runs}) == 5


def test_a_prompt_that_comes_again_is_not_read_again(loaded: LoadedModel) -> None:
    model = scripted(loaded, [300, 301])
    batch = run_all(generate_batch(model, [[5, 6], [7], [5, 6], [5, 6]], params=SamplingParams(0), max_new_tokens=1))
    assert model.model.read == [(5, 6), (7,)]  # type: ignore[attr-defined]
    assert [run.token_ids for run in batch.runs] == [[300], [301], [300], [300]]


def test_texts_that_end_early_leave_the_others_as_they_are(loaded: LoadedModel) -> None:
    alone = [generate(loaded, p, seed=3 + i, max_new_tokens=40) for i, p in enumerate(PROMPTS)]
    full = ["".join(step.text for step in run) for run in alone]
    stop = full[0][3]  # ends the first after three characters, others wherever it stands in them
    batch = run_all(generate_batch(loaded, PROMPTS, seed=3, max_new_tokens=40, stop=[stop]))
    for text, run in zip(full, batch.runs, strict=True):
        assert run.text == text.split(stop)[0]
    assert len({len(run.token_ids) for run in batch.runs}) > 1


def test_steps_come_with_their_number_and_in_turn(loaded: LoadedModel) -> None:
    events = [(i, step.index) for i, step in generate_batch(loaded, ["a", "b", "c"], max_new_tokens=2, ignore_eos=True)]
    assert events == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]


def test_more_prompts_than_a_group(loaded: LoadedModel) -> None:
    n = GROUP + 3
    batch = run_all(generate_batch(loaded, ["Once"] * n, seed=0, max_new_tokens=3, ignore_eos=True))
    assert [len(run.token_ids) for run in batch.runs] == [3] * n
    assert batch.n_decoded == 2 * n
    last = generate(loaded, "Once", seed=n - 1, max_new_tokens=3, ignore_eos=True)
    assert "".join(step.text for step in last) == batch.runs[-1].text


def test_a_full_context_ends_one_and_not_the_others(make_model_folder: Callable[..., Path]) -> None:
    small = load_model(make_model_folder(max_position_embeddings=16, eos_token_id=None))
    batch = run_all(generate_batch(small, [[5] * 14, [5] * 16, [5]], max_new_tokens=9))
    assert [(len(r.token_ids), r.finish_reason) for r in batch.runs] == [(2, "context"), (0, "context"), (9, "length")]


def test_an_error_names_the_prompt(loaded: LoadedModel) -> None:
    with pytest.raises(UsageError, match=r"prompt 2: .*600 tokens"):
        generate_batch(loaded, ["x", [5] * 600, "y"])


def test_sliding_is_for_one(loaded: LoadedModel) -> None:
    with pytest.raises(UsageError, match="one text"):
        generate_batch(loaded, ["x"], overflow="slide")


def test_no_prompts_give_nothing(loaded: LoadedModel) -> None:
    assert list(generate_batch(loaded, [])) == []


def test_an_interruption_keeps_what_there_is(loaded: LoadedModel) -> None:
    batch = generate_batch(loaded, ["a", "b"], seed=1, max_new_tokens=20, ignore_eos=True)
    for _ in range(5):
        next(batch)
    batch.interrupt()
    assert [run.finish_reason for run in batch.runs] == ["interrupted"] * 2
    assert [len(run.token_ids) for run in batch.runs] == [3, 2]


def test_one_text_is_not_a_list_of_prompts(loaded: LoadedModel) -> None:
    """ "hi" is no prompt "h" and prompt "i"."""
    with pytest.raises(UsageError, match="takes a list of prompts"):
        generate_batch(loaded, "hi")
