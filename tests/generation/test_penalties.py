"""Penalties by count, biases and stop tokens in a whole text: what counts, what ends, what is refused."""

from pathlib import Path
from typing import Any

import pytest
from helpers.scripted import scripted

from glasscli import SamplingParams, generate
from glasscli.checkpoint.load import LoadedModel
from glasscli.errors import UsageError
from glasscli.generation.loop import Generation

GREEDY = SamplingParams(temperature=0)


def ids_of(run: Generation) -> list[int]:
    return [step.token_id for step in run]


def test_penalties_by_count_look_at_the_text_and_not_at_the_prompt(loaded: LoadedModel) -> None:
    """A scripted logit of 50 less 30 each time it is written: first the scripted token, then the lowest other id."""
    params = SamplingParams(0, frequency_penalty=30)
    run = generate(scripted(loaded, [300] * 3), [0, 300, 300], params=params, max_new_tokens=3, ignore_eos=True)
    assert ids_of(run) == [300, 300, 1]  # 50, 20, -10 against 0
    params = SamplingParams(0, presence_penalty=30)
    run = generate(scripted(loaded, [300] * 3), [0, 300], params=params, max_new_tokens=3, ignore_eos=True)
    assert ids_of(run) == [300] * 3  # 50, then 20 however often


def test_stop_tokens_end_a_text_and_have_no_part_in_it(loaded: LoadedModel) -> None:
    script = loaded.encode("so the cat")[1:]
    run = generate(scripted(loaded, script), "x", max_new_tokens=50, params=GREEDY, stop_tokens=[319, script[-2]])
    assert "".join(step.text for step in run) == loaded.tokenizer.decode(script[:-2])
    assert (run.finish_reason, run.written.stop_token, run.written.stop_string) == ("stop", script[-2], None)
    assert run.token_ids == script[:-1]


@pytest.mark.parametrize("args", [{"stop_tokens": [-1]}, {"stop_tokens": [10**6]}, {"logit_bias": {10**6: 1.0}}])
def test_ids_that_are_no_token_are_refused(loaded: LoadedModel, args: dict[str, Any]) -> None:
    bias = args.pop("logit_bias", {})
    with pytest.raises(UsageError, match="no token with the id"):
        generate(loaded, "x", params=SamplingParams(logit_bias=bias), **args)


@pytest.mark.parity
def test_penalties_by_count_equal_a_processor_of_transformers(tiny_model_folder: Path, loaded: LoadedModel) -> None:
    """Its greedy text with OpenAI's formula as a LogitsProcessor, on the tokens behind the prompt."""
    import torch
    from transformers import AutoModelForCausalLM, LogitsProcessor, LogitsProcessorList

    theirs = AutoModelForCausalLM.from_pretrained(tiny_model_folder, dtype=torch.float32)
    prompt = loaded.encode("Once upon a time")

    class Counted(LogitsProcessor):
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            counts = torch.bincount(input_ids[0, len(prompt) :], minlength=scores.shape[1])
            return scores - 0.7 * counts - 0.4 * (counts > 0)

    out = theirs.generate(
        torch.tensor([prompt]),
        do_sample=False,
        max_new_tokens=60,
        pad_token_id=0,
        logits_processor=LogitsProcessorList([Counted()]),
    )
    params = SamplingParams(0, frequency_penalty=0.7, presence_penalty=0.4)
    run = generate(loaded, prompt, params=params, max_new_tokens=60)
    assert [*prompt, *ids_of(run)] == out[0].tolist()
    assert ids_of(generate(loaded, prompt, params=GREEDY, max_new_tokens=60)) != run.token_ids
