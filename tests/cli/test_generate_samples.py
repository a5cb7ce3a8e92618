"""`glass generate --samples N`: several texts of one prompt, each the one that its seed alone gives."""

import json
import re
from pathlib import Path

import pytest
from helpers.in_process import glass, text_of
from helpers.strict_json import strict
from helpers.terminal import Terminal, in_terminal

from glasscli.cli.page.cells import cells

SHIPPED = ("generate", "Once upon a time", "--seed", "40", "-n", "60")
SAMPLES = (*SHIPPED, "--samples", "5")


@pytest.fixture(scope="module")
def alone() -> list[dict[str, object]]:
    """The shipped model's texts of five seeds, one run each."""
    return [strict(text_of(glass(*SHIPPED, "--seed", str(40 + i), "--json"))) for i in range(5)]


def test_each_text_is_the_one_of_its_seed(alone: list[dict[str, object]]) -> None:
    results = strict(text_of(glass(*SAMPLES, "--json")))["results"]
    keys = ("seed", "text", "finish_reason", "prompt", "prompt_ids")
    assert [{key: result[key] for key in keys} for result in results] == [{k: one[k] for k in keys} for one in alone]
    assert len({result["text"] for result in results}) == 5
    lines = [strict(line) for line in text_of(glass(*SAMPLES, "--jsonl")).splitlines()]
    assert sorted(line["text"] for line in lines[:-1]) == sorted(one["text"] for one in alone)
    assert lines[-1]["event"] == "done"


def test_a_pipe_gets_the_texts_in_order_and_a_file_the_same(alone: list[dict[str, object]], tmp_path: Path) -> None:
    shown = text_of(glass(*SAMPLES))
    rules = [f"── {i + 1} of 5 · seed {40 + i} ".ljust(100, "─") for i in range(5)]
    assert shown == "".join(f"{rule}\n{one['text']}\n" for rule, one in zip(rules, alone, strict=True))
    told = text_of(glass(*SAMPLES, "--echo"))
    assert told.count("\nOnce upon a time") == 5
    file = tmp_path / "stories.txt"
    ran = glass(*SAMPLES, "-o", str(file))
    assert (ran.code, ran.out, file.read_text()) == (0, "", shown)
    assert re.fullmatch(
        rf"glass: wrote {file}: [\d.]+ KiB, 5 texts, \d+ tokens\n(glass: .* -n \d+ allows more\n)?", ran.err
    )


def test_a_seed_that_nobody_chose_is_told(model: list[str]) -> None:
    ran = glass(*model, "Once", "--samples", "2", "-n", "4")
    found = re.fullmatch(r"glass: seed (\d+), and one more for each text\n", ran.err)
    assert found
    again = text_of(glass(*model, "Once", "--samples", "2", "-n", "4", "--seed", found[1]))
    assert again == text_of(ran)


def test_greedy_samples_are_said_to_be_all_the_same(model: list[str]) -> None:
    ran = glass(*model, "Once", "--samples", "2", "-n", "4", "-t", "0")
    assert ran.err == "glass: greedy texts of one prompt are all the same: give a --temperature above 0\n"
    first, second = text_of(ran).split("── 2 of 2")
    assert first.split("─\n")[1] == second.split("─\n")[1]


def test_samples_of_a_pipe(model: list[str]) -> None:
    shown = text_of(glass(*model, "--samples", "2", "-n", "4", "--echo", stdin=b"Once\n"))
    assert shown.count("Once") == 2


def test_a_mean_is_taken_over_the_one_prompt(model: list[str]) -> None:
    args = ("Once upon", "-n", "6", "--ablate", "1.0=mean", "--json")
    one = strict(text_of(glass(*model, *args, "--seed", "4")))
    many = strict(text_of(glass(*model, *args, "--seed", "3", "--samples", "2")))
    assert many["results"][1]["text"] == one["text"]


@pytest.mark.parametrize("columns", [40, 100])
def test_a_terminal_shows_them_wrapped_each_as_it_ends(columns: int) -> None:
    code, shown = in_terminal(*SAMPLES, "--color", "never", columns=columns)
    assert code == 0
    lines = shown.splitlines()
    assert all(cells(line) <= columns for line in lines)
    heads = [line for line in lines if " of 5 · seed " in line]
    assert sorted(heads) == [f"── {i + 1} of 5 · seed {40 + i} ".ljust(columns, "─") for i in range(5)]
    assert sum(line.startswith("Once upon a time") for line in lines) == 5


def test_ctrl_c_keeps_what_there_is(model: list[str], tmp_path: Path) -> None:
    """All that have begun are shown as far as they came; those that have not are not shown."""
    endless = [*model, "Once", "-n", "400", "--ignore-eos", "--seed", "1", "--samples", "40"]
    run = Terminal(*endless, "--jsonl", "--color", "never")
    run.read(1)
    run.interrupt()
    code, shown = run.finish()
    assert code == 130
    results = [json.loads(line) for line in shown.replace("\r", "").splitlines() if line.startswith('{"event"')]
    assert results[-1]["event"] == "done"
    assert {result["finish_reason"] for result in results[:-1]} <= {"length", "interrupted"}
    assert "Traceback" not in shown
