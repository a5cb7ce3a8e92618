"""Generation: the stream of text, why it ends, seeds, and the same tokens whichever way they are computed."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.model_folders import byte_level, sentencepiece_like, write_folder
from helpers.random_llama import settings
from helpers.scripted import scripted

from glasscli import SamplingParams, generate, load_model
from glasscli.checkpoint.load import LoadedModel
from glasscli.errors import GlassError
from glasscli.generation.loop import Generation

GREEDY = SamplingParams(temperature=0)
END = 0


def texts(run: Generation) -> list[str]:
    return [step.text for step in run]


def ids(run: Generation) -> list[int]:
    return [step.token_id for step in run]


# The stream.


@pytest.mark.parametrize("text", [" the  cat", "  two", "a\n\n b ", "x\ty", "“Let’s”  日本語 🙂👩‍👩‍👧!"])
def test_spaces_and_characters_survive_the_stream(loaded: LoadedModel, text: str) -> None:
    model = scripted(loaded, text)
    token_ids = loaded.encode(text)[1:]
    shown = texts(generate(model, "Once", params=GREEDY, max_new_tokens=len(token_ids)))
    assert "".join(shown) == text == loaded.tokenizer.decode(token_ids)
    assert not any("\ufffd" in piece for piece in shown)


def test_each_token_is_shown_at_once_but_for_half_characters(loaded: LoadedModel) -> None:
    token_ids = [i for character in "a🙂b" for i in loaded.encode(character)[1:]]
    assert len(token_ids) == 5
    shown = texts(generate(scripted(loaded, token_ids), "x", params=GREEDY, max_new_tokens=5))
    assert shown == ["a", "", "", "🙂", "b"]


def test_a_character_cut_off_by_the_end_is_shown_as_such(loaded: LoadedModel) -> None:
    half = loaded.encode("🙂")[1:3]
    run = generate(scripted(loaded, half), "x", params=GREEDY, max_new_tokens=2)
    assert texts(run) == ["", "\ufffd"]
    assert run.text == "\ufffd"


@pytest.mark.parametrize("n_read", [1, 2, 3])
@pytest.mark.parametrize("marks", [0, 1, 4])
def test_a_character_begun_in_the_prompt_is_completed(loaded: LoadedModel, n_read: int, marks: int) -> None:
    """Its first bytes are in the last tokens of the prompt, perhaps with end marks among them, which are no text."""
    token_ids = [loaded.tokenizer.encode(byte)[1:] for byte in ("a", "🙂")]
    (_, face) = token_ids
    assert len(face) == 3, "a first token of two bytes and two of one"
    prompt = [*token_ids[0], *face[:n_read], *[END] * marks]
    run = generate(scripted(loaded, [*face[n_read:], *token_ids[0]]), prompt, params=GREEDY, max_new_tokens=4 - n_read)
    assert "".join(texts(run)) == ("🙂a" if n_read < 3 else "a")


def test_a_text_in_metaspace_keeps_the_space_after_the_prompt(tmp_path: Path) -> None:
    tokenizer = sentencepiece_like()
    config = settings(vocab_size=tokenizer.get_vocab_size(), bos_token_id=1, eos_token_id=2)
    loaded = load_model(write_folder(tmp_path / "m", config, tokenizer=tokenizer))
    run = generate(scripted(loaded, [tokenizer.token_to_id("▁the")] * 2), "the", params=GREEDY, max_new_tokens=2)
    assert texts(run) == [" the", " the"]


# Why it ends.


def test_end_of_text_ends_it_and_prints_nothing(loaded: LoadedModel) -> None:
    the = loaded.encode("the")[1:]
    run = generate(scripted(loaded, [*the, END, *the]), "x", params=GREEDY)
    steps = list(run)
    assert ([step.token_id for step in steps], run.text, run.finish_reason) == ([*the, END], "the", "eos")
    assert [step.finish_reason for step in steps] == [None] * len(the) + ["eos"]
    assert next(run, None) is None


def test_any_of_a_list_of_end_tokens_ends_it(loaded: LoadedModel) -> None:
    several = replace(loaded, config=replace(loaded.config, eos_ids=(END, 70, 80)))
    run = generate(scripted(several, [65, 80, 66]), "x", params=GREEDY)
    assert (ids(run), run.finish_reason) == ([65, 80], "eos")


def test_end_tokens_can_be_ignored(loaded: LoadedModel) -> None:
    for params in (GREEDY, SamplingParams()):
        run = generate(scripted(loaded, [65, END, 66]), "x", params=params, ignore_eos=True, max_new_tokens=3)
        written = ids(run)
        assert written[0] == 65
        assert written[2] == 66
        assert END not in written


def test_length_ends_it(loaded: LoadedModel) -> None:
    run = generate(scripted(loaded, [65] * 9), "x", params=GREEDY, max_new_tokens=3)
    assert (len(ids(run)), run.finish_reason) == (3, "length")
    none = generate(scripted(loaded, []), "x", max_new_tokens=0)
    assert (ids(none), none.finish_reason, none.text, none.written.perplexity) == ([], "length", "", None)


@pytest.mark.parametrize(
    ("text", "stop", "shown", "reason"),
    [
        ("said the Cat. And", ["the Cat"], "said ", "stop"),
        ("said the Cow", ["the Cat"], "said the Cow", "length"),
        ("said the Ca", ["the Cat"], "said the Ca", "length"),  # held back, then let go
        ("one\n\ntwo", ["\n\n", "two"], "one", "stop"),
        ("日本語", ["語"], "日本", "stop"),
        ("abc", ["b"], "a", "stop"),  # in the middle of a token, if it is one
    ],
)
def test_stop_strings(loaded: LoadedModel, text: str, stop: list[str], shown: str, reason: str) -> None:
    n_tokens = len(loaded.encode(text)) - 1
    run = generate(scripted(loaded, text), "x", params=GREEDY, stop=stop, max_new_tokens=n_tokens)
    pieces = texts(run)
    assert ("".join(pieces), run.text, run.finish_reason) == (shown, shown, reason)
    for end in range(len(pieces)):
        assert shown.startswith("".join(pieces[:end]))


def test_one_stop_string_need_not_stand_in_a_list(loaded: LoadedModel) -> None:
    run = generate(scripted(loaded, "so the Cat"), "x", params=GREEDY, stop="the")
    assert ("".join(texts(run)), run.finish_reason, run.written.stop_string) == ("so ", "stop", "the")


def test_held_back_text_is_let_go_by_an_interruption_and_by_the_end_token(loaded: LoadedModel) -> None:
    run = generate(scripted(loaded, "so the Ca"), "x", params=GREEDY, stop=["the Cat"])
    for _ in range(len(loaded.encode("so the Ca")) - 1):
        next(run)
    assert run.text == "so "
    assert run.interrupt() == "the Ca"
    assert (run.text, run.finish_reason, next(run, None)) == ("so the Ca", "interrupted", None)
    ended = generate(scripted(loaded, [*loaded.encode("so the Ca")[1:], END]), "x", params=GREEDY, stop=["the Cat"])
    assert "".join(texts(ended)) == "so the Ca"


# Seeds and ways of computing.


def test_a_seed_replays_a_text_and_a_shorter_run_is_its_beginning(loaded: LoadedModel) -> None:
    long = ids(generate(loaded, "Once upon", seed=3, max_new_tokens=20, ignore_eos=True))
    assert ids(generate(loaded, "Once upon", seed=3, max_new_tokens=20, ignore_eos=True)) == long
    assert ids(generate(loaded, "Once upon", seed=3, max_new_tokens=10, ignore_eos=True)) == long[:10]
    assert ids(generate(loaded, "Once upon", seed=4, max_new_tokens=20, ignore_eos=True)) != long


def test_a_seed_not_given_is_told_and_replays(loaded: LoadedModel) -> None:
    first, second = generate(loaded, "Once"), generate(loaded, "Once")
    assert first.seed != second.seed
    assert ids(generate(loaded, "Once", seed=first.seed)) == ids(first)


def test_greedy_ignores_the_seed(loaded: LoadedModel) -> None:
    runs = [ids(generate(loaded, "Once", seed=s, params=SamplingParams(0, top_p=0.3))) for s in (1, 2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("params", [GREEDY, SamplingParams(), SamplingParams(1, repetition_penalty=1.3, top_k=20)])
def test_without_a_cache_the_tokens_are_the_same(loaded: LoadedModel, params: SamplingParams) -> None:
    cached = generate(loaded, "Once upon a time", params=params, seed=5, max_new_tokens=40)
    computed = generate(loaded, "Once upon a time", params=params, seed=5, max_new_tokens=40, use_cache=False)
    assert ids(cached) == ids(computed)
    assert computed.cache is None


def test_a_step_reads_one_token_and_the_last_one_is_not_read(loaded: LoadedModel) -> None:
    model = scripted(loaded, [65, 66, 67])
    ids(generate(model, [70, 71], params=GREEDY, max_new_tokens=3))
    assert model.model.read == [(70, 71), (65,), (66,)]  # type: ignore[attr-defined]


def test_what_a_step_tells_is_what_the_model_says(loaded: LoadedModel) -> None:
    run = generate(loaded, "Once upon a time", params=SamplingParams(1.5, top_k=9), seed=2, max_new_tokens=12, n_top=5)
    steps = list(run)
    everything = [*run.prompt.token_ids, *run.token_ids]
    logits = loaded.model(everything)[len(run.prompt.token_ids) - 1 : -1].astype(float)
    logprobs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    for step, row in zip(steps, logprobs, strict=True):
        assert step.logprob == pytest.approx(row[step.token_id], abs=1e-4)
        assert step.rank == 1 + (row > row[step.token_id]).sum()
        assert step.entropy_bits == pytest.approx(-(np.exp(row) * row).sum() / math.log(2), abs=1e-4)
        assert [token_id for token_id, _ in step.top] == np.argsort(-row, kind="stable")[:5].tolist()
        assert step.n_kept <= 9
    mean = np.mean([step.logprob for step in steps])
    assert run.written.perplexity == pytest.approx(math.exp(-mean))


# Bad numbers, padding.


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(
    ("layer", "where", "named"),
    [(1, "qkv", "layer 1, q"), (1, "down", "layer 1, down"), (2, "down", "layer 2, down")],
)
def test_bad_numbers_give_no_text_and_the_first_bad_tensor(
    make_model_folder: Callable[..., Path], bad: float, layer: int, where: str, named: str
) -> None:
    loaded = load_model(make_model_folder())
    block = loaded.model.weights.blocks[layer]
    getattr(block, where)[...] = bad
    run = generate(loaded, "Once")
    with pytest.raises(GlassError) as error:
        next(run)
    assert named in str(error.value)
    assert error.value.exit_code == 1
    assert (run.text, run.token_ids) == ("", [])


def test_rows_that_no_token_has_are_never_chosen(make_model_folder: Callable[..., Path]) -> None:
    loaded = load_model(make_model_folder(vocab_size=400))  # the tokenizer has 320
    run = generate(scripted(loaded, [399] * 50), "x", params=SamplingParams(1, top_p=1), max_new_tokens=50, n_top=3)
    steps = list(run)
    assert max(max(step.token_id, *(i for i, _ in step.top)) for step in steps) < 320


@pytest.mark.parity
def test_greedy_text_equals_hugging_face(tiny_model_folder: Path, loaded: LoadedModel) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    theirs = AutoModelForCausalLM.from_pretrained(tiny_model_folder, dtype=torch.float32)
    prompt = torch.tensor([AutoTokenizer.from_pretrained(tiny_model_folder)("Once upon a time").input_ids])
    for penalty in (1.0, 1.4):
        out = theirs.generate(prompt, do_sample=False, max_new_tokens=60, repetition_penalty=penalty, pad_token_id=0)
        run = generate(
            loaded, "Once upon a time", params=SamplingParams(0, repetition_penalty=penalty), max_new_tokens=60
        )
        assert [*run.prompt.token_ids, *ids(run)] == out[0].tolist()


def test_a_row_that_is_no_token_can_stand_in_the_prompt(tmp_path: Path) -> None:
    """The embedding has rows past the tokenizer's last token, and bos_token_id may name one: it has no text."""
    config = settings(vocab_size=400, bos_token_id=390)
    loaded = load_model(write_folder(tmp_path / "m", config, tokenizer=byte_level()))
    params = SamplingParams(repetition_penalty=1.3)
    for prompt in ([390], [390] + [70] * 20, [70] * 20 + [390]):
        run = generate(loaded, prompt, params=params, max_new_tokens=5, seed=1, ignore_eos=True)
        assert len(ids(run)) == 5
        assert max(run.token_ids) < 320
