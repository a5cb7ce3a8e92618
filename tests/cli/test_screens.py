"""The stored screens in tests/golden/screens/ are what the program prints (see tests/golden/make.py)."""

import sys
from pathlib import Path

import pytest
from in_process import glass

from glasscli.cli.commands import COMMANDS

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))
from make import commands, screen

SCREENS = commands()


@pytest.mark.parametrize("file", SCREENS, ids=[file.stem for file in SCREENS])
def test_screen(file: Path) -> None:
    assert f"$ {SCREENS[file]}\n{screen(SCREENS[file])}" == file.read_text("utf-8")


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=["glass", *COMMANDS])
def test_help_fits_a_terminal(command: list[str]) -> None:
    """80 columns, but for lines that are there to be copied."""
    shown = glass(*command, "--help", columns=80).out.splitlines()
    assert len(shown) > 10
    assert [line for line in shown if len(line) > 80 and " glass " not in line] == []
