"""The page: tables, what reaches a terminal, colours, ASCII."""

import re
import sys

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.style import Style

from glasscli.cli.console import printable
from glasscli.cli.page import style
from glasscli.cli.page.ascii import ASCII, in_ascii
from glasscli.cli.page.page import Page

ROWS = [["a", "1.0 MiB"], ["日本", "20.5 GiB"], ["total", "21"]]


def drawn(page: Page, *args: object, **settings: object) -> list[str]:
    return [page.render(line) for line in page.table(*args, **settings)]  # type: ignore[arg-type]


def test_a_table() -> None:
    assert drawn(Page(40), ["name", "bytes"], ROWS, left=[0], sections=[1]) == [
        "name       bytes",
        "────────────────",
        "a        1.0 MiB",
        "日本    20.5 GiB",
        "",
        "total         21",
    ]


def test_a_table_gives_up_its_gap_and_then_itself() -> None:
    rows = [["x" * 10, "y" * 10]]
    assert drawn(Page(23), ["a", "b"], rows)[-1] == "xxxxxxxxxx   yyyyyyyyyy"
    assert drawn(Page(22), ["a", "b"], rows)[-1] == "xxxxxxxxxx  yyyyyyyyyy"
    assert drawn(Page(21), ["a", "b"], rows) == []


def test_columns_are_measured_as_they_are_shown() -> None:
    """In ASCII a character may take several."""
    page = Page(40, unicode=False)
    assert drawn(page, ["f", "n"], [["√x", "1"], ["ab", "²"]], left=[0]) == [
        "f        n", "----------", "sqrtx    1", "ab      ^2",
    ]  # fmt: skip
    narrow = Page(10, unicode=False)
    assert narrow.fits(narrow.table(["f", "n"], [["√x", "1"], ["ab", "²"]]))


def test_nothing_reaches_a_terminal_that_steers_it() -> None:
    hostile = "a\x1b]52;c;aGk=\x07b\x9b31m\u202ec\u2028[bold]\r\n"
    page = Page(60, colored=True)
    shown: list[str] = []
    writing = Page(60, colored=True, write=shown.append)
    writing.show([[(hostile, "red")], *page.wrap(hostile), *page.flow(hostile, [hostile]), *page.listed([hostile])])
    writing.show([*page.table([hostile, "b"], [[hostile, hostile]]), *page.columns([[(hostile, "")]], [False])])
    text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(shown))
    assert "[bold]" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", text)


def test_what_python_prints_needs_no_escape() -> None:
    """`printable` passes over texts that Python calls printable: none of their characters steers."""
    plain = [c for c in map(chr, range(sys.maxunicode + 1)) if c.isprintable()]
    assert [c for c in plain if printable(f"\n{c}", keep="\n") != f"\n{c}"] == []


def test_ascii_is_ascii_and_the_dot_is_the_page_s() -> None:
    assert all(sign.isascii() and not c.isascii() for c, sign in ASCII.items())
    assert in_ascii("a · b → 日", dot="|") == r"a | b -> \u65e5"
    assert Page(unicode=False, dot=".").render([("RMSNorm(x)·W_Q", "")]) == "RMSNorm(x).W_Q"


def test_spaces_at_the_end_of_a_line_are_left_out() -> None:
    page = Page(colored=True)
    assert page.render([("a  ", "bold"), ("   ", "red"), ("", "dim")]) == "\x1b[1ma\x1b[0m"
    assert page.render([("  ", "bold")]) == ""


@pytest.mark.parametrize("name", [*style.CODES, "bold underline"])
def test_styles_are_those_of_the_library(name: str) -> None:
    assert style.paint("x", name) == Style.parse(name).render("x", color_system=ColorSystem.TRUECOLOR)


@pytest.mark.parametrize("name", style.PALETTE)
def test_the_palette_is_near_what_it_stands_for(name: str) -> None:
    (red, green, blue), nearest = style.PALETTE[name]
    color = RichColor.from_rgb(red, green, blue)
    assert color.downgrade(ColorSystem.EIGHT_BIT).number == nearest
    assert style.paint("x", name) == f"\x1b[38;5;{nearest}mx\x1b[0m"
    assert style.paint("x", name, truecolor=True) == f"\x1b[38;2;{red};{green};{blue}mx\x1b[0m"


def test_every_character_that_steers_a_terminal_is_shown_and_not_sent() -> None:
    """C0, DEL, C1; marks of direction, embeddings, overrides and isolates (UAX #9); separators; half surrogates."""
    steering = [*range(0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF]
    steering += [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xD800, 0xDFFF]
    for code in steering:
        shown = printable(f"a{chr(code)}b")
        assert shown.isascii()
        assert shown.startswith("a\\")
        assert f"{code:02x}" in shown
    for text in ("é日本🙂", "a b", "\u00a0", "\u2065"):
        assert printable(text) == text or not text.isprintable()
