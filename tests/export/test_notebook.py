"""What notebooks show: the page in a frame, and a trace's maps as pictures that a browser can read."""

import base64
import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.browser import Browser
from helpers.dump_cases import PROMPT, tiny, tiny_decode, tiny_dump

from glasscli.export.html import page
from glasscli.export.notebook import MAX_NUMBERS, shaded_png
from glasscli.inspect.dump import dump_attention


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


def test_a_dump_is_its_page_in_a_frame_that_may_only_run_its_script(browser: Browser, tmp_path: Path) -> None:
    shown = tiny_dump(layers=(0, 1, 2))._repr_html_()
    found = re.fullmatch(
        r'<iframe title="([^"]*)" sandbox="allow-scripts" style="[^"]*" srcdoc="([^"]*)"></iframe>', shown
    )
    assert found
    assert html.unescape(found[2]) == page(tiny_dump(layers=(0, 1, 2)), MAX_NUMBERS)
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><title>a notebook</title>{shown}", encoding="utf-8")
    browser.open(path)
    assert browser.complaints() == []
    inside = browser.frame_text()
    assert "Attention of gqa" in inside
    assert "before softmax" in inside


def test_a_hostile_name_stays_in_its_attribute() -> None:
    shown = replace(tiny_dump(), model='"><script>alert(1)</script>')._repr_html_()
    assert "<script>" not in shown
    assert shown.count("<") == 2


def test_a_trace_shows_each_head_and_names_each_array() -> None:
    trace = tiny_dump(layers=(0, 1, 2)).layers[1]
    shown = trace._repr_html_()
    assert [m[1] for m in re.finditer(r'<img alt="([^"]*)"', shown)] == [f"layer 1 head {i}" for i in range(4)]
    assert "<td>resid_post</td><td>resid_post_TD</td><td>15 × 32</td>" in shown
    rms = float(np.sqrt(np.mean(trace.q_HTE.astype(np.float64) ** 2)))
    assert f"<td>q</td><td>q_HTE</td><td>4 × 15 × 8</td><td>{rms:.2f}</td>" in shown
    assert "<td>mask</td><td>mask_TS</td><td>15 × 15</td></tr>" in shown  # a mask has no rms


def test_scores_that_are_not_there_leave_the_others_measured() -> None:
    shown = tiny_decode(4).layers[0]._repr_html_()
    (line,) = re.findall(r"<td>scores</td>.*?</tr>", shown)
    assert "inf" not in line
    assert "nan" not in line


def test_a_browser_reads_the_picture_of_a_head(browser: Browser, tmp_path: Path) -> None:
    weights = np.array([[1, 0, 0], [0.25, 0.75, 0]], np.float32)
    data = base64.b64encode(shaded_png(weights)).decode()
    path = tmp_path / "picture.html"
    path.write_text(f'<!doctype html><title>a picture</title><img src="data:image/png;base64,{data}">')
    browser.open(path)
    pixels = browser.ask(
        "(() => { const i = document.images[0], c = document.createElement('canvas'), x = c.getContext('2d');"
        "c.width = i.naturalWidth; c.height = i.naturalHeight; x.drawImage(i, 0, 0);"
        "return [c.width, c.height, ...x.getImageData(0, 0, c.width, c.height).data]; })()"
    )
    assert pixels[:2] == [3, 2]
    assert pixels[5::4] == [255, 0, 0, 64, 191, 0]
    assert pixels[2:5] == [42, 109, 180]


def test_long_traces_are_pooled() -> None:
    trace = dump_attention(tiny(), PROMPT * 12, [0]).layers[0]
    assert len(trace._repr_html_()) < 60_000
