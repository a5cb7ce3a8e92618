"""`glass generate -o FILE` and `--csv`: a file is what a pipe would get, and is whole or not there."""

import csv
import io
import math
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from helpers.in_process import glass, text_of
from helpers.strict_json import strict
from helpers.terminal import GLASS, Terminal, environment, in_terminal

ARGS = ("Once", "-n", "12", "--seed", "3", "--ignore-eos")
FOR_EVER = ("Once", "-n", "100000000", "--overflow", "slide", "--ignore-eos", "--seed", "1")


@pytest.mark.parametrize("form", [[], ["--echo"], ["--show", "probs"], ["--csv"], ["--jsonl"], ["--color", "always"]])
def test_a_file_gets_what_a_pipe_gets(model: list[str], tmp_path: Path, form: list[str]) -> None:
    file = tmp_path / "out"
    ran = glass(*model, *ARGS, *form, "-o", str(file))
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith(f"glass: wrote {file}: ")
    assert ran.err.endswith(" B, 1 text, 12 tokens\n") or "KiB, 1 text, 12 tokens\n" in ran.err
    if form != ["--jsonl"]:  # whose last line has times
        assert file.read_bytes().decode() == text_of(glass(*model, *ARGS, *form))
    assert os.listdir(tmp_path) == ["out"]


def test_the_ending_of_a_file_says_its_form(model: list[str], tmp_path: Path) -> None:
    for name, form in (("a.json", "--json"), ("a.jsonl", "--jsonl"), ("a.csv", "--csv"), ("A.CSV", "--csv")):
        file = tmp_path / name
        assert glass(*model, *ARGS, "-o", str(file), "-q").err == ""
        lines, piped = file.read_text().splitlines(), text_of(glass(*model, *ARGS, form)).splitlines()
        assert lines[:1] == piped[:1]
        assert len(lines) == len(piped)
    assert strict((tmp_path / "a.json").read_text())["schema"] == "glass.generate/1"
    glass(*model, *ARGS, "--show", "probs", "-o", str(tmp_path / "b.csv"))
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()


def test_what_the_model_would_read_goes_there_too(model: list[str], tmp_path: Path) -> None:
    file = tmp_path / "prompt.json"
    ran = glass(*model, "Once", "--show-prompt", "-o", str(file))
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.endswith(", what the model would read\n")
    assert file.read_text() == text_of(glass(*model, "Once", "--show-prompt", "--json"))


def test_a_dash_is_stdout(model: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert glass(*model, *ARGS, "-o", "-") == glass(*model, *ARGS)
    assert os.listdir(tmp_path) == []


def test_a_file_is_tinted_only_where_that_is_forced(model: list[str], tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    code, shown = in_terminal(*model, *ARGS, "--show", "colour", "-o", str(file), columns=200)
    assert code == 0
    assert "no colour here" in shown
    assert "surprise in bits" not in shown
    assert "\x1b" not in file.read_text()
    in_terminal(*model, *ARGS, "--show", "colour", "-o", str(file), "--color", "always", columns=200)
    assert "\x1b" in file.read_text()


def test_on_a_terminal_the_text_goes_to_the_file_alone(model: list[str], tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    code, shown = in_terminal(*model, *ARGS, "-o", str(file), "--color", "never", columns=200)
    assert code == 0
    assert shown.startswith(f"glass: wrote {file}: ")
    assert "── 12 tokens" in shown  # the line of numbers
    assert file.read_text() == text_of(glass(*model, *ARGS))


@pytest.mark.parametrize(
    ("name", "says"), [("no/such/f", "there is no folder"), (".", "is a folder"), ("/dev/full", "a pipe or a device")]
)
def test_a_file_that_can_not_be_is_refused_before_anything_runs(model: list[str], name: str, says: str) -> None:
    ran = glass(*model[:1], "-m", "/no/model", *ARGS, "-o", name)
    assert (ran.code, ran.out) == (1, "")
    assert says in ran.err


def test_what_is_read_is_not_replaced(model: list[str], tmp_path: Path) -> None:
    config = Path(model[2]) / "config.json"
    before = config.read_bytes()
    ran = glass(*model, *ARGS, "-o", str(config))
    assert (ran.code, config.read_bytes()) == (2, before)
    assert "a part of the model" in ran.err
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("Once\n")
    ran = glass(*model, "--prompts", str(prompts), "-o", str(prompts))
    assert (ran.code, prompts.read_text()) == (2, "Once\n")
    assert "what is read" in ran.err


def test_an_error_leaves_the_file_as_it_was(model: list[str], tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("before")
    assert glass(*model, "x" * 600, "-o", str(file)).code == 2
    assert (file.read_text(), os.listdir(tmp_path)) == ("before", ["out.txt"])


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
def test_ctrl_c_keeps_what_was_written(model: list[str], tmp_path: Path, form: list[str]) -> None:
    file = tmp_path / "out.txt"
    run = Terminal(*model, *FOR_EVER, *form, "-o", str(file), "--color", "never", columns=200)
    run.read(5)  # the line that says how far it is
    run.interrupt()
    code, shown = run.finish()
    assert code == 130
    assert "1 text, interrupted, " in shown
    assert os.listdir(tmp_path) == ["out.txt"]
    data = file.read_text()
    if form == ["--json"]:
        assert strict(data)["finish_reason"] == "interrupted"
    elif form == ["--csv"]:
        assert len({len(row) for row in csv.reader(io.StringIO(data))}) == 1
    else:
        assert len(data) > 1


def test_a_signal_that_ends_it_leaves_nothing(model: list[str], tmp_path: Path) -> None:
    command = [*GLASS, *model, *FOR_EVER, "-o", str(tmp_path / "out.txt")]
    run = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not os.listdir(tmp_path) and time.monotonic() < until:
        time.sleep(0.05)
    assert os.listdir(tmp_path)[0].endswith(".part")
    run.send_signal(signal.SIGTERM)
    _, said = run.communicate(timeout=60)
    assert (run.returncode, said, os.listdir(tmp_path)) == (-signal.SIGTERM, b"", [])


# CSV.


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_a_line_for_each_candidate(model: list[str]) -> None:
    document = strict(text_of(glass(*model, *ARGS, "--json", "--logprobs", "3")))
    table = rows(text_of(glass(*model, *ARGS, "--csv", "--logprobs", "3")))
    for index, token in enumerate(document["tokens"]):
        lines = [row for row in table if row["index"] == str(index)]
        beside = [] if token["id"] in [top["id"] for top in token["top"]] else [token]
        assert [int(row["id"]) for row in lines] == [candidate["id"] for candidate in [*token["top"], *beside]]
        for row, candidate in zip(lines, [*token["top"], *beside], strict=True):
            assert float(row["logprob"]) == pytest.approx(candidate["logprob"], rel=1e-8)
            assert float(row["p"]) == pytest.approx(math.exp(candidate["logprob"]), rel=1e-8)
            assert row["bytes"] == candidate["bytes"]
            assert float(row["entropy_bits"]) == pytest.approx(token["entropy_bits"], rel=1e-8)
        (chosen,) = [row for row in lines if row["chosen"] == "1"]
        assert (int(chosen["id"]), int(chosen["rank"])) == (token["id"], token["rank"])
        assert float(chosen["p_sampled"]) == pytest.approx(token["p_sampled"], rel=1e-8)
        assert all(row["p_sampled"] == "" for row in lines if row is not chosen)
        assert [int(row["rank"]) for row in lines] == sorted(int(row["rank"]) for row in lines)


def test_csv_without_a_number_tells_the_likeliest_four(model: list[str]) -> None:
    table = rows(text_of(glass(*model, *ARGS, "--csv")))
    assert text_of(glass(*model, *ARGS, "--show", "probs", "--csv")) == text_of(glass(*model, *ARGS, "--csv"))
    for index in range(12):
        lines = [row for row in table if row["index"] == str(index)]
        assert len(lines) - (lines[-1]["chosen"] == "1" and int(lines[-1]["rank"]) > 4) == 4


def test_csv_of_several_texts_says_which(model: list[str]) -> None:
    table = rows(text_of(glass(*model, *ARGS, "--csv", "--samples", "3")))
    assert list(dict.fromkeys(row["text"] for row in table)) == ["0", "1", "2"]
    alone = rows(text_of(glass(*model, *ARGS, "--csv", "--seed", "4")))
    second = [{**row, "text": "0"} for row in table if row["text"] == "1"]
    assert [(row["index"], row["id"]) for row in second] == [(row["index"], row["id"]) for row in alone]


def test_a_token_that_a_spreadsheet_would_compute_is_spelled_out(model: list[str]) -> None:
    """Every token of the tiny model is a candidate: no cell may begin with what opens a formula."""
    table = rows(text_of(glass(*model, "Once", "-n", "1", "--seed", "3", "--csv", "--logprobs", "400")))
    assert len(table) > 300
    assert not [row["token"] for row in table if len(row["token"]) > 1 and row["token"][0] in "=+-@\t\r"]


def test_what_to_try_next_is_never_what_was_done(model: list[str]) -> None:
    args = (*model, "Hi", "-n", "2", "--ignore-eos", "--color", "never")
    _, drawn = in_terminal(*args)
    _, greedy = in_terminal(*args, "--temperature", "0")
    assert drawn.splitlines()[-1].split("  ")[-1] == "--temperature 0"
    assert greedy.splitlines()[-1].split("  ")[-1] == "--temperature 0.8 (draw)"
