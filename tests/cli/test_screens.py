"""The stored screens in tests/golden/screens/ are what the program prints (see tests/golden/make.py)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))
from make import commands, screen

SCREENS = commands()


@pytest.mark.parametrize("file", SCREENS, ids=[file.stem for file in SCREENS])
def test_screen(file: Path) -> None:
    assert f"$ {SCREENS[file]}\n{screen(SCREENS[file])}" == file.read_text("utf-8")
