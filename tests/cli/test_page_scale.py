"""Scales and colours: seen as well on a light terminal as on a dark one, and more of them for more."""

import re

import pytest
from helpers.dump_cases import tiny_folder
from helpers.in_process import glass

from glasscli.cli.page import style
from glasscli.cli.page.scale import ASCII_SHADES, LOG_WEIGHT, SHADES, SURPRISE, WEIGHT, Scale, surprise_legend

WHITE, BLACK = (255, 255, 255), (0, 0, 0)
Color = tuple[int, int, int]


def luminance(color: Color) -> float:
    """WCAG 2.2, "relative luminance"."""
    linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Color, other: Color) -> float:
    """WCAG 2.2, "contrast ratio": from 1 to 21; 3 for large letters and signs, 4.5 for text."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def indexed(index: int) -> Color:
    """One of the 256 colours, as xterm has them: a cube of six levels, then greys."""
    if index >= 232:
        return (8 + 10 * (index - 232),) * 3
    levels = (0, 95, 135, 175, 215, 255)
    return levels[(index - 16) // 36], levels[(index - 16) // 6 % 6], levels[(index - 16) % 6]


@pytest.mark.parametrize("name", style.PALETTE)
def test_every_colour_is_read_on_black_and_on_white(name: str) -> None:
    color, index = style.PALETTE[name]
    assert indexed(index) == color
    assert min(contrast(color, WHITE), contrast(color, BLACK)) >= 3.6


def test_letters_in_a_box_are_read() -> None:
    boxes = [word.removeprefix("on-") for name in SURPRISE.styles for word in name.split() if word.startswith("on-")]
    assert len(boxes) == 3
    for name in boxes:
        ink = {style.WHITE: WHITE, style.BLACK: BLACK}[style.INK.get(name, style.BLACK)]
        assert contrast(style.PALETTE[name][0], ink) >= 4.5


def colourful(color: Color) -> int:
    return max(color) - min(color)


def test_more_is_more_colourful_and_as_light() -> None:
    """A ramp in lightness is read backwards on half of all terminals."""
    ramp = [style.PALETTE[name][0] for name in style.HEAT]
    chroma = [colourful(color) for color in ramp]
    assert chroma == sorted(set(chroma))
    for color in ramp:
        assert 0.125 < luminance(color) < 0.25


@pytest.mark.parametrize("scale", [WEIGHT, LOG_WEIGHT, SURPRISE])
def test_steps_begin_at_their_bounds(scale: Scale) -> None:
    assert len(scale.styles) == len(scale.bounds) + 1 == len(set(scale.styles))
    for i, bound in enumerate(scale.bounds):
        assert (scale.step(bound - 1e-9), scale.step(bound)) == (i, i + 1)
        assert scale.style(bound) == scale.styles[i + 1]


def test_surprise_goes_from_letters_to_boxes() -> None:
    ranks = [
        ("on-" in name) * 8 + ("underline" in name) * 2 + ("bold" in name) + bool(name) for name in SURPRISE.styles
    ]
    assert ranks == sorted(ranks)
    heats = [name[-1] for name in SURPRISE.styles if "on-" in name]
    assert heats == sorted(heats)
    legend = surprise_legend(unicode=True, width=80)
    assert all(style.paint(f" {span} ", name) in legend for span, name in zip(
        ("1-3", "3-5", "5-7", "7-9", "9+"), SURPRISE.styles[1:], strict=True))  # fmt: skip
    assert surprise_legend(unicode=False, width=80).isascii()
    assert [len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in surprise_legend(True, 40).split("\n")] == [28, 28]
    assert "\n" not in legend


def test_a_dot_in_a_map_is_no_space_in_a_token() -> None:
    """On one page a sign means one thing: what opens a token is not what stands for a small weight."""
    assert len(SHADES) == len(ASCII_SHADES) == len(WEIGHT.styles) == len(LOG_WEIGHT.styles)
    assert "·" not in SHADES
    assert "_" not in ASCII_SHADES
    out = glass("dump-attn", "-m", str(tiny_folder()), "a cat and a dog").out
    assert "· = space" in out
    assert "_ = space" in glass("dump-attn", "-m", str(tiny_folder()), "a cat and a dog", encoding="ascii").out
    assert "= space" not in glass("dump-attn", "-m", str(tiny_folder()), "cat").out
