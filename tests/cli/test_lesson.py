"""`glass lesson` through a pipe, as JSON, and page by page in a terminal."""

import json
import os
import re
from pathlib import Path

import pytest
from helpers.in_process import glass
from helpers.strict_json import strict
from helpers.terminal import Terminal
from helpers.terminal import glass as glass_process
from rich.cells import cell_len

from glasscli.cli.commands.lesson.place import Place, read_place, save_place, state_file
from glasscli.cli.page.page import Page
from glasscli.lesson.chapters import CHAPTERS
from glasscli.locate.shipped import shipped_folder

QUICK = ("mask", "softmax", "rope")
N = len(CHAPTERS)


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.mark.parametrize("columns", [40, 80, 100, 200])
@pytest.mark.parametrize("name", QUICK)
def test_no_line_is_wider_than_the_page(name: str, columns: int) -> None:
    ran = glass("lesson", name, "日本 the cat 🙂 the cat sat", columns=columns)
    assert (ran.code, ran.err) == (0, "")
    assert max(cell_len(line) for line in ran.out.splitlines()) <= columns


def test_a_pipe_gets_plain_text_whole() -> None:
    ran = glass("lesson", "4")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert ran.out.startswith(f"4 of {N} · No word sees a later one\n")
    assert "✓ 36 of 81 cells are hidden" in ran.out
    assert ran.out.index("?  Take the mask away") < ran.out.index("weight on later words")


def test_ascii_where_the_terminal_has_no_more() -> None:
    ran = glass_process("lesson", "softmax", PYTHONIOENCODING="ascii")
    assert ran.returncode == 0
    assert b"J = diag(a) - a_a^T" in ran.stdout
    assert ran.stdout.isascii()


def test_the_list_and_its_json() -> None:
    listed = glass("lesson", "--list").out.splitlines()
    assert len(listed) == N >= 14
    assert listed[3].split(maxsplit=2) == ["4", "mask", "No word sees a later one"]
    assert strict(glass("lesson", "--list", "--json").out)[3]["name"] == "mask"


def test_json_says_what_each_part_is() -> None:
    (chapter,) = strict(glass("lesson", "mask", "--json").out)["chapters"]
    assert (chapter["number"], chapter["name"], len(chapter["token_ids"])) == (4, "mask", 9)
    kinds = {"say", "formula", "table", "claim", "ask", "try"}
    assert {next(iter(part)) for part in chapter["parts"]} == kinds
    assert all(part["holds"] for part in chapter["parts"] if "claim" in part)


def test_the_readers_text_from_the_command_line_and_from_stdin() -> None:
    told = glass("lesson", "mask", "Tim had a red ball").out
    assert "text  Tim had a red ball\n" in told
    assert glass_process("lesson", "mask", "-", stdin=b"Tim had a red ball\n").stdout.decode() == told


def test_commands_to_try_name_the_model_that_was_named(tmp_path: Path) -> None:
    folder = tmp_path / "my model"
    folder.symlink_to(shipped_folder())
    told = glass("lesson", "cache", "-m", str(folder), columns=300).out.splitlines()
    assert told[-2:] == [
        f"""try  glass dump-attn "The cat saw the dog. The cat" --decode -m '{folder}'""",
        "     glass kv-budget --model llama-3.1-8b --budget 8GiB",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([f"{N + 1}"], f"there is no chapter '{N + 1}'. There are 1 to {N}: vectors, score,"),
        (["mask", ""], "a text of 1 token is too short for a lesson"),
        (["mask", "a"], "a text of 2 tokens is too short"),
        (["mask", "-m", "nowhere/at/all"], "nowhere/at/all"),
    ],
)
def test_what_can_not_be_taught_is_said(words: list[str], said: str) -> None:
    ran = glass("lesson", *words)
    assert ran.code in (1, 2)
    assert ran.out == ""
    assert said in ran.err


def lesson(keys: str, *words: str, columns: int = 80) -> tuple[int, str]:
    """What a terminal shows of `glass lesson WORDS` when `keys` are typed, without escape sequences."""
    terminal = Terminal("lesson", *words, columns=columns, XDG_STATE_HOME=os.environ["XDG_STATE_HOME"])
    os.write(terminal._ours, keys.encode())
    code, seen = terminal.finish()
    return code, re.sub(r"\x1b\[[0-9;]*m", "", seen)


def test_page_by_page_the_answer_comes_when_asked_for() -> None:
    code, first = lesson("q\n", "mask")
    assert code == 0
    assert "Take the mask away" not in first
    _, whole = lesson("\n" * 3 + "q\n", "mask")
    question, answer = whole.index("?  Take the mask away"), whole.index("weight on later words")
    assert "Enter: on" in whole[question:answer]


def test_forth_and_back_and_to_another_chapter() -> None:
    _, seen = lesson("\nb\n5\nq\n", "mask")
    pages = re.findall(r"page (\d) of", seen)
    assert pages[:3] == ["1", "2", "1"]
    assert f"5 of {N}" in seen


def test_what_is_no_chapter_is_said_under_the_page_which_stays() -> None:
    _, seen = lesson("99\nq\n", "mask")
    said = seen.index("there is no chapter '99'")
    assert seen.index("page 1 of") < said < seen.rindex("page 1 of")
    assert f"4 of {N}" not in seen[said:]


def test_it_goes_on_where_the_reader_left_with_the_readers_text() -> None:
    lesson("\nq\n", "mask", "Tim had a red ball and")
    assert read_place() == Place("mask", read_place().part, "Tim had a red ball and")  # type: ignore[union-attr]
    code, seen = lesson("q\n")
    assert code == 0
    assert f"4 of {N}" in seen
    assert "Tim had a red ball and" in seen
    assert "page 2 of" in seen


def test_back_from_a_chapters_beginning_is_the_end_of_the_one_before() -> None:
    _, seen = lesson("b\nq\n", "5")
    assert seen.index(f"5 of {N}") < seen.index(f"4 of {N}") < seen.index("weight on later words")


def test_the_end_of_a_chapter_leads_to_the_next() -> None:
    _, seen = lesson("\n" * 4 + "q\n", "mask")
    assert seen.index(f"4 of {N}") < seen.index("weight on later words") < seen.index(f"5 of {N}")


def test_a_closed_input_leaves() -> None:
    code, _ = lesson("\x04", "mask")
    assert code == 0


def test_after_the_last_chapter_the_course_begins_again(own_state: Path) -> None:
    save_place(Place("cache", 0, None))
    assert read_place() == Place("cache", 0, None)
    state_file().write_text(json.dumps({"chapter": "cache", "part": 99, "text": None}))
    code, seen = lesson("q\n")
    assert code == 0
    assert f"10 of {N}" in seen


@pytest.mark.parametrize(
    "damaged", ["", "[]", "{}", '{"chapter": 4, "part": 0, "text": null}', '{"chapter":"mask","part":-1,"text":null}']
)
def test_a_damaged_bookmark_is_no_bookmark(damaged: str) -> None:
    state_file().parent.mkdir(parents=True)
    state_file().write_text(damaged)
    assert read_place() is None


def test_a_state_folder_that_can_not_be_made_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    save_place(Place("mask"))
    assert read_place() is None


def test_pages_fit_the_terminal_and_hold_all_parts() -> None:
    from glasscli import load_model
    from glasscli.cli.commands.lesson.read import _paged
    from glasscli.lesson.room import Room

    chapter = CHAPTERS[3]
    room = Room(load_model(), chapter.text)
    parts = list(chapter.tell(room))
    page = Page(width=80)
    pages = _paged(page, parts, room, 20)
    assert len(pages) > 2
    together = [line for _, lines in pages for line in lines]
    assert together == [line for _, lines in _paged(page, parts, room, 10_000) for line in lines]
