"""Scales: how large a number is, as a shade, a colour or both. One for weights, one for surprise.

The same colours serve on a dark terminal and on a light one, since nobody can tell which it is. So their lightness
says nothing: it is the same for all, midway between black and white, and what grows with the number is how colourful
they are, how much ink a shade has, whether letters are coloured, underlined or boxed.
"""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from glasscli.cli.page.style import HEAT, paint


@dataclass(frozen=True)
class Scale:
    """Steps of a number.

    Attributes:
        bounds: where each step but the first begins.
        styles: of each step.
    """

    bounds: tuple[float, ...]
    styles: tuple[str, ...]

    def step(self, number: float) -> int:
        """Which step a number is on, 0 for the lowest."""
        return bisect_right(self.bounds, number)

    def style(self, number: float) -> str:
        """The style of a number's step."""
        return self.styles[self.step(number)]


# A weight is a cell of ink: its shade says all, its colour the same again.
WEIGHT = Scale((0.05, 0.2, 0.4, 0.7), HEAT)
LOG_WEIGHT = Scale((0.001, 0.01, 0.1, 0.5), HEAT)
SHADES = ".░▒▓█"
ASCII_SHADES = ".:-=#"

# Surprise, in bits, tints the text itself, which has no room for shades: first the letters, then a box behind them.
SURPRISE = Scale(
    (1.0, 3.0, 5.0, 7.0, 9.0),
    ("", "heat2", "underline heat3", "on-heat2", "on-heat3", "bold on-heat4"),
)


def surprise_legend(unicode: bool, width: int) -> str:
    """What the tints mean, in the tints themselves; on a narrow terminal in two lines."""
    bounds = SURPRISE.bounds
    spans = [*(f"{a:g}-{b:g}" for a, b in pairwise(bounds)), f"{bounds[-1]:g}+"]
    parts = [paint(f" {span} ", style) for span, style in zip(spans, SURPRISE.styles[1:], strict=True)]
    said = f"surprise in bits {'—' if unicode else '-'} plain 0-{bounds[0]:g}"
    fits = len(said) + sum(len(span) + 3 for span in spans) <= width
    return f"{said}{' ' if fits else chr(10)}{' '.join(parts)}"
