"""How a model wants texts to be written: what its files say, what they leave out, what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.gguf_files import F32, I32, As, as_written, write_gguf
from helpers.in_process import glass, text_of

from glasscli import SamplingParams, generate, generate_batch, load_model
from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.config.writing import WritingDefaults, all_ids
from glasscli.errors import ConfigError

MakeFolder = Callable[..., Path]
SAID = {"do_sample": True, "temperature": 0.3, "top_k": 7, "top_p": 0.5, "min_p": 0.1, "repetition_penalty": 1.2}


def read(**settings: Any) -> WritingDefaults:
    return WritingDefaults.from_settings(settings, "generation_config.json")


def test_a_model_that_says_nothing_gets_what_glass_has() -> None:
    said = read(bos_token_id=1, temperature=None, pad_token_id=0)
    assert said == WritingDefaults() == WritingDefaults(0.8, 0, 0.95, 0.0, 1.0, 256)
    assert SamplingParams.of(said) == SamplingParams()


def test_what_it_says_is_taken_and_the_rest_is_not_guessed() -> None:
    said = read(**SAID, max_new_tokens=9)
    assert SamplingParams.of(said) == SamplingParams(0.3, 7, 0.5, 0.1, 1.2)
    assert said.max_new_tokens == 9
    assert said.said == {*SAID, "max_new_tokens"} - {"do_sample"}
    assert SamplingParams.of(read(top_k=3)) == SamplingParams(top_k=3)


def test_whether_it_draws_decides_what_is_left_out() -> None:
    """Gemma 3 says `do_sample`, `top_k` and `top_p`: transformers draws at temperature 1. So does a plain draw."""
    assert SamplingParams.of(read(do_sample=True, top_k=64, top_p=0.95)) == SamplingParams(1.0, 64, 0.95)
    assert SamplingParams.of(read(do_sample=True)) == SamplingParams(1.0, 0, 1.0)
    assert SamplingParams.of(read(do_sample=False, temperature=0.7)).greedy


def test_what_is_given_goes_before_it() -> None:
    assert SamplingParams.of(read(**SAID), 0.9, 0, 1.0, 0.0, 1.0) == SamplingParams(0.9, 0, 1.0)
    assert SamplingParams.of(read(**SAID), top_p=0.9) == SamplingParams(0.3, 7, 0.9, 0.1, 1.2)
    plain = SamplingParams.of(read(**SAID), temperature=0)
    assert (plain.greedy, plain.repetition_penalty) == (True, 1.0), "the likeliest token, nothing else"
    assert SamplingParams.of(read(**SAID), temperature=0, repetition_penalty=1.3).repetition_penalty == 1.3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -1), ("temperature", "warm"), ("temperature", True), ("temperature", float("inf")),
        ("top_k", 1.5), ("top_k", -1), ("top_p", 1.1), ("min_p", [0.1]), ("repetition_penalty", 0),
        ("max_new_tokens", -1), ("max_new_tokens", 2.0), ("do_sample", 1),
    ],
)  # fmt: skip
def test_what_means_nothing_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"^generation_config\.json: {name} is ") as error:
        read(**{name: value})
    assert error.value.field == name


def test_ids_of_several_files_are_put_together() -> None:
    assert all_ids(None, 3, [4, 3], None, 5) == [3, 4, 5]
    assert all_ids([], None) == []


# Of a whole model.


def with_defaults(folder: Path, **settings: Any) -> Path:
    (folder / "generation_config.json").write_text(json.dumps(settings))
    return folder


def test_the_library_and_the_program_write_as_the_model_says(make_model_folder: MakeFolder) -> None:
    folder = with_defaults(make_model_folder(), **SAID, max_new_tokens=12)
    loaded = load_model(folder)
    asked = generate(loaded, "Once", seed=3, params=SamplingParams(0.3, 7, 0.5, 0.1, 1.2), max_new_tokens=12)
    ids = [step.token_id for step in asked]
    assert [step.token_id for step in generate(loaded, "Once", seed=3)] == ids
    assert [step.token_id for _, step in generate_batch(loaded, ["Once"], seed=3)] == ids
    document = json.loads(text_of(glass("generate", "-m", str(folder), "Once", "--seed", "3", "--json")))
    assert [token["id"] for token in document["tokens"]] == ids
    assert {key: document["sampling"][key] for key in SAID if key != "do_sample"} == {
        key: value for key, value in SAID.items() if key != "do_sample"
    }
    assert document["sampling"]["max_new_tokens"] == 12
    assert document["model"]["dtype"] == "float32"
    flags = ["--temperature", "0.9", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--repetition-penalty", "1"]
    args = ("generate", "-m", str(folder), "Once", *flags, "-n", "3", "--ignore-eos", "--json")
    other = json.loads(text_of(glass(*args)))
    assert [other["sampling"][key] for key in SAID if key != "do_sample"] == [0.9, 0, 1, 0, 1]
    assert other["sampling"]["max_new_tokens"] == len(other["tokens"]) == 3


def test_a_length_past_the_context_is_what_the_context_leaves(make_model_folder: MakeFolder) -> None:
    folder = with_defaults(make_model_folder(max_position_embeddings=40), max_new_tokens=40)
    ran = glass("generate", "-m", str(folder), "abcdefghi", "--seed", "1", "--ignore-eos", "--json")
    assert ran.err == ""
    document = json.loads(ran.out)
    assert document["finish_reason"] == "context"
    assert len(document["prompt_ids"]) + len(document["tokens"]) == 40


def test_a_text_that_was_cut_says_so(make_model_folder: MakeFolder, tmp_path: Path) -> None:
    args = ["generate", "-m", str(with_defaults(make_model_folder(), max_new_tokens=5)), "--seed", "1", "--ignore-eos"]
    assert glass(*args, "Once").err == "glass: the text was cut after 5 tokens: -n 20 allows more\n"
    assert glass(*args, "Once", "-q").err == glass(*args, "Once", "-n", "5").err == ""
    (tmp_path / "p").write_text("a\nb\n")
    assert glass(*args, "--prompts", str(tmp_path / "p")).err == (
        "glass: 2 of 2 texts were cut after 5 tokens: -n 20 allows more\n"
    )
    full = glass(*args, "Once", "-n", "600")
    assert full.err == "glass: the text was cut where the context of 512 tokens is full\n"


def test_a_model_that_says_no_length_gets_256(make_model_folder: MakeFolder) -> None:
    ran = glass("generate", "-m", str(make_model_folder()), "Once", "--seed", "1", "--ignore-eos", "--json")
    assert len(json.loads(ran.out)["tokens"]) == 256


def test_a_gguf_says_it_in_its_own_words(tmp_path: Path) -> None:
    said = {"general.sampling.temp": As(F32, 0.6), "general.sampling.top_k": As(I32, -1), "general.sampling.top_p": 0.9}
    metadata = as_written({"general.architecture": "llama", **said})
    assert open_checkpoint(write_gguf(tmp_path / "m.gguf", metadata)).writing() == WritingDefaults(
        0.6, 0, 0.9, said=frozenset({"temperature", "top_k", "top_p"})
    )
