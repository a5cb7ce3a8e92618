"""The page as its reader uses it: mouse, finger, keys; words, heads, stages, steps."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.browser import Browser
from helpers.dump_cases import PROMPT, tiny, tiny_dump, write_folder
from helpers.shipped_heads import copying_head

from glasscli.checkpoint.load import LoadedModel, load_model
from glasscli.export import export_dump
from glasscli.export.page_data import strongest_head
from glasscli.generation.loop import generate
from glasscli.generation.sampling import SamplingParams
from glasscli.inspect.dump import Dump, dump_attention, dump_decode
from glasscli.inspect.lens import read_lens
from glasscli.inspect.measures import MEANING
from glasscli.inspect.reading import with_reading

STORY = "Once upon a time there was a little girl named Lily. One day,"


@pytest.fixture(scope="module")
def shipped() -> LoadedModel:
    return load_model()


@pytest.fixture(scope="module")
def dump() -> Dump:
    return with_reading(tiny(), tiny_dump(layers=(0, 1, 2)))


@pytest.fixture(scope="module")
def file(dump: Dump, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "read.html"
    export_dump(dump, path)
    return path


@pytest.fixture(scope="module")
def written(shipped: LoadedModel) -> Dump:
    steps = generate(shipped, STORY, params=SamplingParams(temperature=0.0), max_new_tokens=4)
    return with_reading(shipped, dump_decode(shipped, STORY, range(4), [step.token_id for step in steps]))


@pytest.fixture(scope="module")
def story(written: Dump, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "story.html"
    export_dump(written, path)
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


def word(at: int) -> str:
    return f"#text .word:nth-child({at + 1})"


def share(browser: Browser, at: int) -> int:
    return int(browser.ask(f"document.querySelector({json.dumps(word(at))}).style.getPropertyValue('--share')")[:-1])


def test_it_opens_on_the_strongest_head_and_the_last_word(browser: Browser, file: Path, dump: Dump) -> None:
    browser.open(file)
    layer, head = strongest_head(dump)
    assert browser.ask("location.hash").startswith(f"#L{layer}.H{head}.q14.k")
    checked = browser.ask("[...document.querySelectorAll('#heads [aria-checked=true]')].map(b => b.ariaLabel)")
    assert [name.split(",")[0] for name in checked] == [f"layer {layer} head {head}"]
    assert browser.complaints() == []


def test_every_head_of_every_layer_has_a_map(browser: Browser, file: Path) -> None:
    browser.open(file)
    assert browser.ask("document.querySelectorAll('#heads canvas').length") == 12
    browser.click("#heads .layer:nth-child(3) button:nth-child(3)")
    assert re.match(r"#L2\.H2\.", browser.ask("location.hash"))


def test_words_show_what_the_pointed_one_looks_at_until_one_is_pinned(browser: Browser, file: Path, dump: Dump) -> None:
    browser.open(file, "#L1.H2.q14.k0")
    browser.hover(word(9))
    assert browser.ask("location.hash") == "#L1.H2.q9.k0"
    pattern = dump.layers[1].pattern_HTS[2]
    assert [share(browser, at) for at in range(10)] == [round(78 * float(pattern[9, at]) ** 0.5) for at in range(10)]
    blind = browser.ask("[...document.querySelectorAll('.word')].map(w => w.classList.contains('blind'))")
    assert blind == [False] * 10 + [True] * 5 + [False]  # the last is the place of a word to come
    browser.click(word(9))
    browser.hover(word(4))
    assert browser.ask("state.query") == 9
    assert browser.ask("document.querySelector('.word.pinned').textContent") == PROMPT[9]
    browser.press("Escape")
    browser.hover(word(5))
    assert browser.ask("state.query") == 5


def test_a_word_before_the_key_looks_at_its_own_strongest(browser: Browser, file: Path, dump: Dump) -> None:
    browser.open(file, "#L1.H2.q14.k12")
    browser.hover(word(5))
    assert browser.ask("[state.query, state.key]") == [5, int(dump.layers[1].pattern_HTS[2, 5].argmax())]


def test_in_a_long_text_the_chosen_word_is_in_sight(browser: Browser, tmp_path: Path) -> None:
    export_dump(tiny_dump(prompt=f"{PROMPT} " * 30, layers=(1,)), tmp_path / "long.html")
    browser.open(tmp_path / "long.html")
    seen = (
        "(() => { const t = $('text').getBoundingClientRect(), w = words[state.query].getBoundingClientRect();"
        "return [$('text').scrollHeight > t.height, t.top <= w.top && w.bottom <= t.bottom, scrollY]; })()"
    )
    assert browser.ask(seen) == [True, True, 0]
    browser.click("#first")
    assert browser.ask(seen) == [True, True, 0]


def test_many_heads_are_small_and_the_chosen_one_is_in_sight(tmp_path: Path) -> None:
    loaded = load_model(write_folder(tmp_path / "deep", num_hidden_layers=24))
    export_dump(dump_attention(loaded, PROMPT, range(24)), tmp_path / "deep.html")
    with Browser(1400, 1000) as screen:
        screen.open(tmp_path / "deep.html", "#L23.H3.q9.k2")
        assert screen.ask("[$('heads').className, document.querySelectorAll('#heads canvas').length]") == ["many", 96]
        assert screen.ask(
            "(() => { const t = $('heads').getBoundingClientRect(), h = headButton(23, 3).getBoundingClientRect();"
            "return t.top <= h.top && h.bottom <= t.bottom; })()"
        )


def test_words_show_what_looks_at_one(browser: Browser, file: Path, dump: Dump) -> None:
    browser.open(file, "#L1.H2.q14.k0")
    browser.ask("(() => { const s = $('tint'); s.value = 'to'; s.dispatchEvent(new Event('change')); })()")
    browser.hover(word(4))
    assert browser.ask("state.key") == 4
    pattern = dump.layers[1].pattern_HTS[2]
    assert [share(browser, at) for at in range(4, 15)] == [
        round(78 * float(pattern[q, 4]) ** 0.5) for q in range(4, 15)
    ]
    assert share(browser, 3) == 0


def test_stages_lead_from_raw_scores_to_weights(browser: Browser, file: Path, dump: Dump) -> None:
    browser.open(file, "#L0.H1.q3.k9")
    pixel = "(() => { const c = cellsOfHead.getContext('2d').getImageData(9, 3, 1, 1).data; return [...c]; })()"
    void = browser.ask("(() => { readRamps(); return [...voidColor, 255]; })()")
    seen = {}
    for key, name in (("1", "scores"), ("2", "masked"), ("3", "softmax")):
        browser.press(key)
        assert browser.ask("document.querySelector('#stages [aria-checked=true]').value") == name
        seen[name] = browser.ask(pixel)
    assert seen["scores"] != void
    assert seen["masked"] == seen["softmax"] == void
    browser.click("#stages [value=masked]")
    assert "−∞ where a query may not look" in browser.text("#rampnote")


def test_scores_are_shaded_by_sign_on_one_scale(browser: Browser, file: Path, dump: Dump) -> None:
    browser.open(file, "#L0.H1.q3.k0")
    largest = float(abs(dump.layers[0].scores_HTS[1]).max())
    browser.press("1")
    assert f"score −{largest:.1f} to {largest:.1f}" in browser.text("#rampnote")


def test_the_player_walks_through_what_was_written(browser: Browser, story: Path, written: Dump) -> None:
    browser.open(story)
    start = written.start
    chosen = [token.label for token in written.chosen]
    assert browser.text("#stepnote") == f"1 of 4: wrote {chosen[0]}"
    assert browser.ask("$('first').disabled && $('back').disabled")
    for step in range(1, 4):
        browser.click("#on")
        assert browser.text("#stepnote") == f"{step + 1} of 4: wrote {chosen[step]}"
    assert browser.text("#coming") == chosen[3].replace("·", " ")
    browser.click("#first")
    assert browser.text("#coming") == ""
    browser.press("p")
    browser.ask("new Promise(done => setTimeout(done, 4500))", wait=True)
    assert browser.ask(f"[state.query - {start}, timer]") == [3, 0]  # it stops at the end


def test_bars_tell_what_comes_next_and_which_it_was(
    browser: Browser, story: Path, written: Dump, shipped: LoadedModel
) -> None:
    browser.open(story)
    (lens,) = read_lens(shipped, STORY, n_top=6)
    rows = browser.ask("[...document.querySelectorAll('#next li')].map(li => [...li.children].map(c => c.textContent))")
    last = lens.rows[-1].top
    assert [row[0] for row in rows[:6]] == [guess.token.label for guess in last]
    assert [row[1] for row in rows[:6]] == [f"{g.p:.3f}"[1:] for g in last]
    assert browser.text("#next .came .name") == written.chosen[0].label
    assert browser.text("#nexttitle") == f"After ,[{written.start}] it would say".replace(",[", ", [")


def test_each_layer_says_what_the_lens_says(browser: Browser, story: Path, shipped: LoadedModel) -> None:
    browser.open(story)
    (lens,) = read_lens(shipped, STORY, n_top=4)
    table = browser.ask(
        "[...document.querySelectorAll('#lens tr')].slice(1).map(r => [...r.cells].map(c => c.textContent))"
    )
    assert len(table) == 9
    for (name, length, says), row in zip(table, lens.rows, strict=True):
        assert name.endswith({"embedding": "embedding", "resid_mid": "attention", "resid_post": "MLP"}[row.place])
        assert float(length) == pytest.approx(row.norm, abs=0.06)
        assert says.startswith(row.top[0].token.label)
    browser.click("#on")
    assert "Lily" in browser.text("#lenstitle")


def test_heads_are_called_by_their_roles(browser: Browser, story: Path, written: Dump) -> None:
    browser.open(story)
    assert written.reading is not None
    assert written.reading.roles
    assert (copying_head().layer, copying_head().head) in written.reading.roles
    for (layer, head), role in written.reading.roles.items():
        button = f"headButton({layer}, {head})"
        assert browser.ask(f"{button}.querySelector('small').textContent") == role
        assert browser.ask(f"{button}.title").startswith(f"layer {layer} head {head} · kv {head // 2} · {role}: ")


def test_each_measure_is_defined_where_it_stands(browser: Browser, file: Path) -> None:
    browser.open(file)
    legend = browser.ask(
        "[...document.querySelectorAll('#legend dt')].map(t => [t.textContent, t.nextSibling.textContent])"
    )
    assert dict(legend) == MEANING
    titles = browser.ask("[...document.querySelectorAll('#measures th')].map(t => [t.textContent, t.title])")
    assert {name: title for name, title in titles if title} == MEANING


def test_a_page_of_some_layers_says_so_and_leaves_out_what_it_cannot_know(browser: Browser, tmp_path: Path) -> None:
    export_dump(tiny_dump(layers=(1,)), tmp_path / "one.html")
    browser.open(tmp_path / "one.html")
    assert browser.text("#allnote") == "of the 1 traced of 3 layers"
    assert browser.ask("$('saying').hidden && $('stream').hidden")
    assert browser.complaints() == []


def test_rows_that_were_not_read_say_nothing(browser: Browser, dump: Dump, tmp_path: Path) -> None:
    assert dump.reading is not None
    places = tuple(replace(p, norms=p.norms[-2:], top=p.top[-2:]) for p in dump.reading.places)
    less = replace(dump.reading, start=13, places=places, next=dump.reading.next[-1:])
    export_dump(replace(dump, reading=less), tmp_path / "less.html")
    browser.open(tmp_path / "less.html", "#L0.H0.q13.k0")
    assert not browser.ask("$('saying').hidden || $('stream').hidden")
    browser.press(",")
    assert browser.ask("[state.query, $('saying').hidden, $('stream').hidden]") == [12, True, True]
