"""The HTML page and the SVG picture: what they hold, and what a browser shows of them."""

import base64
import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.browser import Browser
from helpers.dump_cases import PROMPT, tiny, tiny_decode, tiny_dump

from glasscli.export import export_dump
from glasscli.export.html import page
from glasscli.export.svg import picture
from glasscli.inspect.dump import Dump, dump_attention
from glasscli.inspect.measures import measure_heads

HOSTILE = "</script><script>alert(1)</script> @SCRIPT@ @DATA@ <!-- \u2028 & \" ' \x1b[31m \x00"


@pytest.fixture(scope="module")
def dump() -> Dump:
    return tiny_dump(layers=(0, 1, 2))


@pytest.fixture(scope="module")
def file(dump: Dump, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "attention.html"
    export_dump(dump, path)
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


def part(text: str, tag: str) -> str:
    found = re.search(f"<{tag}>(.*?)</{tag.split()[0]}>", text, re.DOTALL)
    assert found
    return found[1]


def test_a_browser_finds_the_values(browser: Browser, file: Path, dump: Dump) -> None:
    browser.open(file, "#L2.H1.q7.k4")
    weight = float(dump.layers[2].pattern_HTS[1, 7, 4])
    score = float(dump.layers[2].scores_HTS[1, 7, 4])
    assert browser.text("#cell").splitlines() == [
        "layer 2 head 1 → kv 0",
        "· [7] looks at t [4]",
        f"weight {weight:.4f}",
        f"score {score:.3f} before softmax",
    ]
    assert browser.text("#text") == PROMPT
    assert browser.complaints() == []


def test_a_browser_shows_the_measures_of_every_head(browser: Browser, file: Path, dump: Dump) -> None:
    browser.open(file, "#L1.H0.q0.k0")
    for i, m in enumerate(measure_heads(dump.layers[1].pattern_HTS, 0, dump.token_ids, 2)):
        cells = browser.ask(f"[...document.querySelectorAll('#measures tr')[{i + 1}].cells].map(c => c.textContent)")
        assert cells[:3] == [f"head {i}", f"kv {m.kv_head}", f"{m.entropy_bits:.2f}"]
        assert cells[4] == f"{m.sink:.2f}"


def test_the_page_asks_for_nothing_but_itself(browser: Browser, file: Path) -> None:
    browser.open(file)
    assert [url for url in browser.requests() if not url.startswith(file.as_uri())] in ([], ["about:blank"])


def test_keys_move_through_cells_heads_and_layers(browser: Browser, file: Path) -> None:
    browser.open(file, "#L0.H0.q5.k2")
    browser.ask("document.getElementById('map').focus()")
    where: list[str] = []
    for key in ("ArrowDown", "ArrowRight", "PageDown", "]", "ArrowUp", "ArrowLeft", "PageUp", "["):
        browser.press(key)
        where.append(browser.ask("location.hash"))
    assert where == [
        "#L0.H0.q6.k2", "#L0.H0.q6.k3", "#L0.H1.q6.k3", "#L1.H1.q6.k3",
        "#L1.H1.q5.k3", "#L1.H1.q5.k2", "#L1.H0.q5.k2", "#L0.H0.q5.k2",
    ]  # fmt: skip
    browser.press("PageUp")  # there is no head before the first
    assert browser.ask("location.hash") == "#L0.H0.q5.k2"


def test_the_mouse_reads_a_cell(browser: Browser, file: Path, dump: Dump) -> None:
    browser.open(file, "#L0.H2.q14.k0")
    at = browser.ask(
        "(() => { const b = document.getElementById('map').getBoundingClientRect();"
        "return [b.left + place.left + 3.5 * place.size, b.top + place.top + 9.5 * place.size]; })()"
    )
    browser.point(*at)
    assert browser.ask("location.hash") == "#L0.H2.q9.k3"
    assert f"weight {float(dump.layers[0].pattern_HTS[2, 9, 3]):.4f}" in browser.text("#cell")


def test_a_masked_cell_says_why(browser: Browser, file: Path, dump: Dump) -> None:
    browser.open(file, "#L0.H0.q3.k9")
    assert "weight masked" in browser.text("#cell")
    raw = float(dump.layers[0].scores_HTS[0, 3, 9])
    told = f"the key comes after the query; its raw score {raw:.3f} becomes −∞".replace("score -", "score −")
    assert browser.text("#cell").splitlines()[-1] == told


@pytest.mark.parametrize(("width", "dark"), [(400, False), (400, True), (1400, True)])
def test_the_page_fits_and_follows_the_reader_s_colours(file: Path, width: int, dark: bool) -> None:
    with Browser(width, 900, dark) as narrow:
        narrow.open(file)
        assert narrow.ask("document.documentElement.scrollWidth") <= width
        paper = narrow.ask("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper))) < 200) is dark
        assert narrow.complaints() == []


def test_hostile_text_stays_text(browser: Browser, tmp_path: Path) -> None:
    text = HOSTILE.encode("unicode_escape").decode() + "\u202e\x01"
    hostile = dump_attention(tiny(), text, [0])
    path = tmp_path / "hostile.html"
    path.write_text(page(replace(hostile, model="<img src=x onerror=alert(1)>\u202e")))
    browser.open(path)
    assert browser.text("#model") == "<img src=x onerror=alert(1)>\\u202e"
    assert browser.text("#text").startswith("</script><script>alert(1)</script> @SCRIPT@ @DATA@ <!-- ")
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", browser.text("body"))
    assert browser.ask("document.scripts.length") == 2
    assert browser.ask("document.images.length") == 0
    assert browser.complaints() == []


def test_decode_steps_start_at_their_position(browser: Browser, tmp_path: Path) -> None:
    steps = tiny_decode(4)
    path = tmp_path / "steps.html"
    export_dump(steps, path)
    browser.open(path, "#L2.H3.q16.k1")
    assert f"weight {float(steps.layers[1].pattern_HTS[3, 2, 1]):.4f}" in browser.text("#cell")
    assert "(and then chose " in browser.text("#rowtitle")
    assert "decode 4 × 18 from 14" in browser.text("#about")


def test_the_file_alone_holds_all_that_is_shown(file: Path, dump: Dump) -> None:
    text = file.read_text()
    policy = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    for tag in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(part(text, tag).encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert not re.findall(r"""(?:src|href)\s*=|url\(|@import|https?://""", text)
    data = json.loads(part(text.replace(' type="application/json" id="data"', ""), "script"))
    assert data["layers"][2]["heads"][1]["softmax"][7][4] == pytest.approx(
        float(dump.layers[2].pattern_HTS[1, 7, 4]), rel=1e-4
    )
    assert [len(row) for row in data["layers"][0]["heads"][0]["softmax"]] == list(range(1, 16))


def test_a_pooled_cell_names_the_tokens_it_stands_for(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glasscli.export.page_data.LARGEST", 8)
    export_dump(tiny_dump(), tmp_path / "pooled.html")  # 15 tokens: the last block has one
    browser.open(tmp_path / "pooled.html", "#L1.H0.q14.k6")
    assert browser.text("#cell").splitlines()[1] == f"{PROMPT[14]} [14] looks at {PROMPT[6]} [6–7]"
    assert browser.text("#pooled") == "each cell = max of 2×2"


def test_the_picture_is_xml_with_a_value_in_every_visible_cell(dump: Dump) -> None:
    root = ElementTree.fromstring(picture(dump))
    titles = [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 3 * 4 * (15 * 16 // 2)
    assert titles[0].endswith("[0] ← o[0] 1.0000")
    weight = float(dump.layers[0].pattern_HTS[0, 1, 0])
    assert f"n[1] ← o[0] {weight:.4f}" in titles
    assert "max of" not in picture(dump)


def test_titles_of_small_maps_do_not_run_into_each_other() -> None:
    root = ElementTree.fromstring(picture(dump_attention(tiny(), "ab", [0])))
    titles = [node for node in root.iter("{http://www.w3.org/2000/svg}text") if "head" in (node.text or "")]
    for one, other in itertools.pairwise(titles):
        assert int(one.attrib["x"]) + 7 * len(one.text or "") < int(other.attrib["x"])


def test_cells_that_may_be_seen_stand_out_from_masked_ones(dump: Dump) -> None:
    root = ElementTree.fromstring(picture(dump))
    seen = [int(node.attrib["width"]) // 13 for node in root.iter() if node.get("class") == "seen"]
    assert seen == 3 * 4 * list(range(1, 16))


def test_a_long_picture_is_pooled_and_says_so() -> None:
    long = dump_attention(tiny(), "ab" * 80, [0])
    assert "each cell = max of 3×3" in picture(long)


def test_a_picture_of_hostile_tokens_is_still_xml() -> None:
    hostile = dump_attention(tiny(), "<&>\"'\x01\x1b\ufffe]]>", [0])
    ElementTree.fromstring(picture(hostile))


@pytest.mark.parametrize("ending", [".svg", ".html"])
def test_a_folder_may_have_any_name(tmp_path: Path, ending: str) -> None:
    dump = replace(tiny_dump(), model="\x1b[31m\"caf\udce9'<b>")  # bytes that are no UTF-8 come as half surrogates
    path = tmp_path / f"a{ending}"
    export_dump(dump, path)
    text = path.read_text(encoding="utf-8")
    assert "<b>" not in text
    if ending == ".svg":
        assert ElementTree.fromstring(text).get("aria-label") == "attention of �[31m\"caf�'<b>"
