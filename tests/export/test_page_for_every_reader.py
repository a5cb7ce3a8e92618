"""The page for every reader: by keyboard, by touch, read out loud, at any width, light and dark."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.browser import Browser
from helpers.dump_cases import tiny, tiny_dump

from glasscli.checkpoint.load import load_model
from glasscli.export import export_dump
from glasscli.inspect.dump import dump_decode
from glasscli.inspect.reading import with_reading

STORY = "Once upon a time there was a little girl named Lily. One day,"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "read.html"
    export_dump(with_reading(tiny(), tiny_dump(layers=(0, 1, 2))), path)
    return path


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "story.html"
    loaded = load_model()
    new_ids = loaded.encode(" Lily was playing")[-3:]
    export_dump(with_reading(loaded, dump_decode(loaded, STORY, range(4), new_ids)), path)
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


def test_keys_alone_reach_everything(browser: Browser, file: Path) -> None:
    browser.open(file)
    reached = []
    for _ in range(24):
        browser.press("Tab")
        reached.append(browser.ask("document.activeElement.id || document.activeElement.parentElement.id || "
                                   "document.activeElement.parentElement.className"))  # fmt: skip
    for name in ("text", "first", "back", "play", "step", "tint", "pin", "heads", "stages", "map", "scale", "stream"):
        assert name in reached, reached


def test_arrows_move_between_heads_words_and_stages(browser: Browser, file: Path) -> None:
    browser.open(file, "#L1.H1.q5.k2")
    browser.ask("headButton(1, 1).focus()")
    for key, place in (("ArrowDown", "L2.H1"), ("ArrowRight", "L2.H2"), ("ArrowUp", "L1.H2"), ("ArrowLeft", "L1.H1")):
        browser.press(key)
        assert browser.ask("location.hash").startswith(f"#{place}.")
        assert browser.ask("document.activeElement === headButton(state.layer, state.head)")
    browser.ask("words[5].focus()")
    for key, query in (("ArrowRight", 6), ("Home", 0), ("End", 14), ("ArrowLeft", 13)):
        browser.press(key)
        assert browser.ask("[state.query, words.indexOf(document.activeElement)]") == [query, query]
    browser.press("Enter")
    assert browser.ask("[state.pinned, $('pin').ariaPressed]") == [True, "true"]
    browser.ask("document.querySelector('#stages [aria-checked=true]').focus()")
    browser.press("ArrowLeft")
    assert browser.ask("[state.stage, document.activeElement.value]") == ["masked", "masked"]


def test_everything_that_can_be_used_has_a_name(browser: Browser, file: Path) -> None:
    browser.open(file)
    tree = browser.call("Accessibility.getFullAXTree")["nodes"]
    useful = {"button", "radio", "slider", "combobox", "option", "listbox", "radiogroup", "application", "region"}
    found = [node for node in tree if node["role"]["value"] in useful and not node["ignored"]]
    assert {node["role"]["value"] for node in found} >= {"button", "radio", "slider", "option", "application"}
    # The place of a word to come, and a token that is a blank, are named by nothing else than themselves.
    assert [n for n in found if not n.get("name", {}).get("value") and n["role"]["value"] != "option"] == []


def test_a_finger_pins_a_word_and_a_cell(file: Path) -> None:
    with Browser(400, 900) as phone:
        phone.call("Emulation.setTouchEmulationEnabled", enabled=True)
        phone.open(file)
        phone.tap("#text .word:nth-child(5)")
        assert phone.ask("[state.query, state.pinned]") == [4, True]
        phone.tap("#heads .layer:nth-child(1) button:nth-child(1)")
        assert phone.ask("location.hash").startswith("#L0.H0.q4.")
        phone.tap("#play")
        assert phone.ask("timer !== 0")
        assert phone.complaints() == []


@pytest.mark.parametrize("width", [400, 700, 900, 1100, 1400])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_sticks_out_at_any_width(story: Path, width: int, dark: bool) -> None:
    with Browser(width, 900, dark) as screen:
        screen.open(story)
        assert screen.ask("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        wide = "[...document.querySelectorAll('main *')].filter(e => !e.closest('.wide, #scroll, #heads') &&"
        assert screen.ask(f"{wide} e.getBoundingClientRect().right > innerWidth).map(e => e.id || e.className)") == []
        assert screen.complaints() == []
        assert screen.requests() in ([], ["about:blank"], [story.as_uri()])
