"""Cells that text takes: against what terminals draw, not against the library that counts."""

import pytest
from rich.cells import cell_len

from glasscli.cli.page.cells import ONE_CELL, cells, clusters, crop, cut, join_fitting, pad

FAMILY, TONED, FLAG = "👩‍👩‍👧", "👍🏽", "🇩🇪"

# What kitty 0.48, foot 1.28, Ghostty 1.3, WezTerm 20260716, Konsole 23.08 and Windows Terminal 1.24 draw, by the
# cursor positions that ucs-detect 2.3.8 publishes; what they disagree about is as most terminals have it.
DRAWN = {
    "": 0, "abc": 3, "é": 1, "e\u0301": 1, "\u0301": 0, "日本語": 6, "ｶﾞ": 2, "한": 2, "ที่": 1, "█░": 2, "−Δ√": 3,
    FAMILY: 2, "👨‍👩‍👧‍👦": 2, "👩🏽‍🚀": 2, "🏳️‍🌈": 2, TONED: 2, FLAG: 2, FLAG + "🇫🇷": 4, "🇩": 1,
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f": 2, "1️⃣": 2, "❤️": 2, "❤": 1, "🙂": 2,
    # A tone that colours nothing is a square of its own: in alacritty, Ghostty, iTerm2, Konsole, VTE, xterm, tmux.
    "🏽": 2, "a🏽": 3, " 🏽": 3, "🏽🏽": 4, "☝🏽": 2, f"{TONED}{TONED}": 4,
    f"a{FAMILY}日{TONED}b": 8,
}  # fmt: skip


@pytest.mark.parametrize("text", DRAWN, ids=ascii)
def test_cells_are_what_terminals_draw(text: str) -> None:
    assert cells(text) == DRAWN[text]
    assert sum(map(cells, clusters(text))) == DRAWN[text]
    assert "".join(clusters(text)) == text


def test_our_own_signs_take_one_cell_each() -> None:
    assert {c for c in ONE_CELL if cell_len(c) != 1} == set()


def test_what_is_joined_is_not_parted() -> None:
    assert list(clusters(f"a{FAMILY}{FLAG}b{TONED}e\u0301🇩x")) == ["a", FAMILY, FLAG, "b", TONED, "e\u0301", "🇩", "x"]
    for width in range(1, 9):
        head, rest = cut(FAMILY + FLAG + TONED, width)
        assert head + rest == FAMILY + FLAG + TONED
        assert head in (FAMILY, FAMILY + FLAG, FAMILY + FLAG + TONED)
        assert cells(head) <= max(2, width)


@pytest.mark.parametrize(
    "text", [*DRAWN, "a longer text of many words", "日本語" * 5, FAMILY * 4, f"x{FLAG}" * 4], ids=ascii
)
@pytest.mark.parametrize("width", range(12))
def test_padded_text_takes_what_it_was_given(text: str, width: int) -> None:
    assert cells(pad(text, width)) == cells(pad(text, width, right=True)) == width
    cropped = crop(text, width)
    assert cells(cropped) <= width
    assert cropped == text if cells(text) <= width else cropped == "" or cropped.endswith("…")
    if cells(text) > width > 0:
        assert text.startswith(cropped.removesuffix("…"))


def test_pieces_that_fit_are_joined() -> None:
    assert join_fitting("try", ["日本", "abcdef", "x"], 12) == "try  日本  x"
