"""What a terminal tool must survive: closed pipes, full disks, Ctrl-C, odd locales, no colour."""

import json
import os
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest
from helpers import in_process
from helpers.terminal import GLASS, environment, glass, in_terminal

from glasscli.cli.console import width
from glasscli.config.model_config import ModelConfig

ESC = "\x1b"
FOR_EVER = ["Once", "-n", "100000000", "--overflow", "slide", "--ignore-eos", "--seed", "1"]


# Closed and full outputs.


@pytest.mark.parametrize("form", [[], ["--json"], ["--jsonl"], ["--show", "probs"]])
def test_a_reader_that_leaves_is_no_error(model: list[str], form: list[str]) -> None:
    # A JSON document comes at the end, and must be larger than a pipe's buffer to meet a closed one.
    end = ["-n", "500", "--ignore-eos", "--logprobs", "50"] if form == ["--json"] else FOR_EVER[1:]
    run = subprocess.Popen(
        [*GLASS, *model, "Once", *end, *form], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert run.stdout is not None
    assert run.stderr is not None
    run.stdout.read(5)
    run.stdout.close()
    said = run.stderr.read()
    run.stderr.close()
    assert (run.wait(60), said) == (141, b"")


@pytest.mark.parametrize("form", [[], ["--json"], ["--jsonl"], ["--show", "probs"]])
def test_a_full_disk_is_one_clean_line(model: list[str], form: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        run = subprocess.run(
            [*GLASS, *model, "Once", *form], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
        )
    assert run.returncode == 1
    assert run.stderr.splitlines() == [b"glass: cannot write the output: No space left on device"]


@pytest.mark.parametrize(("closed", "code"), [("<&-", 0), (">&-", 1), ("2>&-", 0)])
def test_closed_streams(model: list[str], closed: str, code: int) -> None:
    line = " ".join([*GLASS, *model, "Once", "-n", "3", "--seed", "1", closed])
    run = subprocess.run(["sh", "-c", line], capture_output=True, env=environment(), check=False)
    assert run.returncode == code
    assert b"Traceback" not in run.stderr
    assert bool(run.stdout) is (code == 0)


def test_too_little_memory_is_one_clean_line(tiny_model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> NoReturn:
        raise MemoryError

    monkeypatch.setattr(ModelConfig, "from_dict", full)
    ran = in_process.glass("info", "-m", str(tiny_model_folder))
    assert (ran.code, ran.out, ran.err) == (1, "", "glass: there is not enough memory for this\n")


# Stdin.


def test_stdin_is_not_touched_when_a_prompt_is_given(model: list[str]) -> None:
    never_closed, writer = os.pipe()
    try:
        run = glass(*model, "Once", "-n", "3", stdin=never_closed)
    finally:
        os.close(writer)
        os.close(never_closed)
    assert run.returncode == 0


@pytest.mark.parametrize("args", [[], ["-"]])
def test_a_pipe_is_read_and_one_last_newline_left_out(model: list[str], args: list[str]) -> None:
    for data in (b"Once upon", b"Once upon\n", b"Once upon\r\n"):
        document = json.loads(glass(*model, *args, "--json", "-n", "1", stdin=data).stdout)
        assert document["prompt"] == "Once upon"
    document = json.loads(glass(*model, *args, "--json", "-n", "1", stdin=b" a\n\n").stdout)
    assert document["prompt"] == " a\n"


def test_an_empty_pipe_starts_from_the_beginning_mark(model: list[str]) -> None:
    for args in ([], [""], ["-"]):
        document = json.loads(glass(*model, *args, "--json", "-n", "2").stdout)
        assert document["prompt_ids"] == [0]


@pytest.mark.parametrize("args", [[], ["-"], ["--prompts", "-"]])
def test_bytes_that_are_no_utf8_are_named(model: list[str], args: list[str]) -> None:
    run = glass(*model, *args, stdin=b"abc \xff\xfe")
    assert (run.returncode, run.stdout) == (2, b"")
    assert b"stdin is not UTF-8: byte 0xff at offset 4" in run.stderr


def test_without_a_prompt_a_terminal_is_not_read_and_a_demo_text_goes_on(model: list[str]) -> None:
    code, shown = in_terminal(*model, "-n", "2", "--seed", "1", "--color", "never")
    assert code == 0
    lines = shown.splitlines()
    text = next(i for i, line in enumerate(lines) if line.startswith("Once upon a time"))
    assert lines[0].startswith('glass: demo text "Once upon a time": give your own')
    assert all(line.startswith("       ") for line in lines[1:text])
    code, shown = in_terminal(*model, "-n", "2", "--seed", "1", "--color", "never", "-q")
    assert shown.startswith("Once upon a time")


def test_an_argument_that_is_no_utf8_is_refused(model: list[str]) -> None:
    run = subprocess.run(
        [*(os.fsencode(a) for a in [*GLASS, *model]), b"caf\xe9"], capture_output=True, env=environment(), check=False
    )
    assert run.returncode == 2
    assert b"byte 0xe9 at offset 3" in run.stderr


# Colour and control characters.


@pytest.mark.parametrize(
    ("env", "args", "colored"),
    [
        ({}, [], True),
        ({"NO_COLOR": "1"}, [], False),
        ({"NO_COLOR": ""}, [], True),
        ({"TERM": "dumb"}, [], False),
        ({}, ["--color", "never"], False),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
    ],
)
@pytest.mark.parametrize("show", [[], ["--show", "probs"], ["--show", "colour"]])
def test_colour_on_a_terminal(
    model: list[str], env: dict[str, str], args: list[str], colored: bool, show: list[str]
) -> None:
    code, text = in_terminal(*model, "Once", "-n", "4", "--seed", "1", *args, *show, **env)
    assert code == 0
    assert (ESC in text) is colored


@pytest.mark.parametrize(
    ("env", "args", "colored"),
    [({}, [], False), ({"FORCE_COLOR": "1"}, [], True), ({}, ["--color", "always"], True)],
)
@pytest.mark.parametrize("show", [["--show", "probs"], ["--show", "colour"]])
def test_colour_in_a_pipe(
    model: list[str], env: dict[str, str], args: list[str], colored: bool, show: list[str]
) -> None:
    run = glass(*model, "Once", "-n", "4", "--seed", "1", *args, *show, **env)
    assert (ESC in run.stdout.decode()) is colored


def test_a_pipe_gets_the_bytes_and_a_terminal_harmless_characters(model: list[str]) -> None:
    prompt = "\x1b]0;owned\x07 a\tb\r\x9b31m\u202e"
    raw = glass(*model, prompt, "-n", "1", "--seed", "1", "--echo").stdout.decode()
    assert raw.startswith(prompt)
    _, shown = in_terminal(*model, prompt, "-n", "1", "--seed", "1", "--color", "never")
    assert shown.startswith(r"\x1b]0;owned\x07 a")
    assert r"b\x0d\x9b31m\u202e" in shown
    assert ESC not in shown


@pytest.mark.parametrize(
    ("columns", "expected"),
    [("1000000000", 2000), ("9" * 5000, 2000), ("250", 250), ("1", 20), ("0", 100), ("-1", 100), ("²", 100), ("", 100)],
)
def test_odd_widths(columns: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert width() == expected


# Encodings.


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    ],
)
def test_text_is_utf8_whatever_the_locale(model: list[str], env: dict[str, str]) -> None:
    plain = glass(*model, "日本 café 🙂", "-n", "8", "--seed", "1", "--echo")
    odd = glass(*model, "日本 café 🙂", "-n", "8", "--seed", "1", "--echo", **env)
    assert (odd.returncode, odd.stdout) == (0, plain.stdout)
    assert odd.stdout.decode().startswith("日本 café 🙂")


def test_a_table_in_ascii(model: list[str]) -> None:
    run = glass(*model, "日本 café", "-n", "12", "--show", "probs", PYTHONIOENCODING="ascii")
    assert run.returncode == 0
    assert run.stdout.isascii()
    _, shown = in_terminal(*model, "x", "-n", "2", "--seed", "1", "--color", "never", PYTHONIOENCODING="ascii")
    assert shown.splitlines()[-2].isascii()  # the footer


def test_json_is_ascii(model: list[str]) -> None:
    assert glass(*model, "日本", "--json", PYTHONIOENCODING="ascii").stdout.isascii()
