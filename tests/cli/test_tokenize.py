"""`glass tokenize` as it is typed: pages at many widths, JSON, stdin, and what must not reach a terminal."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.in_process import glass, text_of
from helpers.model_folders import END, byte_level, sentencepiece_like
from helpers.strict_json import strict
from rich.cells import cell_len
from tokenizers import Tokenizer

from glasscli.cli.commands.tokenize.command import EPILOG

TEXT = "The  cat, 日本 é 🙂 👩‍👩‍👧\n\ta\x00"


def folder_with(tokenizer: Tokenizer, folder: Path) -> str:
    tokenizer.save(str(folder / "tokenizer.json"))
    return str(folder)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return folder_with(byte_level(), tmp_path)


def run(*args: str, **settings: Any) -> str:
    ran = glass("tokenize", *args, **settings)
    assert ran.err == ""
    return text_of(ran)


def fails(*args: str) -> tuple[int, str]:
    ran = glass("tokenize", *args)
    assert ran.out == ""
    assert ran.err.startswith("glass: ")
    assert len(ran.err.splitlines()) <= 2
    return ran.code, ran.err


def test_a_row_a_token(folder: str) -> None:
    out = run("-m", folder, "the é")
    assert out.splitlines()[:6] == [
        "#   id  token          bytes",
        "0    0  <|endoftext|>  special: stands for no text",
        "1   84  t              74",
        "2  257  he             68 65",
        "3  221  ·              20",
        "4  128  <0xC3>         c3  byte 1 of 2 of é U+00E9",
    ]
    assert "5 characters   6 bytes   → 6 tokens   1.20 bytes a token of text   1 special" in out


@pytest.mark.parametrize("columns", [20, 40, 80, 100, 200])
@pytest.mark.parametrize("merges", [[], ["--merges"]])
def test_no_line_is_too_wide_and_no_id_is_lost(columns: int, merges: list[str], folder: str) -> None:
    out = run("-m", folder, TEXT, *merges, columns=columns)
    assert max(map(cell_len, out.splitlines())) <= columns
    assert out.replace("\n", "").isprintable()
    ids = [token["id"] for token in strict(run("-m", folder, TEXT, "--json"))["tokens"]]
    rows = [line.split() for line in out.split("merges")[0].splitlines()[1:]]
    shown = {int(row[0]): int(row[1]) for row in rows if len(row) > 1 and row[0].isdecimal() and row[1].isdecimal()}
    assert [shown[i] for i in range(len(ids))] == ids


def test_json_has_everything(folder: str) -> None:
    found = strict(run("-m", folder, TEXT, "--json", "--merges"))
    assert found["schema"] == "glass.tokens/1"
    assert found["text"] == TEXT
    own = [token for token in found["tokens"] if token["kind"] == "text"]
    assert bytes.fromhex("".join(token["bytes"] for token in own)) == TEXT.encode()
    assert found["n_tokens"] == len(found["tokens"]) == len(own) + 1
    assert [i for word in found["words"] for i in word["ids"]] == [token["id"] for token in own]
    part = next(token for token in own if token["parts"])
    assert part["text"] is None
    assert part["parts"] == [{"char": "日", "start": 0, "stop": 2, "n_bytes": 3}]


def test_merges_are_a_chain(tmp_path: Path) -> None:
    out = run("-m", folder_with(sentencepiece_like(), tmp_path), "the", "--merges")
    assert "  · t h e  → · th e #0  → · the #1  → ·the #2\n" in out


def test_a_word_that_comes_again_is_shown_once(folder: str) -> None:
    out = run("-m", folder, "a the the the", "--merges")
    assert out.count("→ ·the #") == 1
    assert "(and 2 times more)" in out


def test_special_tokens_are_text_unless_asked_for(folder: str) -> None:
    assert run("-m", folder, END).count(END) == 1
    assert run("-m", folder, END, "--special").count(END) == 2


def test_what_has_no_token_is_said_to_be_lost(tmp_path: Path) -> None:
    tokenizer = sentencepiece_like()
    tokenizer.model.byte_fallback = False
    out = run("-m", folder_with(tokenizer, tmp_path), "aé")
    assert "unknown: this piece of the text is lost" in out
    assert "1 unknown" in out


def test_control_characters_never_reach_the_terminal(tmp_path: Path) -> None:
    tokenizer = byte_level()
    tokenizer.add_special_tokens(["\x1b]52;c;AAAA\x07", "[bold]\u202e"])
    text = "\x1b[31m \x07\x9b \u202e [/bold] \x1b]52;c;AAAA\x07[bold]\u202e"
    for option in ([], ["--merges"], ["--json"], ["--special"]):
        out = run("-m", folder_with(tokenizer, tmp_path), text, *option)
        assert out.replace("\n", "").isprintable()


def test_colour_is_only_colour(folder: str) -> None:
    import re

    plain = run("-m", folder, TEXT, "--merges")
    coloured = run("-m", folder, TEXT, "--merges", "--color", "always")
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_the_count_and_the_ids_alone(folder: str) -> None:
    lines = "The  cat\n\nsat: 日本\n"
    document = strict(run("-m", folder, lines, "--json"))
    ids = [token["id"] for token in document["tokens"]]
    assert run("-m", folder, lines, "--ids") == " ".join(map(str, ids)) + "\n"
    assert run("-m", folder, lines, "--count", "-q") == f"{document['n_tokens']}\n"
    assert run("-m", folder, "--count", stdin=lines.encode() + b"\n") == f"{document['n_tokens']}\n"
    assert strict(run("-m", folder, lines, "--json", "--count", "--ids")) == document
    special = run("-m", folder, END, "--ids", "--special").split()
    assert special == ["0", "0"]  # the one in front, and the one that was typed


@pytest.mark.parametrize("args", [["--count", "--ids"], ["--count", "--merges"], ["--ids", "--merges"]])
def test_what_prints_nothing_else_goes_alone(folder: str, args: list[str]) -> None:
    code, err = fails("-m", folder, "hi", *args)
    assert code == 2
    assert f"{args[0]} prints nothing else: leave out {args[1]}" in err


def test_no_text_at_all(tmp_path: Path) -> None:
    out = run("-m", folder_with(byte_level(bos=False), tmp_path), "")
    assert out.startswith("0 characters   0 bytes   → 0 tokens")


def test_bad_folders(tmp_path: Path) -> None:
    code, err = fails("-m", str(tmp_path), "hi")
    assert code == 1
    assert "tokenizer.json: there is no such file" in err
    code, err = fails("-m", str(tmp_path / "none"), "hi")
    assert code == 1
    assert "does not exist" in err


def test_help_ends_with_examples_that_work() -> None:
    shown = [line.strip() for line in text_of(glass("tokenize", "--help")).splitlines()]
    examples = [line.strip() for line in EPILOG.splitlines() if "glass tokenize " in line or "| glass" in line]
    assert len(examples) == 4
    assert shown[-len(examples) :] == examples
    for example in examples:
        words = shlex.split(example)
        at = words.index("glass")
        piped = " ".join(words[1 : at - 1]).encode()
        assert "3" in run(*words[at + 2 :], stdin=piped)


# As a process.


def process(*args: str, stdin: bytes | None = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "glasscli", "tokenize", *args]
    return subprocess.run(command, input=stdin, capture_output=True, env={**os.environ, **env}, timeout=60)


def test_stdin_is_read_where_no_text_is_given(folder: str) -> None:
    given = process("-m", folder, "--json", "hé\n".strip()).stdout
    assert process("-m", folder, "--json", stdin="hé\n".encode()).stdout == given
    assert process("-m", folder, "--json", "-", stdin="hé".encode()).stdout == given


def test_bytes_that_are_no_text_are_wrong_usage(folder: str) -> None:
    result = process("-m", folder, stdin=b"hi\xff")
    assert (result.returncode, result.stdout) == (2, b"")
    assert b"byte 0xff at offset 2" in result.stderr
    result = subprocess.run(  # in the argument itself
        [sys.executable.encode(), b"-m", b"glasscli", b"tokenize", b"-m", folder.encode(), b"hi\xff"],
        capture_output=True,
        timeout=60,
    )
    assert (result.returncode, result.stdout) == (2, b"")
    assert b"0xff" in result.stderr


def test_a_terminal_that_knows_ascii_only(folder: str) -> None:
    result = process("-m", folder, "--merges", stdin=TEXT.encode(), PYTHONIOENCODING="ascii", LC_ALL="C")
    assert result.returncode == 0, result.stderr
    assert result.stdout.isascii()
    assert b"<U+65E5>" in result.stdout


def test_needs_no_numpy(folder: str) -> None:
    code = (
        "import sys; from glasscli.cli.app import main; main(['tokenize', '-m', sys.argv[1], 'hi', '--merges']);"
        "print({'numpy', 'safetensors'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, timeout=60)
    assert result.stdout.endswith("set()\n"), result.stderr
