"""What is said on stderr: whole words on a terminal, whole lines in a pipe, commands that can be copied."""

from pathlib import Path

import pytest
from helpers.terminal import glass, in_terminal

TOLD = [  # the words, and the last ones of what is said
    (["generate", "Hi", "--ctx-size", "9"], "what happens past it: --overflow."),
    (["generate", "Hi", "--cache", "q4"], "tova=N, kv-heads=N."),
    (["generate", "Hi", "-m", "nothere"], "fetched from the Hugging Face hub"),
    (["dump-attn", "Hi", "--layer", "0", "-o", "made.csv"], "3 tokens"),
    (["lesson", "attenton"], "cause, induction."),
]


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize(("args", "last"), TOLD)
def test_a_message_fills_a_terminal_with_whole_words(
    args: list[str], last: str, columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    piped = glass(*args).stderr.decode()
    _, shown = in_terminal(*args, columns=columns)
    first, *more = shown.rstrip("\n").split("\n")
    assert piped.count("\n") == 1
    assert all(len(line) <= columns for line in [first, *more])
    assert all(line.startswith("       ") for line in more)
    assert " ".join([first, *(line.strip() for line in more)]) == piped.rstrip("\n")
    assert piped.rstrip("\n").endswith(last)


def test_a_command_to_copy_stays_one_line() -> None:
    text = ["Once", "upon", "a", "time", "there", "was", "a", "bird"]
    code, shown = in_terminal("generate", *text, columns=40)
    assert code == 2
    assert f'       Try: glass generate "{" ".join(text)}"' in shown.split("\n")
