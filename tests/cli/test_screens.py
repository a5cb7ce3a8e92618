"""The stored screens in tests/golden/screens/ are what the program prints (see tests/golden/make.py)."""

from pathlib import Path

import pytest
from golden.make import commands, like, shows_numbers
from golden.rounding import MARK, like_stored, marked

SCREENS = commands()


@pytest.mark.parametrize("file", SCREENS, ids=[file.stem for file in SCREENS])
def test_screen(file: Path) -> None:
    stored = file.read_text("utf-8")
    assert like(SCREENS[file], stored) == stored


@pytest.mark.parametrize("file", SCREENS, ids=[file.stem for file in SCREENS])
def test_little_of_a_screen_is_left_open(file: Path) -> None:
    text = file.read_text("utf-8")
    shown = "".join(text.split())
    assert shown.count(MARK) <= (0.02 * len(shown) if shows_numbers(SCREENS[file]) else 0)
    assert MARK not in text.splitlines(), "a whole line is left open"


def test_what_rounding_changes_is_left_open_and_nothing_else() -> None:
    stored = marked("a .49 █ b 2e-06\nc < 1e-06 3e-04", ["a .50 █ b -3e-17\nc < 1e-06 3e-04"])
    assert stored == f"a .{MARK}{MARK} █ b {MARK}e-{MARK}{MARK}\nc < 1e-06 3e-04"
    assert like_stored("a .51 █ b 8e-07\nc < 1e-06 3e-04", stored) == stored
    for other in ("a .51 ▓ b 8e-07\nc < 1e-06 3e-04", "a .51 █ b 8e-07\nc < 1e-05 3e-04", "a .51 █ b 8e-07"):
        assert like_stored(other, stored) != stored
    assert like_stored("a .51 █ b 8e-07\nc < 1e-06 3e-04\n", stored) != stored
    with pytest.raises(ValueError, match="zip"):
        marked("one", ["one\ntwo"])
