"""Sizes over context as one SVG picture: a line for each model, light and dark, sizes when pointed at.

A line that lies on another is dashed, so that both are seen; where it goes on past what the model was made for, pale.
"""

from collections.abc import Sequence
from html import escape
from math import log2
from pathlib import Path

from glasscli.budget.sweep import Curve, same_as
from glasscli.budget.sweep_axes import BYTES, Unit, round_numbers, short_count
from glasscli.errors import UsageError
from glasscli.export.target import check_target, replacing

WIDTH, HEIGHT = 760, 420  # of the frame that the lines are drawn in
LEFT, TOP = 90, 48
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#7b4fa3", "#777777")
STYLE = """
svg { background: #fff; font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
text { fill: #222; } .dim { fill: #767676; } .grid { stroke: #ddd; } .budget { stroke: #a00; stroke-dasharray: 2 4; }
.line { fill: none; stroke-width: 2.5; } .beyond { stroke-opacity: .35; } .knee { stroke: #aaa; stroke-dasharray: 1 4; }
@media (prefers-color-scheme: dark) {
  svg { background: #14171c; } text { fill: #e6e6e6; } .dim { fill: #9a9a9a; } .grid { stroke: #333; }
  .budget { stroke: #f66; } .knee { stroke: #777; }
}
"""


class Scale:
    """Where on the picture a context and a size are. `log`: both axes are logarithmic; else from 0, or the least."""

    def __init__(self, curves: Sequence[Curve], log: bool, budget: int | None) -> None:
        self.log = log
        sizes = [size for curve in curves for size in curve.sizes if size] + ([budget] if budget else [])
        if not sizes:
            raise UsageError("these models keep nothing that grows: there is no curve to draw")
        self.first, self.last = curves[0].tokens[0], curves[0].tokens[-1]
        top = (max(sizes) - 1).bit_length()
        self.low = 1 << (min(sizes).bit_length() - 1) if log else 0
        self.high = max(1 << top, 2 * self.low) if log else max(sizes)

    def x(self, tokens: int) -> float:
        """Pixels from the left."""
        return LEFT + WIDTH * self._share(tokens, self.first, self.last)

    def y(self, size: int) -> float:
        """Pixels from the top."""
        return TOP + HEIGHT * (1 - self._share(size, self.low, self.high))

    def sizes(self) -> list[int]:
        """About six round sizes for the vertical axis."""
        if self.log:
            powers = range(self.low.bit_length() - 1, self.high.bit_length())
            return [2**power for power in powers[:: 1 + len(powers) // 8]]
        step = 2 ** max(0, (self.high // 5).bit_length())
        return list(range(0, self.high + 1, step))

    def _share(self, value: int, low: int, high: int) -> float:
        if high == low:
            return 1.0
        if self.log:
            return (log2(value) - log2(low)) / (log2(high) - log2(low))
        return (value - low) / (high - low)


def check_svg(path: Path) -> None:
    """Refuse a file that could not be written, before any work. Raises UsageError, or OutputError."""
    if path.suffix != ".svg":
        raise UsageError(f"{path}: a plot is written as .svg")
    check_target(path)


def write_curves(curves: Sequence[Curve], path: Path, log: bool, budget: int | None = None, of: Unit = BYTES) -> int:
    """Write the picture to `path`; the bytes written. Raises UsageError, OutputError as `check_svg`."""
    check_svg(path)
    with replacing(path) as temporary:
        temporary.write_text(picture(curves, log, budget, of), encoding="utf-8")
    return path.stat().st_size


def picture(curves: Sequence[Curve], log: bool, budget: int | None = None, of: Unit = BYTES) -> str:
    """The SVG document of curves that have the same contexts, `of` bytes or of something else that is counted."""
    scale = Scale(curves, log, budget)
    height = TOP + HEIGHT + 50 + 20 * (len(curves) + (budget is not None))
    width = LEFT + WIDTH + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{of.title}">',
        f"<style>{STYLE}</style>",
        _text(LEFT, 24, of.title),
        *_axes(scale, of),
    ]
    for length in sorted({knee for curve in curves for knee in curve.knees}):
        x = scale.x(length)
        parts += [_rule("knee", x, TOP, x, TOP + HEIGHT, f"windows are full at {length:,}")]
    if budget is not None:
        y = scale.y(budget)
        parts.append(_rule("budget", LEFT, y, LEFT + WIDTH, y, f"{of.across} {of.say(budget)}"))
    for i, curve in enumerate(curves):
        parts += _line(scale, curve, COLOURS[i % len(COLOURS)], sum(j < i for j in same_as(curves, i)), of)
    for i, curve in enumerate(curves):
        parts += _legend(curves, i, curve, TOP + HEIGHT + 54 + 20 * i, of)
    if budget is not None:
        parts.append(_text(LEFT, height - 10, f"- - -  {of.across} {of.say(budget)}", "dim"))
    return "\n".join([*parts, "</svg>", ""])


def _axes(scale: Scale, of: Unit) -> list[str]:
    parts = []
    for size in scale.sizes():
        y = scale.y(size)
        parts += [_rule("grid", LEFT, y, LEFT + WIDTH, y), _text(LEFT - 8, y + 4, of.tick(size), "dim", "end")]
    for tokens in round_numbers(scale.first, scale.last, scale.log):
        x = scale.x(tokens)
        parts += [_rule("grid", x, TOP, x, TOP + HEIGHT)]
        parts += [_text(x, TOP + HEIGHT + 18, short_count(tokens), "dim", "middle")]
    return parts


def _line(scale: Scale, curve: Curve, colour: str, over: int, of: Unit) -> list[str]:
    """The curve, dashed the more the more others it lies `over`, and a spot to point at for each of its points.

    Past what the model was made for it is pale, from its last point before that on.
    """
    points = [(scale.x(n), scale.y(size), n, size) for n, size in zip(curve.tokens, curve.sizes, strict=True) if size]
    dashes = f' stroke-dasharray="{max(2, 16 >> over)} {32 - max(2, 16 >> over)}"' if over else ""
    most = curve.made_for
    within = sum(most is None or n <= most for _, _, n, _ in points)
    parts = []
    for kind, piece in (("line", points[:within]), ("line beyond", points[max(0, within - 1) :])):
        if piece and (kind == "line" or within < len(points)):
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in piece)
            parts.append(f'<polyline class="{kind}" stroke="{colour}"{dashes} points="{path}"/>')
    for x, y, n, size in points:
        said = f"{_xml(curve.name)}: {of.say(size)} at {n:,}"
        said += f", made for {most:,}" if most is not None and n > most else ""
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="transparent"><title>{said}</title></circle>')
    return parts


def _legend(curves: Sequence[Curve], i: int, curve: Curve, y: float, of: Unit) -> list[str]:
    dtypes = curve.k_dtype if curve.k_dtype == curve.v_dtype else f"K {curve.k_dtype} V {curve.v_dtype}"
    words = f"{curve.name}   {dtypes}   {of.say(curve.sizes[-1])} at {curve.tokens[-1]:,}"
    words += f"   pale: past the {curve.made_for:,} it was made for" if curve.beyond else ""
    alike = [curves[j].name for j in same_as(curves, i)]
    words += f"   the same as {' and '.join(alike)}" if alike else ""
    swatch = f'<rect x="{LEFT}" y="{y - 10}" width="24" height="10" fill="{COLOURS[i % len(COLOURS)]}"/>'
    return [swatch, _text(LEFT + 34, y, words)]


def _rule(kind: str, x1: float, y1: float, x2: float, y2: float, title: str = "") -> str:
    inside = f"<title>{_xml(title)}</title>" if title else ""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}">{inside}</line>'


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    """A piece of text."""
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{named} text-anchor="{anchor}" xml:space="preserve">{_xml(text)}</text>'


def _xml(text: str) -> str:
    """`text` as XML takes it: a name may be that of a stranger's file."""
    return escape("".join(c if c.isprintable() else "�" for c in text))
