"""The manual page is what `make man` writes, and what readers of such pages take without a word."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.in_process import glass, text_of
from helpers.terminal import environment

from glasscli.cli.commands import COMMANDS, summary
from glasscli.cli.help.described import described
from glasscli.cli.help.man import man_page, plain, section
from glasscli.cli.help.parts import Prose, table
from glasscli.cli.help.topics import TOPICS

PAGE = Path(__file__).parents[2] / "cli/help/glass.1"


def test_it_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASS_MODEL", "/somewhere/else")  # the page is the same wherever it is made
    assert PAGE.read_text() == man_page(), "write it anew: make man"
    assert text_of(glass("help", "--man", env={"FORCE_COLOR": "1"})) == man_page()


def test_it_holds_every_command_option_and_topic() -> None:
    page = PAGE.read_text()
    for name in COMMANDS:
        assert f'.SH "GLASS {plain(name.upper())}"' in page
        assert plain(summary(name)) in page
        for each in described(name):
            assert f"\n\\fB{plain(each.title or each.value)}\\fR" in page
    for name in TOPICS:
        assert f'.SH "{plain(name.upper())}"' in page


def test_nothing_in_a_text_is_roff() -> None:
    lines = [*section('A "B"', [Prose(".TH it's a \\trap ~ ^ `x` −1"), table([("-n", ".so /etc/passwd"), ("'x", "")])])]
    requests = [line for line in lines if line.startswith((".", "'"))]
    assert requests == ['.SH "A \\(dqB\\(dq"', ".TP", ".TP"]
    assert all(line.isascii() for line in lines)
    assert "\\[u2212]1" in lines[1]
    assert PAGE.read_bytes().isascii()


READERS = {
    "mandoc": ["mandoc", "-T", "lint", "-W", "warning", str(PAGE)],
    "groff": ["groff", "-man", "-Tutf8", "-ww", "-z", str(PAGE)],
    "man": ["man", "--warnings", "-l", str(PAGE)],
}


@pytest.mark.parametrize("reader", READERS)
def test_readers_take_it(reader: str) -> None:
    if shutil.which(reader) is None:
        pytest.skip(f"there is no {reader} here")
    ran = subprocess.run(READERS[reader], capture_output=True, text=True, env=environment(), check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    if reader == "mandoc":
        assert ran.stdout == ""


def test_a_reader_shows_the_text_as_it_is() -> None:
    if shutil.which("mandoc") is None:
        pytest.skip("there is no mandoc here")
    command = ["mandoc", "-T", "utf8", "-O", "width=200", str(PAGE)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    words = " ".join(re.sub(r".\x08", "", shown).split())  # bold is a letter struck twice
    for text in (
        'echo "Lily had a red" | glass generate --json',
        "-n, --max-new-tokens N",
        "rope_q·rope_kᵀ / √E",
        'glass attend --q "1 0; 1 1; 0 1" --v "2 0; 0 2; 2 2" --digits 6',
        "What each layer would say next, and who speaks for it",
    ):
        assert text in words
