"""The picture of caches: names stand clear of the steps, and the lowest line says what stands on it."""

import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest

from glasscli.cache.choice_text import parse_choice
from glasscli.export.quality_svg import quality_picture
from glasscli.quality.divergence import Divergence
from glasscli.quality.trial import Result

SVG = "{http://www.w3.org/2000/svg}"
DESCENT = 3.5  # how far an underscore of 11 pixels and the margin of 1.5 around it reach under the baseline


def result(spec: str, kld: float, n_bytes: int) -> Result:
    return Result(parse_choice(spec), n_bytes, 0, n_bytes, Divergence(100, 0.01, 0.001, kld, kld, kld, 0.9), None)


def picture(*results: Result) -> ET.Element:
    return ET.fromstring(quality_picture("a model", results, 256, 0.01))


@pytest.mark.parametrize("kld", np.geomspace(0.0021, 0.0023, 12))
def test_no_step_runs_through_the_name_of_a_point_just_above_it(kld: float) -> None:
    drawn = picture(result("q4_0", 0.02, 288), result("q5_1", 0.002, 384), result("k=q8_0,v=q4_0", kld, 416))
    (steps,) = [path for path in drawn.iter(f"{SVG}path") if path.get("class") == "frontier"]
    corners = [tuple(map(float, place.split())) for place in steps.get("d", "").removeprefix("M").split(" L")]
    (label,) = [text for text in drawn.iter(f"{SVG}text") if text.text == "k=q8_0,v=q4_0"]
    left, baseline = float(label.get("x", 0)), float(label.get("y", 0))
    right, top, bottom = left + 6.6 * len(label.text or ""), baseline - 8, baseline + DESCENT
    for (x0, y0), (x1, y1) in pairwise(corners):
        assert max(x0, x1) < left or min(x0, x1) > right or max(y0, y1) < top or min(y0, y1) > bottom


@pytest.mark.parametrize(("least", "said"), [(1e-7, "≤ 10⁻⁵"), (0.0, "≤ 10⁻⁵"), (2e-5, "10⁻⁵"), (0.002, "0.001")])
def test_the_lowest_line_says_that_less_stands_on_it_too(least: float, said: str) -> None:
    texts = [
        text.text or "" for text in picture(result("f16", least, 512), result("q4_0", 0.02, 144)).iter(f"{SVG}text")
    ]
    assert said in texts
    assert ("≤" in " ".join(texts)) == said.startswith("≤")


def test_a_name_that_stands_apart_is_led_to() -> None:
    crowd = [result(f"q8_0,window={n}", 0.03 + n / 1e6, 500 + n) for n in range(1, 6)]
    drawn = picture(*crowd)
    apart = [line for line in drawn.iter(f"{SVG}line") if line.get("class") == "leader"]
    assert len(apart) >= 3
