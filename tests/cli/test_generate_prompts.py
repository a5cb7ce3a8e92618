"""`glass generate --prompts FILE`: several prompts, each with the text it would get alone."""

import json
from pathlib import Path

import pytest
from helpers.in_process import glass, text_of

from glasscli.cli import prompt_text
from glasscli.cli.commands.generate.batch import Due


def test_prompts_of_a_file_get_the_texts_of_single_runs_in_order(model: list[str], tmp_path: Path) -> None:
    prompts = ["Once upon", "The", "日本語", "x" * 40]
    file = tmp_path / "prompts.txt"
    file.write_text("\n".join(prompts) + "\n")
    alone = [
        json.loads(text_of(glass(*model, prompt, "--seed", str(3 + i), "-n", "12", "--json")))
        for i, prompt in enumerate(prompts)
    ]
    lines = text_of(glass(*model, "--prompts", str(file), "--seed", "3", "-n", "12", "--jsonl")).splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events] == ["result"] * 4 + ["done"]
    events.sort(key=lambda event: event.get("index", len(prompts)))  # each comes as it ends
    document = json.loads(text_of(glass(*model, "--prompts", str(file), "--seed", "3", "-n", "12", "--json")))
    for i, single in enumerate(alone):
        for result in (events[i], document["results"][i]):
            assert result["index"] == i
            assert [result[key] for key in ("prompt", "prompt_ids", "text", "finish_reason", "seed")] == [
                single[key] for key in ("prompt", "prompt_ids", "text", "finish_reason", "seed")
            ]
            assert [token["id"] for token in result["tokens"]] == [token["id"] for token in single["tokens"]]
    shown = text_of(glass(*model, "--prompts", str(file), "--seed", "3", "-n", "12"))
    for i, single in enumerate(alone):
        assert f"── {i + 1} of 4 ─" in shown
        assert single["prompt"] + single["text"] + "\n" in shown


def test_blank_lines_are_no_prompts(model: list[str], tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text("Once\n\n  \t\nThe\n\n")
    ran = glass(*model, "--prompts", str(file), "--seed", "3", "-n", "5", "--json")
    assert ran.err == f"glass: 3 blank lines of {file} are no prompt: left out\n"
    results = json.loads(text_of(ran))["results"]
    assert [(result["prompt"], result["seed"]) for result in results] == [("Once", 3), ("The", 4)]
    assert glass(*model, "--prompts", str(file), "-n", "1", "-q").err == ""
    file.write_text("\n \n")
    ran = glass(*model, "--prompts", str(file))
    assert (ran.code, ran.out) == (2, "")
    assert f"{file}: its 2 lines are all blank" in ran.err
    assert (
        "glass: 1 blank line of stdin is no prompt" in glass(*model, "--prompts", "-", "-n", "1", stdin=b"a\n\nb").err
    )


def test_results_come_as_they_end_or_in_order() -> None:
    ended = [2, 0, 3, 1]
    due = Due(5, in_order=False)
    assert [told(due, number) for number in ended] == [[2], [0], [3], [1]]
    assert due.rest() == [4]
    due = Due(5, in_order=True)
    assert [told(due, number) for number in ended] == [[], [0], [], [1, 2, 3]]
    assert due.rest() == [4]


def told(due: Due, number: int) -> list[int]:
    due.ended(number)
    return due.now()


def test_a_line_of_json_comes_as_soon_as_a_text_ends(model: list[str], tmp_path: Path) -> None:
    """The second prompt leaves room for one token and is told first, also where the first has many to come."""
    file = tmp_path / "prompts.txt"
    file.write_text("Once\n" + "x" * 510 + "\n")
    lines = text_of(glass(*model, "--prompts", str(file), "-n", "9", "--ignore-eos", "--jsonl")).splitlines()
    assert [json.loads(line).get("index") for line in lines] == [1, 0, None]
    shown = text_of(glass(*model, "--prompts", str(file), "-n", "9", "--ignore-eos"))
    assert shown.index("── 1 of 2") < shown.index("── 2 of 2")


def test_a_prompt_of_a_file_that_is_too_long_is_named(model: list[str], tmp_path: Path) -> None:
    (tmp_path / "p").write_text("short\n" + "x" * 600)
    run = glass(*model, "--prompts", str(tmp_path / "p"))
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith("glass: prompt 2: the prompt has 601 tokens")


def test_what_has_no_end_is_no_prompt(model: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "/dev/zero: longer than 64 MiB" in glass(*model, "--prompts", "/dev/zero").err
    monkeypatch.setattr(prompt_text, "LONGEST", 8)
    assert glass(*model, "-n", "1", stdin=b"12345678").code == 0
    for args in ([], ["-"], ["--prompts", "-"]):
        ran = glass(*model, *args, stdin=b"123456789")
        assert (ran.code, ran.out) == (2, "")
        assert "stdin: longer than" in ran.err
