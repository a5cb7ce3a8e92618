"""`glass generate --prompts FILE`: several prompts, each with the text it would get alone."""

import json
from pathlib import Path

import pytest
from helpers.in_process import glass, text_of

from glasscli.cli import prompt_text


def test_prompts_of_a_file_get_the_texts_of_single_runs_in_order(model: list[str], tmp_path: Path) -> None:
    prompts = ["Once upon", "", "日本語", "x" * 40]
    file = tmp_path / "prompts.txt"
    file.write_text("\n".join(prompts) + "\n")
    alone = [
        json.loads(text_of(glass(*model, prompt, "--seed", str(3 + i), "-n", "12", "--json")))
        for i, prompt in enumerate(prompts)
    ]
    lines = text_of(glass(*model, "--prompts", str(file), "--seed", "3", "-n", "12", "--jsonl")).splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events] == ["result"] * 4 + ["done"]
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
