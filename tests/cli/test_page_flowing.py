"""Running text broken at words while it streams: what a terminal shows, whichever way the text is cut."""

from itertools import pairwise

import pytest
from helpers.screen import screen
from hypothesis import given
from hypothesis import strategies as st

from glasscli.cli.page.cells import cells
from glasscli.cli.page.flowing import Flowing


def shown(pieces: list[str], columns: int) -> list[str]:
    flowing = Flowing(lambda: columns)
    return screen("".join(flowing.push(piece) for piece in pieces), columns)


@pytest.mark.parametrize(
    ("pieces", "columns", "lines"),
    [
        (["one two three"], 20, ["one two three"]),
        (["one", " two", " three", " four"], 10, ["one two", "three", "four"]),
        (["one two th", "r", "ee", " four"], 11, ["one two", "three four"]),  # wiped and written again
        (["one two t", "hree"], 10, ["one two", "three"]),
        (["12345678", "9", "x y"], 10, ["123456789", "x y"]),  # nine columns and the free one
        (["a" * 25, " b"], 10, ["a" * 9, "a" * 9, "a" * 7 + " b"]),  # longer than a line
        (["x " + "a" * 12], 10, ["x", "a" * 9, "aaa"]),
        (["one\n\ntwo\n"], 10, ["one", "", "two", ""]),
        (["123456789", " ", "\n", "next"], 10, ["123456789", "next"]),  # the space at the end makes no empty line
        (["123456789", "  ", " next"], 10, ["123456789", "next"]),
        (["  indented", "\n  twice"], 20, ["  indented", "  twice"]),
        (["日本語日本語"], 10, ["日本語日", "本語"]),  # two cells each, broken between any two
        (["ab 日本", "語日x"], 10, ["ab 日本語", "日x"]),
        (["cafe\u0301 x", "y cafe\u0301"], 10, ["cafe\u0301 xy", "cafe\u0301"]),
        (["a\tb\tc"], 12, ["a       b", "c"]),
        (["🙂🙂🙂🙂", "🙂"], 10, ["🙂🙂🙂🙂", "🙂"]),
    ],
)
def test_cases(pieces: list[str], columns: int, lines: list[str]) -> None:
    assert shown(pieces, columns) == lines


TEXTS = st.text(st.sampled_from("ab é語\n\t日.—"), max_size=80)


@given(TEXTS, st.integers(10, 30), st.data())
def test_the_cut_into_pieces_changes_nothing_that_is_shown(text: str, columns: int, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    lines = shown(pieces, columns)
    assert lines == shown([text], columns)
    assert not any(line.startswith(">") for line in lines)  # nothing left to the terminal to break
    assert all(cells(line) < columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())  # nothing lost, nothing doubled


@given(st.lists(st.text("abc", min_size=1, max_size=9), max_size=30), st.integers(11, 40))
def test_words_that_fit_a_line_are_never_broken_and_lines_are_full(words: list[str], columns: int) -> None:
    lines = shown([" ".join(words)], columns)
    assert [word for line in lines for word in line.split()] == words
    for line, after in pairwise(lines):
        assert len(line) + 1 + len(after.split()[0]) > columns - 1


def test_every_piece_is_shown_at_once() -> None:
    flowing = Flowing(lambda: 10)
    written = [flowing.push(piece) for piece in ("one", " tw", "o t", "hree", "")]
    assert written == ["one", " tw", "o t", "\b \nthree", ""]


def test_styles_go_with_their_words() -> None:
    flowing = Flowing(lambda: 12)
    written = flowing.push("one two ", "dim") + flowing.push("th", "bold") + flowing.push("ree", "")
    assert written == "\x1b[2mone two \x1b[0m\x1b[1mth\x1b[0m\b\b  \n\x1b[1mth\x1b[0mree"
