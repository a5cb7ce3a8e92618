"""Stop strings in a stream: never shown, not even in part; nothing else is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasscli.errors import UsageError
from glasscli.generation.stopping import StopText


def feed(pieces: list[str], stops: list[str]) -> tuple[list[str], str | None]:
    """What each piece let out, then the rest; and which stop string matched."""
    text = StopText(stops)
    out = [text.push(piece) for piece in pieces]
    return [*out, text.finish()], text.matched


def test_without_stop_strings_nothing_waits() -> None:
    assert feed(["a", "", "b\n"], []) == (["a", "", "b\n", ""], None)


@pytest.mark.parametrize(
    ("pieces", "stops", "shown", "matched"),
    [
        (["said", " the", " C", "at", "."], ["the Cat"], ["said", " ", "", "", "", ""], "the Cat"),
        (["said", " the", " C", "ow", "."], ["the Cat"], ["said", " ", "", "the Cow", ".", ""], None),
        (["so the", " C"], ["the Cat"], ["so ", "", "the C"], None),  # flushed at the end
        (["aaa", "aab"], ["aab"], ["a", "aa", ""], "aab"),  # the start moves on
        (["one\n", "\ntwo"], ["\n\n"], ["one", "", ""], "\n\n"),
        (["abc"], ["b", "abc"], ["a", ""], "b"),  # complete first, however the text is cut
        (["ab", "c"], ["b", "abc"], ["a", "", ""], "b"),
        (["xab"], ["b", "ab"], ["x", ""], "ab"),  # complete together: the longer
        (["日本", "語"], ["本語"], ["日", "", ""], "本語"),
    ],
)
def test_cases(pieces: list[str], stops: list[str], shown: list[str], matched: str | None) -> None:
    assert feed(pieces, stops) == (shown, matched)


def test_an_empty_stop_string_is_refused() -> None:
    with pytest.raises(UsageError, match="empty"):
        StopText([".", ""])


@given(st.text("ab", max_size=30), st.lists(st.text("ab", min_size=1, max_size=4), max_size=3), st.data())
def test_the_cut_into_pieces_changes_nothing(text: str, stops: list[str], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    shown, matched = feed(pieces, stops)
    ends = [n for n in range(len(text) + 1) for stop in stops if text[:n].endswith(stop)]
    if not ends:
        assert ("".join(shown), matched) == (text, None)
    else:
        assert matched == max((stop for stop in stops if text[: min(ends)].endswith(stop)), key=len)
        assert "".join(shown) == text[: min(ends) - len(matched)]
