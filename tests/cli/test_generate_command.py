"""`glass generate`: options, what stdout and stderr get, and the same text in every form."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.in_process import glass, text_of
from helpers.model_folders import END, byte_level, write_folder
from helpers.random_llama import settings
from helpers.terminal import GLASS, environment, in_terminal
from helpers.terminal import glass as glass_apart

from glasscli.cli.commands.generate.command import EPILOG

# Wrong usage: exit 2, a line that says what is wrong, nothing on stdout.


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["x", "--temperature", "nan"], "temperature is nan"),
        (["x", "--temperature", "inf"], "temperature is inf"),
        (["x", "-t", "-1"], "temperature is -1.0"),
        (["half \ud800"], "not valid Unicode at character 6"),
        (["x", "-t", "warm"], "'warm' is not a number"),
        (["x", "--top-k", "-3"], "top-k is -3"),
        (["x", "--top-p", "1.5"], "top-p is 1.5"),
        (["x", "--min-p", "nan"], "min-p is nan"),
        (["x", "--repetition-penalty", "0"], "repetition penalty is 0.0"),
        (["x", "-n", "-5"], "-5 is too small"),
        (["x", "-n", "1,02"], "'1,02' is not a whole number"),
        (["x", "--seed", "-1"], "-1 is too small"),
        (["x", "--stop", ""], "a stop string is empty"),
        (["x", "--overflow", "right"], "'right' is not one of"),
        (["x", "--overflow", "slide", "--no-cache"], "can't be computed without a cache"),
        (["x", "--json", "--jsonl"], "--json and --jsonl are two formats"),
        (["x", "--show", "probs", "--json"], "--show and --json are two formats"),
        (["x", "--logprobs", "3"], "--logprobs has nothing to go into"),
        (["x", "--prompts", "f"], "a prompt and --prompts are two sources"),
        (["--prompts", "no such file"], "no such file: can't be read"),
        (["--prompts", os.devnull], "expected one prompt a line"),
        (["--prompts", "-"], "stdin: is empty; expected one prompt a line"),
        (["--prompts", "-", "--show", "probs"], "--show is for one text; with --prompts"),
        (["x", "--samples", "2", "--show", "colour"], "--show is for one text; with --samples"),
        (["x", "--samples", "2", "--prompts", "f"], "a prompt and --prompts are two sources"),
        (["--samples", "2", "--prompts", "f"], "--samples is for one prompt"),
        (["x", "--samples", "0"], "--samples: 0 is too small"),
        (["x", "--samples", "2", "--no-cache"], "--no-cache is for one text"),
        (["x", "--samples", "2", "--overflow", "slide"], "--overflow slide is for one text"),
        (["x", "--csv", "--json"], "--json and --csv are two formats"),
        (["x", "--csv", "--show", "colour"], "--show and --csv are two formats"),
        (["x", "--csv", "--show", "attn"], "--csv is of probabilities"),
        (["x", "--csv", "--logprobs", "0"], "--csv has a line for each of --logprobs tokens"),
        (["x", "--json", "-o", "no/such/x.csv"], "no/such/x.csv and --json are two formats"),
        (["x", "--frequency-penalty", "nan"], "frequency penalty is nan"),
        (["x", "--presence-penalty", "inf"], "presence penalty is inf"),
        (["x", "--logit-bias", "the"], "--logit-bias the: expected a token and a number"),
        (["x", "--logit-bias", "the=inf"], "--logit-bias the=inf: expected a token and a number"),
        (["x", "--logit-bias", "=3"], "--logit-bias =3: expected a token and a number"),
        (["x", "--logit-bias", "qqqq=3"], "--logit-bias qqqq: 'qqqq' is not one token of this model"),
        (["x", "--logit-bias", "#7=3", "--logit-bias", "#7=1"], "token 7 has a bias already"),
        (["x", "--stop-token", "#999999"], "--stop-token #999999: there is no token with the id 999999"),
        (["x", "--stop-token", "qqqq"], "--stop-token qqqq: 'qqqq' is not one token of this model"),
        (["x", "y"], "a text of several words goes in quotes"),
        (["x", "--nonsense"], "no option --nonsense"),
    ],
)
def test_wrong_usage(model: list[str], args: list[str], says: str) -> None:
    run = glass(*model, *args)
    said = run.err
    assert (run.code, run.out) == (2, "")
    assert said.startswith("glass: ")
    assert says in said
    assert len(said.splitlines()) <= 2
    assert "Traceback" not in said


def test_without_a_beginning_mark_an_empty_prompt_is_refused(tmp_path: Path) -> None:
    tokenizer = byte_level(bos=False)
    config = settings(vocab_size=tokenizer.get_vocab_size(), bos_token_id=None)
    folder = write_folder(tmp_path / "m", config, tokenizer=tokenizer)
    for args in ([""], [], ["-"]):
        run = glass("generate", "-m", str(folder), *args)
        assert (run.code, run.out) == (2, "")
        assert "the prompt is empty" in run.err


def test_a_model_at_fault_is_exit_1(tmp_path: Path) -> None:
    run = glass("generate", "-m", str(tmp_path / "none"), "x")
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith("glass: ")


# Help.


def test_help_ends_with_examples_that_work(tiny_model_folder: Path, tmp_path: Path) -> None:
    shown = glass("generate", "--help").out
    examples = [line.strip() for line in EPILOG.splitlines() if "glass generate" in line]
    assert len(examples) >= 3
    assert [line.strip() for line in shown.rstrip().splitlines()[-len(examples) :]] == examples
    program = tmp_path / "glass"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(GLASS)} "$@"\n')
    program.chmod(0o755)
    env = environment(PATH=f"{tmp_path}:{os.environ['PATH']}", GLASS_MODEL=str(tiny_model_folder))
    for example in examples:
        run = subprocess.run(["sh", "-c", example], capture_output=True, env=env, check=False)
        assert run.returncode == 0, run.stderr
        assert run.stdout


@pytest.mark.parametrize("args", [["x", "-n", "2"], ["x", "-n", "2", "--json"]])
def test_a_plain_text_imports_no_rich(model: list[str], args: list[str]) -> None:
    code = (
        "import sys; from glasscli.cli.app import main; main(sys.argv[1:]);"
        "print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, *model, *args], capture_output=True, env=environment(), check=True
    )
    imported = set(run.stderr.decode().splitlines()[-1].split())
    assert "numpy" in imported
    assert not imported & {"rich", "pydantic", "torch", "transformers"}


# The same text in every form.


def test_every_form_has_the_same_text(model: list[str]) -> None:
    args = [*model, "Once upon a time", "-n", "30", "--seed", "5", "--ignore-eos"]
    document = json.loads(text_of(glass(*args, "--json")))
    piped = text_of(glass(*args))
    assert piped == document["text"] + "\n"
    assert text_of(glass(*args, "--echo")) == "Once upon a time" + piped
    lines = [json.loads(line) for line in text_of(glass(*args, "--jsonl")).splitlines()]
    assert "".join(event["delta"] for event in lines[:-1]) == lines[-1]["text"] == document["text"]
    assert [event["id"] for event in lines[:-1]] == [token["id"] for token in document["tokens"]]
    assert text_of(glass(*args, "--no-cache")) == piped
    for threads in ("1", "2"):
        assert glass_apart(*args, OPENBLAS_NUM_THREADS=threads).stdout.decode() == piped
    code, shown = in_terminal(*args, "--no-echo", "--color", "never", columns=200)
    assert code == 0
    assert shown.startswith(visible(document["text"]))


def visible(text: str) -> str:
    from glasscli.cli.console import printable

    return printable(text, keep="\n\t")


def test_a_shorter_run_is_the_beginning_of_a_longer_one(model: list[str]) -> None:
    runs = [json.loads(text_of(glass(*model, "Once", "-n", n, "--seed", "7", "--json"))) for n in ("10", "20")]
    ids = [[token["id"] for token in run["tokens"]] for run in runs]
    assert ids[1][:10] == ids[0]


def test_greedy_needs_no_seed_and_warns_of_nothing(model: list[str]) -> None:
    runs = [
        glass(*model, "Once", "-n", "20", "--top-p", "0.3", *args)
        for args in (["-t", "0"], ["-t", "0.0", "--seed", "1"], ["-t", "1e-320", "--seed", "2"])
    ]
    assert len({text_of(run) for run in runs}) == 1
    assert [run.err for run in runs] == [""] * 3


def test_a_number_of_threads_taken_for_a_temperature_is_told(model: list[str]) -> None:
    """llama.cpp's `-t 4` is four threads."""
    said = "glass: temperature 4 draws nearly any token. Threads, which -t is in other tools, are OPENBLAS_NUM_THREADS"
    args = (*model, "Once", "-n", "2", "--seed", "1")
    assert glass(*args, "-t", "4").err.startswith(said)
    assert glass(*args, "-t", "2").err == glass(*args, "-t", "4", "-q").err == ""


def test_a_seed_that_nobody_chose_is_told_and_replays(model: list[str]) -> None:
    model = [*model, "-n", "40"]
    run = glass(*model, "Once")
    seed = run.err.removeprefix("glass: seed ").strip()
    assert text_of(glass(*model, "Once", "--seed", seed)) == text_of(run)
    assert glass(*model, "Once", "--seed", "1").err == ""
    assert glass(*model, "Once", "-q").err == ""
    document = json.loads(text_of(glass(*model, "Once", "--json")))
    again = json.loads(text_of(glass(*model, "Once", "--json", "--seed", str(document["seed"]))))
    assert again["text"] == document["text"]


# Stopping and the context.


def test_stop_strings_end_the_text(model: list[str]) -> None:
    args = [*model, "Once", "--seed", "5", "--ignore-eos", "-n", "40"]
    whole = json.loads(text_of(glass(*args, "--json")))["text"]
    stop = whole[8:13]
    document = json.loads(text_of(glass(*args, "--json", "--stop", "not there", "--stop", stop)))
    assert document["text"] == whole[: whole.index(stop)]
    assert (document["finish_reason"], document["stop_string"]) == ("stop", stop)
    assert text_of(glass(*args, "--stop", stop)) == document["text"] + "\n"


def test_a_prompt_that_is_too_long(make_model_folder: Callable[..., Path]) -> None:
    model = ["generate", "-m", str(make_model_folder(max_position_embeddings=32, eos_token_id=None))]
    full, over = b"x" * 31, b"x" * 32  # a token each, and one in front
    document = json.loads(text_of(glass(*model, "--json", stdin=full)))
    assert (len(document["prompt_ids"]), document["tokens"], document["finish_reason"]) == (32, [], "context")
    assert text_of(glass(*model, "--seed", "1", stdin=full)) == "\n"
    refused = glass(*model, stdin=over)
    assert (refused.code, refused.out) == (2, "")
    assert "33 tokens" in refused.err
    assert "32" in refused.err
    assert "--overflow left" in refused.err
    cut = glass(*model, "--overflow", "left", "--json", stdin=over)
    document = json.loads(text_of(cut))
    assert (len(document["prompt_ids"]), document["n_dropped"], len(document["tokens"])) == (24, 9, 8)
    assert document["prompt_ids"][0] == 0
    assert cut.err.startswith("glass: the oldest 9 tokens of the prompt were cut")
    slid = json.loads(text_of(glass(*model, "--overflow", "slide", "-n", "100", "--json", stdin=over)))
    assert (len(slid["prompt_ids"]), len(slid["tokens"]), slid["finish_reason"]) == (33, 100, "length")
    assert slid["kv_cache"]["used_bytes"] <= slid["kv_cache"]["allocated_bytes"]
    many = json.loads(text_of(glass(*model, "x", "-n", "1000", "--json")))
    assert (len(many["tokens"]), many["finish_reason"]) == (30, "context")


def test_special_names_are_text_unless_asked_for(model: list[str]) -> None:
    prompt = f"hi {END} there"
    plain = json.loads(text_of(glass(*model, prompt, "--json", "-n", "1")))
    special = json.loads(text_of(glass(*model, prompt, "--json", "-n", "1", "--special")))
    assert plain["prompt_ids"].count(0) == 1  # the one in front
    assert special["prompt_ids"].count(0) == 2


def test_a_token_that_the_model_has_no_row_for_is_named(make_model_folder: Callable[..., Path]) -> None:
    model = ["generate", "-m", str(make_model_folder(vocab_size=300)), "--json", "-n", "1"]
    assert json.loads(text_of(glass(*model, "x")))["prompt_ids"] == [0, 88]
    run = glass(*model, "Once upon a time")
    assert (run.code, run.out) == (1, "")
    assert "the model has 300 tokens (ids 0 to 299)" in run.err


def test_logits_that_are_no_numbers_give_no_text(make_model_folder: Callable[..., Path]) -> None:
    import numpy as np
    from safetensors.numpy import load_file, save_file

    folder = make_model_folder()
    weights = load_file(folder / "model.safetensors")
    weights["model.layers.1.mlp.down_proj.weight"] = np.full_like(weights["model.layers.1.mlp.down_proj.weight"], 3e38)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    for form in ([], ["--json"], ["--jsonl"], ["--no-cache"]):
        run = glass("generate", "-m", str(folder), "Once", *form)
        assert (run.code, run.out) == (1, "")
        assert "First in layer 1, down[0, 0] = inf" in run.err
        assert "Warning" not in run.err
