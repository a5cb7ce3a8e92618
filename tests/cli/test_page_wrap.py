"""Lines of a width: nothing is lost, nothing is wider, what belongs together stays together."""

from hypothesis import given
from hypothesis import strategies as st

from glasscli.cli.page.cells import cells
from glasscli.cli.page.page import Line, Page, spaced
from glasscli.cli.page.wrap import fill

WORDS = st.text("ab−日👍🏽é🙂", min_size=1, max_size=30)


def texts(lines: list[Line]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


@given(st.lists(WORDS, min_size=1, max_size=12), st.integers(20, 60))
def test_prose_fills_lines_and_loses_nothing(words: list[str], width: int) -> None:
    lines = texts(Page(width).wrap(" ".join(words), "  ", first="> "))
    assert max(map(cells, lines)) <= width
    assert lines[0].startswith("> ")
    assert all(line.startswith("  ") for line in lines[1:])
    assert "".join(line[2:] for line in lines).replace(" ", "") == "".join(words)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), max_size=6), st.integers(20, 60))
def test_pieces_hang_under_the_first(pieces: list[str], width: int) -> None:
    lines = texts(Page(width).flow("name  ", pieces))
    assert max(map(cells, lines)) <= width
    assert "".join(lines).replace(" ", "") == "name" + "".join(pieces).replace(" ", "")
    hang = "name  " if width >= 4 * 6 else "  "
    assert all(line.startswith(" " * len(hang)) for line in lines[1:])


@given(st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), min_size=1, max_size=6), st.integers(20, 60))
def test_no_line_of_a_list_begins_or_ends_with_what_parts_items(items: list[str], width: int) -> None:
    lines = texts(Page(width).listed(items, "  "))
    assert max(map(cells, lines)) <= width
    assert not [line for line in lines if line.strip(" ").startswith("·") or line.endswith(" ·")]


def test_by_hand() -> None:
    page = Page(20)
    assert texts(page.wrap("one two three four five six", "  ", first="")) == ["one two three four", "  five six"]
    assert texts(page.listed(["layer 2", "4 heads", "9 × 9"], "  ")) == ["layer 2 · 4 heads", "  9 × 9"]
    assert texts(page.flow("rank ", ["16 GiB", "on the fullest"])) == ["rank 16 GiB", "     on the fullest"]
    assert texts(page.flow("nobody fits here ", ["a b", "c"], indent=2)) == ["nobody fits here a b", "  c"]
    assert texts(page.flow("  ", ["a word and a long one", "b"], indent=4)) == ["  a word and a long", "    one  b"]
    assert texts(page.say("it needs some 128 KiB of room", indent=2)) == ["it needs some", "  128 KiB of room"]
    assert fill([(" · ", "a long item"), (" · ", "b")], 8, "─ ", "  ", whole=True) == ["─ a long item", "  b"]
    assert fill([(" ", "abcdefgh")], 5, "> ", "  ") == ["> abc", "  def", "  gh"]


def test_a_label_is_dimmed_and_pieces_are_styled() -> None:
    assert Page(20).flow("rank ", ["16 GiB", "on the fullest"], "red") == [
        [("rank ", "dim"), ("16 GiB", "red")],
        [("     on the fullest", "red")],
    ]


def test_blocks_have_one_empty_line_between_two() -> None:
    a, b = [("a", "")], [("b", "")]
    assert spaced([], [a], [], [b, b], []) == [a, [], b, b]
