"""The README's picture of a terminal: what one shows now, legible everywhere, from no other place."""

import re
from xml.etree import ElementTree

import pytest
from helpers.screen_svg import CELL, DARK, EDGE, LIGHT, svg
from terminal_picture import PICTURE, picture

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_is_what_a_terminal_shows_now() -> None:
    """After a change that is meant: python tests/terminal_picture.py."""
    assert PICTURE.read_text("utf-8") == picture()


def test_the_picture_asks_for_nothing() -> None:
    text = PICTURE.read_text("utf-8")
    assert len(text) <= 60_000
    assert re.findall(r"https?:[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"url\(|@import|@font-face|<(script|image|use|foreignObject)|href", text)


def luminance(color: str) -> float:
    """How light a colour is, as contrast counts it. Source: WCAG 2.2, relative luminance."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(("ground", "letters"), [DARK, LIGHT], ids=["dark", "light"])
def test_its_letters_are_read_on_both_grounds(ground: str, letters: str) -> None:
    texts = [one for one in ElementTree.parse(PICTURE).iter(f"{SVG}text") if (one.text or "").strip(". ")]
    colors = {found[0] for one in texts if (found := re.findall(r"fill: (#\w+)", one.get("style", "")))}
    assert len(colors) >= 3
    assert contrast(letters, ground) >= 7
    assert min(contrast(color, ground) for color in colors) >= 3


def drawn(screen: str, columns: int = 20) -> list[ElementTree.Element]:
    """What is drawn on the ground."""
    root = ElementTree.fromstring(svg(screen, columns, "a screen"))
    return [one for one in root if one.tag in (f"{SVG}rect", f"{SVG}text") and one.get("class") != "ground"]


def test_a_run_stands_in_its_columns() -> None:
    (first, second) = drawn("ab\x1b[31m  <c&\x1b[0m")
    assert (first.text, second.text) == ("ab", "<c&")
    assert float(first.get("x", "")) == EDGE
    assert float(second.get("x", "")) == pytest.approx(EDGE + 4 * CELL)
    assert float(second.get("textLength", "")) == pytest.approx(3 * CELL, abs=0.1)


def test_wide_characters_take_two_columns() -> None:
    (_, after) = drawn("日\x1b[1mx\x1b[0m")
    assert float(after.get("x", "")) == pytest.approx(EDGE + 2 * CELL, abs=0.1)
    assert after.get("style") == "font-weight: bold"


def test_colours_are_the_terminals() -> None:
    """Of 256 colours, 16 + 36 r + 6 g + b is in a cube whose levels are 0, 95, 135, 175, 215, 255, as xterm has it."""
    (one,) = drawn("\x1b[4;38;5;166mx\x1b[0m")  # 166 - 16 = 4 · 36 + 1 · 6 + 0
    assert one.get("style") == "fill: #d75f00; text-decoration: underline"
    ground, letters = drawn("\x1b[48;2;1;2;3mx\x1b[0m")
    assert (ground.get("fill"), letters.text) == ("#010203", "x")


def test_shades_are_drawn_a_run_of_each() -> None:
    shades = drawn("▒▒█ \x1b[2m.\x1b[0m")
    assert [one.get("fill-opacity") for one in shades] == ["0.5", "1.0", None]
    assert [one.get("width") for one in shades[:2]] == [f"{2 * CELL:.1f}", f"{CELL:.1f}"]
    assert shades[2].get("opacity") is not None


def test_the_ground_is_as_large_as_the_screen() -> None:
    root = ElementTree.fromstring(svg("a\n\nb", 40, "three lines"))
    assert root.get("width") == str(round(40 * CELL + 2 * EDGE))
    assert float(root.get("height", "")) == 3 * 18 + 2 * EDGE
