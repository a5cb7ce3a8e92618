"""The plot of a sweep as a file: well-formed, every model in it, none under another, its points where they belong."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from helpers.in_process import glass

from glasscli.budget.questions import Settings
from glasscli.budget.subjects import from_name
from glasscli.budget.sweep import Curve, curve, same_as, spaced
from glasscli.errors import OutputError, UsageError
from glasscli.export.curves import check_svg, picture, write_curves

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("llama-2-70b", "llama-3.1-70b", "gemma-3-27b")
LENGTHS = spaced(128, 131072, 65, True)
CURVES = [curve(from_name(name), Settings(), LENGTHS) for name in NAMES]


def drawn(text: str, kind: str = "line") -> list[ET.Element]:
    return [line for line in ET.fromstring(text).iter(f"{SVG}polyline") if line.attrib["class"] == kind]


def points(line: ET.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (point.split(",") for point in line.attrib["points"].split())]


def test_every_model_has_a_line_and_a_name() -> None:
    text = picture(CURVES, log=True, budget=20 * 10**9)
    lines = drawn(text)
    assert len(lines) == 3
    assert len({line.attrib["stroke"] for line in lines}) == 3
    for name in NAMES:
        assert name in text
    assert "budget 18.6 GiB" in text
    assert "40 GiB at 131,072" in text


def test_a_line_on_another_is_dashed_and_said() -> None:
    """Llama 2 and 3.1 of 70 B keep the same: 80 layers of 8 heads × 128."""
    assert [same_as(CURVES, i) for i in range(3)] == [[1], [0], []]
    text = picture(CURVES, log=True)
    assert ["stroke-dasharray" in line.attrib for line in drawn(text)] == [False, True, False]
    assert "the same as llama-3.1-70b" in text


def test_a_line_is_pale_past_what_its_model_was_made_for() -> None:
    """Of the three, Llama 2 alone was made for less than the plot shows: for 4,096 tokens."""
    text = picture(CURVES, log=True)
    (pale,) = drawn(text, "line beyond")
    whole = drawn(text)[0]
    assert pale.attrib["stroke"] == whole.attrib["stroke"]
    assert points(whole)[-1] == points(pale)[0]
    n_within = sum(n <= 4096 for n in LENGTHS)
    assert (len(points(whole)), len(points(pale))) == (n_within, len(LENGTHS) - n_within + 1)
    assert "pale: past the 4,096 it was made for" in text


@pytest.mark.parametrize("log", [True, False])
def test_points_are_where_the_axes_say(log: bool) -> None:
    """On logarithmic axes a full attention's line is straight; on linear ones, from the corner, too."""
    line = points(drawn(picture(CURVES, log))[0])
    (x0, y0), (x1, y1) = line[0], line[-1]
    assert x0 < x1
    assert y0 > y1
    for x, y in line:
        assert y == pytest.approx(y0 + (y1 - y0) * (x - x0) / (x1 - x0), abs=0.6)


def test_names_of_strangers_stay_text() -> None:
    odd = Curve("<script>\x1b&\u202e", (1, 2), (5, 9), (), "f16", "f16")
    text = picture([odd], log=True)
    ET.fromstring(text)
    assert "<script>" not in text
    assert "\x1b" not in text


def test_models_without_a_curve() -> None:
    with pytest.raises(UsageError, match="no curve"):
        picture([Curve("none", (1, 2), (0, 0), (), "f16", "f16")], log=True)
    ET.fromstring(picture([Curve("one", (7,), (5,), (), "f16", "f16")], log=True))


def test_where_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    assert write_curves(CURVES, path, log=True) == len(path.read_bytes())
    with pytest.raises(UsageError, match=r"written as \.svg"):
        check_svg(tmp_path / "a.png")
    with pytest.raises(OutputError, match="no folder"):
        check_svg(tmp_path / "none" / "a.svg")


class TestCommand:
    ARGS = ("kv-budget", "--compare", ",".join(NAMES), "--sweep")

    def test_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "sizes.svg"
        ran = glass(*self.ARGS, "-o", str(path))
        assert (ran.code, ran.out) == (0, "")
        assert ran.err.startswith(f"glass: {path} written, ")
        assert len(drawn(path.read_text("utf-8"))) == 3
        assert glass(*self.ARGS, "-o", str(path), "-q").err == ""

    @pytest.mark.parametrize(
        ("args", "says"),
        [
            (("kv-budget", "--hq", "8", "-o", "a.svg"), "-o writes the plot of --sweep"),
            ((*ARGS, "-o", "a.png"), "written as .svg"),
            ((*ARGS, "-o", "a.svg", "--json"), "--json and -o"),
        ],
    )
    def test_misuse(self, args: tuple[str, ...], says: str) -> None:
        ran = glass(*args)
        assert (ran.code, ran.out) == (2, "")
        assert says in ran.err

    @pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
    def test_no_curve_hides_under_another(self, encoding: str) -> None:
        out = glass(*self.ARGS, columns=80, encoding=encoding).out
        marks = "●○▲" if encoding == "utf-8" else "*o+"
        plot = "\n".join(line for line in out.splitlines() if re.search("[│┤|]", line) or line.startswith(" "))
        counts = [plot.count(mark) for mark in marks]
        assert min(counts) > 20
        assert abs(counts[0] - counts[1]) < 8
        assert f"the same as {marks[1]}" in out

    def test_the_legend_has_the_colours_of_the_curves(self) -> None:
        out = glass(*self.ARGS, "--color", "always", columns=80).out
        legend = [line for line in out.splitlines() if " at 131,072" in line]
        for line, mark in zip(legend, "●○▲", strict=True):
            painted = line[: line.index(mark) + 1]
            assert painted.startswith("\x1b[")
            assert painted in out.split("└")[0]
