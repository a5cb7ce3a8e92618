"""`-f FILE` in every command that reads a text: the same answer as for the text itself, less one newline at its end."""

import os
from pathlib import Path

import pytest
from helpers.dump_cases import tiny_folder
from helpers.in_process import Ran, glass

from glasscli.cli.commands import COMMANDS, load
from glasscli.cli.naming import names_of
from glasscli.cli.other_names import TEXTS

TEXT = "a cat\nsat on a\n"
ARGS = {
    "generate": ["-n", "3", "--seed", "1", "--json"],
    "dump-attn": ["--json"],
    "lens": ["--json"],
    "tokenize": ["--json"],
    "lesson": ["2", "--json"],
    "ablate": ["--json"],
}


def run(name: str, *more: str, stdin: bytes = b"") -> Ran:
    return glass(name, *ARGS[name], *more, env={"GLASS_MODEL": str(tiny_folder())}, stdin=stdin)


def without_times(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if '_s"' not in line and "per_s" not in line)


def test_every_command_with_a_text_reads_files() -> None:
    with_text = [
        name
        for name in COMMANDS
        if any(hint.__metadata__[0].metavar in TEXTS for hint in load(name).Options.__annotations__.values())
    ]
    assert {name for name in with_text if "-f" in names_of(load(name).Options)} == set(with_text)
    assert set(ARGS) == {name for name in with_text if name not in ("score", "kv-quality")}  # tried beside their --text


@pytest.mark.parametrize("name", ARGS)
@pytest.mark.parametrize("written", [TEXT, TEXT.replace("\n", "\r\n"), "\ufeff" + TEXT])
def test_a_file_is_read_as_its_text(name: str, written: str, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(written.encode())
    said = run(name, TEXT.removesuffix("\n"))
    assert said.code == 0, said.err
    assert without_times(run(name, "-f", str(path)).out) == without_times(said.out)
    assert without_times(run(name, f"--file={path}").out) == without_times(said.out)
    piped = run(name, "-f", "-", stdin=written.encode())
    assert without_times(piped.out) == without_times(said.out)


@pytest.mark.parametrize("name", ARGS)
def test_what_is_no_text_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"a \xff")
    for args, says in (
        (["a", "-f", str(path)], "a text and -f are two sources: choose one"),
        (["-f", str(tmp_path / "none")], "none: can't be read (No such file or directory)"),
        (["-f", str(tmp_path)], "can't be read (Is a directory)"),
        (["-f", str(path)], "is not UTF-8: byte 0xff at offset 2."),
    ):
        ran = run(name, *args)
        assert (ran.code, ran.out) == (2, ""), args
        assert says in ran.err


def test_a_file_beside_other_sources(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    assert "--file and --prompts are two sources" in run("generate", "--file", str(path), "--prompts", os.devnull).err
    same = glass("generate", "-f", str(path), "-o", str(path), env={"GLASS_MODEL": str(tiny_folder())})
    assert "this file is what is read" in same.err
    assert path.read_text() == TEXT
