"""What caches cost, as one SVG picture: bytes against KL divergence on logarithmic axes, the frontier drawn."""

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from glasscli.export.svg import xml
from glasscli.export.target import replacing
from glasscli.quality.verdict import frontier
from glasscli.units import format_bytes

if TYPE_CHECKING:
    from glasscli.cache.choice import CacheChoice
    from glasscli.quality.trial import Result

WIDTH, HEIGHT = 860, 560
LEFT, RIGHT, TOP, BOTTOM = 84, 836, 84, 496
LEAST = 1e-5  # what costs less is drawn at the lower edge
CHARACTER, LINE = 6.7, 13  # of a label, in pixels
BELOW = 4  # under its baseline: an underscore, and the margin that is painted around letters
LEGEND = "● packed · ■ tokens dropped · ▲ heads merged, not retrained · filled: no other is smaller and as good"

STYLE = """
svg { background: #fff; color: #0b4f9e; font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
text { fill: #222; stroke: #fff; stroke-width: 3px; paint-order: stroke; }
.dim { fill: #767676; } .title { font-weight: bold; font-size: 13px; }
.grid { stroke: #e4e4e4; } .limit { stroke: #b3541e; stroke-dasharray: 5 4; } .said { fill: #b3541e; }
.leader { stroke: currentColor; opacity: .5; }
.frontier { fill: none; stroke: currentColor; stroke-width: 1.5; opacity: .55; }
.point { fill: #fff; stroke: currentColor; stroke-width: 1.6; } .best { fill: currentColor; }
@media (prefers-color-scheme: dark) {
  svg { background: #14171c; color: #f2c744; }
  text { fill: #e6e6e6; stroke: #14171c; } .dim { fill: #9a9a9a; } .grid { stroke: #2b3038; }
  .limit { stroke: #e58a4e; } .said { fill: #e58a4e; } .point { fill: #14171c; } .best { fill: currentColor; }
}
"""


class Box(NamedTuple):
    """A rectangle that nothing else may cover."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """Whether the two have a point in common."""
        apart = self.right < other.left or other.right < self.left or self.bottom < other.top or other.bottom < self.top
        return not apart


class Axis(NamedTuple):
    """Powers of ten, or of two, from `low` to `high`, between two places of the picture."""

    low: float
    high: float
    start: float
    stop: float

    def at(self, value: float) -> float:
        """Where a value stands."""
        share = math.log(min(max(value, self.low), self.high) / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.stop - self.start)


def write_quality_svg(path: Path, model: str, results: "Sequence[Result]", context: int, max_kld: float) -> None:
    """Write the picture. The file is complete or not there; one that exists is replaced.

    Raises:
        OutputError: it can't be written.
    """
    with replacing(path) as file:
        file.write_text(quality_picture(model, results, context, max_kld), encoding="utf-8")


def quality_picture(model: str, results: "Sequence[Result]", context: int, max_kld: float) -> str:
    """The SVG document."""
    sizes = [result.chunk_bytes for result in results] or [1]
    klds = [max(result.divergence.kld, LEAST) for result in results] or [1.0]
    x_axis = Axis(min(sizes) / 1.4, max(sizes) * 1.4, LEFT, RIGHT)
    lowest, highest = min(*klds, max_kld or LEAST), max(*klds, max_kld)
    y_axis = Axis(10 ** math.floor(math.log10(lowest)), 10 ** math.ceil(math.log10(highest) + 0.1), BOTTOM, TOP)
    best = frontier(results)
    corners = _corners(x_axis, y_axis, best)
    note = f"bytes of {context:,} tokens, as read · mean KL divergence, full cache ‖ this, in nats · logarithmic axes"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="caches of {xml(model)}: bytes against KL divergence">',
        f"<style>{STYLE}</style>",
        _text(LEFT, 28, f"What a smaller cache costs {model}", "title"),
        _text(LEFT, 46, note, "dim"),
        *_grid(x_axis, y_axis, any(result.divergence.kld < LEAST for result in results)),
        *_limit(x_axis, y_axis, max_kld),
        *_frontier(corners),
        *_points(x_axis, y_axis, results, best, _lines(corners, y_axis, max_kld)),
        _text(LEFT, HEIGHT - 18, LEGEND, "dim"),
        "</svg>",
        "",
    ]
    return "\n".join(parts)


def _grid(x_axis: Axis, y_axis: Axis, held: bool) -> list[str]:
    """Lines and their names; `held` says that on the lowest stands what is less, too."""
    parts = []
    for power in range(round(math.log10(y_axis.low)), round(math.log10(y_axis.high)) + 1):
        y = y_axis.at(10.0**power)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        label = f"{10.0**power:g}" if power > -4 else f"10{_raised(power)}"
        least = "≤ " if held and 10.0**power <= y_axis.low * 1.01 else ""
        parts.append(_text(LEFT - 8, y + 4, least + label, "dim", "end"))
    for power in range(math.ceil(math.log2(x_axis.low)), math.floor(math.log2(x_axis.high)) + 1):
        x = x_axis.at(2.0**power)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{BOTTOM}"/>')
        parts.append(_text(x, BOTTOM + 18, format_bytes(2**power) if power >= 0 else "", "dim", "middle"))
    return parts


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _limit(x_axis: Axis, y_axis: Axis, max_kld: float) -> list[str]:
    if max_kld < y_axis.low:
        return []
    y = y_axis.at(max_kld)
    line = f'<line class="limit" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return [line, _text(RIGHT, y - 5, f"limit {max_kld:g}", "said", "end")]


def _corners(x_axis: Axis, y_axis: Axis, best: "Sequence[Result]") -> list[tuple[float, float]]:
    """Steps, from the top to the right edge: what the least divergence is for so many bytes."""
    height, corners = float(TOP), []
    for result in best:
        x, y = x_axis.at(result.chunk_bytes), y_axis.at(result.divergence.kld)
        corners += [(x, height), (x, y)]
        height = y
    return [*corners, (RIGHT, height)] if best else []


def _frontier(corners: Sequence[tuple[float, float]]) -> list[str]:
    if not corners:
        return []
    path = " L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
    return [f'<path class="frontier" d="M{path}"/>']


def _lines(corners: Sequence[tuple[float, float]], y_axis: Axis, max_kld: float) -> list[Box]:
    """What labels keep clear of: the steps, the limit and its name."""
    lines = [Box(min(a, c), min(b, d), max(a, c), max(b, d)) for (a, b), (c, d) in pairwise(corners)]
    if max_kld < y_axis.low:
        return lines
    y = y_axis.at(max_kld)
    return [*lines, Box(LEFT, y, RIGHT, y), Box(RIGHT - CHARACTER * len(f"limit {max_kld:g}"), y - LINE - 4, RIGHT, y)]


def _points(
    x_axis: Axis, y_axis: Axis, results: "Sequence[Result]", best: "Sequence[Result]", lines: Sequence[Box]
) -> list[str]:
    places = [(x_axis.at(result.chunk_bytes), y_axis.at(result.divergence.kld)) for result in results]
    taken = [*lines, *(Box(x - 6, y - 6, x + 6, y + 6) for x, y in places)]
    parts, labels = [], []
    for result, (x, y) in zip(results, places, strict=True):
        name, kld, size = result.choice.explicit_text, result.divergence.kld, format_bytes(result.chunk_bytes)
        kind = "point best" if any(result is other for other in best) else "point"
        said = f"<title>{xml(name)}: {size}, KLD {kld:.3g}</title>"
        parts.append(f'<g class="{kind}">{_shape(result.choice, x, y)}{said}</g>')
        box = _room(name, x, y, taken)
        taken.append(box)
        labels += [*_leader(x, y, box), _text(box.left, box.bottom - BELOW, name)]
    return [*parts, *labels]


def _leader(x: float, y: float, box: Box) -> list[str]:
    """A line from a point to its label, where that stands apart."""
    middle = box.bottom - BELOW - LINE // 3  # of the letters
    if abs(middle - y) < LINE:
        return []
    end, near = (box.bottom if middle < y else box.top), min(max(x, box.left), box.right)
    return [f'<line class="leader" x1="{x:.1f}" y1="{y:.1f}" x2="{near:.1f}" y2="{end:.1f}"/>']


def _shape(choice: "CacheChoice", x: float, y: float) -> str:
    if choice.kv_heads is not None:
        return f'<path d="M{x:.1f} {y - 6:.1f} L{x + 6:.1f} {y + 5:.1f} L{x - 6:.1f} {y + 5:.1f} Z"/>'
    if choice.keeps != "all":
        return f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"/>'


def _room(text: str, x: float, y: float, taken: Sequence[Box]) -> Box:
    """Where a label goes: beside its point, or as near to it as nothing else stands."""
    width = CHARACTER * len(text)
    places = []
    for lines in (0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6):
        baseline = y + 4 + lines * LINE
        places += [(x + 9, baseline), (x - 9 - width, baseline), (x - width / 2, baseline)][: 3 if lines else 2]
    boxes = []
    for left, baseline in places:
        box = Box(left, baseline - LINE + 3, left + width, baseline + BELOW)
        inside = left >= LEFT and box.right <= WIDTH - 4 and box.top >= TOP - LINE and box.bottom <= BOTTOM
        if inside and not any(box.meets(other) for other in taken):
            return box
        boxes.append(box)
    return boxes[0]


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "") -> str:
    kind = f' class="{style}"' if style else ""
    end = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind}{end}>{xml(text)}</text>'
