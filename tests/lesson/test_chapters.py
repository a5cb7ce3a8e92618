"""Every chapter on the shipped model, on a text of the reader's, and on random models of other families."""

import json
import re
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from helpers.family_configs import FAMILIES
from helpers.family_models import family, random_tensors
from helpers.model_folders import byte_level, write_folder
from helpers.shipped_heads import copying_head, previous_head

from glasscli import LoadedModel, UsageError, load_model
from glasscli.cli.app import parser
from glasscli.cli.commands import COMMANDS
from glasscli.lesson.chapters import CHAPTERS, find_chapter
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import LONGEST, Room

NAMES = [chapter.name for chapter in CHAPTERS]
OWN = "Tom had a big dog. Tom had a big dog and it ran to"
QUICK = [name for name in NAMES if name not in ("heads", "induction")]


@cache
def shipped() -> LoadedModel:
    return load_model()


@cache
def told(name: str, text: str | None = None) -> tuple[Part, ...]:
    chapter = CHAPTERS[find_chapter(name)]
    return tuple(chapter.tell(Room(shipped(), chapter.text if text is None else text)))


def words(parts: Sequence[Part]) -> str:
    """All that is said and claimed."""
    return "\n".join(part.text for part in parts if isinstance(part, Say | Claim | Formula))


def tables(parts: Sequence[Part]) -> list[Table]:
    return [part for part in parts if isinstance(part, Table)]


@pytest.mark.parametrize("name", NAMES)
def test_what_must_be_true_is(name: str) -> None:
    assert [part.text for part in told(name) if isinstance(part, Claim) and not part.holds] == []


@pytest.mark.parametrize("name", NAMES)
def test_it_is_true_of_the_readers_own_text_too(name: str) -> None:
    assert [part.text for part in told(name, OWN) if isinstance(part, Claim) and not part.holds] == []


@pytest.mark.parametrize("name", NAMES)
def test_it_asks_once_answers_by_computing_and_names_commands(name: str) -> None:
    kinds = [type(part) for part in told(name)]
    assert kinds.count(Ask) == 1
    assert kinds[-1] is Try
    answer = told(name)[kinds.index(Ask) + 1 : -1]
    assert re.search(r"\d", words(answer) + str(tables(answer)))


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_whole_and_numbers_are_numbers(name: str) -> None:
    for table in tables(told(name)):
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.headers)}
        if name != "softmax":  # which shows what goes wrong
            assert "nan" not in str(table.rows)


@pytest.mark.parametrize("name", NAMES)
def test_its_numbers_follow_the_text(name: str) -> None:
    if name in ("flash",):  # is about lengths alone
        return
    assert told(name) != told(name, OWN)


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("name", QUICK)
def test_other_families_are_told_of_as_truly(kind: str, name: str) -> None:
    chapter = CHAPTERS[find_chapter(name)]
    parts = list(chapter.tell(Room(family(kind), "one two one two three")))
    assert [part.text for part in parts if isinstance(part, Claim) and not part.holds] == []


@pytest.mark.parametrize("kind", ["qwen3", "gpt2", "gemma3"])
@pytest.mark.parametrize("name", ["heads", "induction"])
def test_so_do_the_slow_chapters(kind: str, name: str) -> None:
    chapter = CHAPTERS[find_chapter(name)]
    parts = list(chapter.tell(Room(family(kind), "one two one two three")))
    assert [part.text for part in parts if isinstance(part, Claim) and not part.holds] == []


def test_the_head_on_paper_has_the_worked_numbers() -> None:
    """By hand: e^(1/√2) = 2.028115, e^(2/√2) = 4.113250; 2.028115 / 6.141365 = 0.330238."""
    paper = next(table for table in tables(told("score")) if "mixed" in table.headers)
    assert [row[3] for row in paper.rows] == ["1.000000", "0.330238 0.669762", "0.197776 0.401112 0.401112"]
    assert [row[4] for row in paper.rows] == ["2.000000 0.000000", "0.660477 1.339523", "1.197776 1.604448"]


def test_the_table_of_four_words_has_the_true_digits() -> None:
    four = tables(told("softmax"))[0]
    shares = ["1.0000", "0.1680 0.8320", "0.0833 0.4127 0.5040", "0.0612 0.1362 0.3030 0.4996"]
    assert [row[2] for row in four.rows] == shares


def test_the_gradient_of_that_table_by_hand() -> None:
    """Row 1: a = 1/(1 + e^1.6), and the largest a·(1 − a) of two shares is theirs both."""
    a = 1 / (1 + np.exp(1.6))
    assert tables(told("softmax"))[0].rows[1][2].startswith(f"{a:.4f}")


def test_the_cache_of_famous_models() -> None:
    """32 layers · 2 · 8,192 tokens · 32 heads · 128 · 2 bytes = 4 GiB, and a quarter of that for 8 of 32 heads."""
    rows = {row[0]: row for row in tables(told("sharing"))[1].rows}
    assert rows["llama-7b"][1:] == ("32, 32", "MHA", "4.0 GiB", "100 %")
    assert rows["llama-3.1-8b"][1:] == ("32, 8", "GQA", "1.0 GiB", "25 %")
    assert rows["falcon-7b"][1:3] == ("71, 1", "MQA")
    assert rows["llama-2-70b"][4] == "12.5 %"
    assert "65,536 tokens" in words(told("cache"))


def test_the_pair_of_copying_heads_is_found() -> None:
    text = words(told("induction"))
    assert f"On 16 of these draws: take out head {previous_head().label}" in text
    assert f"head {copying_head().label} copies" in text


def test_the_copying_head_is_tried_on_the_word_it_points_at() -> None:
    """The text has one name; to the head that copies it is what comes next, and without that head it hardly does."""
    table = next(t for t in tables(told("induction")) if t.headers[1].startswith("p of "))
    assert table.headers[1] == "p of ·Lily"
    whole, without = (float(row[1]) for row in table.rows[:2])
    assert table.rows[1][0] == f"without {copying_head().label}"
    assert without < whole / 2


def test_the_word_before_is_no_find_of_the_head_that_always_reads_it() -> None:
    said = words(told("heads"))
    assert f"by head {previous_head().label}. That is habit: it reads the word before" in said
    assert "Next comes “·animal” at 2" in said


def test_a_large_weight_that_does_nothing_is_shown() -> None:
    found = re.search(
        r"looks hardest: (.\...) of its weight goes to .* taking it out moves (.\....) bits", words(told("cause"))
    )
    assert found is not None
    assert float(found[1]) > 0.5
    assert float(found[2]) < 0.05


def test_what_a_label_holds_beside_the_text_is_said() -> None:
    assert "(“<|endoftext|>” at 0 opens every text, · is a space)" in words(told("vectors"))
    unmarked = next(CHAPTERS[0].tell(Room(family("gpt2"), "one1")))
    assert "words or pieces of words. In the model" in words([unmarked])  # no opening mark, no space


def test_a_table_that_is_cut_says_so() -> None:
    assert tables(told("mask"))[0].rows[-1] == ("2 more, also hidden", "", "−∞", "0")
    assert "These are 8 of 16 heads." in words(told("heads"))
    assert "…" not in str(tables(told("sharing"))[0].rows)


def test_more_heads_than_a_line_holds_are_cut_with_a_mark(tmp_path: Path) -> None:
    given = {**FAMILIES["qwen3"], "vocab_size": 257, "num_attention_heads": 10, "num_key_value_heads": 2}
    folder = write_folder(tmp_path / "ten", given, random_tensors(given), byte_level(257, bos=False))
    who = tables(list(CHAPTERS[8].tell(Room(load_model(folder), "one two one"))))[0]
    assert [row[1] for row in who.rows] == ["moves " * 5 + "stays stays stays …", "stays " * 5 + "moves moves moves …"]


def test_a_single_head_for_keys_and_values() -> None:
    assert "and 1 head for keys and values" in words(list(CHAPTERS[8].tell(Room(family("gemma"), "one two one"))))


def test_heads_of_a_large_model_are_the_few_that_read_hardest(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tables(told("heads"))[-1]
    monkeypatch.setattr("glasscli.lesson.chapters.heads.SHOWN", 3)  # as if 4 × 4 heads were many
    few = tables(list(CHAPTERS[6].tell(Room(shipped(), CHAPTERS[6].text))))[-1]
    assert few.headers[0] == "head (3 of 16)"
    cells = sorted(float(cell.split()[-1]) for row in whole.rows for cell in row[1:])
    assert [float(row[2]) for row in few.rows] == cells[::-1][:3]


def test_who_reads_the_pronoun_is_asked_of_it() -> None:
    (ask,) = (part for part in told("heads") if isinstance(part, Ask))
    assert "“·it”" in ask.question


def test_a_long_text_is_cut_and_said_so() -> None:
    room = Room(shipped(), "word " * 200)
    assert (len(room.ids), room.n_left_out > 100) == (LONGEST, True)


@pytest.mark.parametrize("name", ["0", "15", "", "masks", "1.5", "９", "99999999999999"])
def test_a_chapter_that_does_not_exist(name: str) -> None:
    with pytest.raises(UsageError, match="there is no chapter"):
        find_chapter(name)


def test_parts_can_be_written_down() -> None:
    json.dumps([vars(part) for name in NAMES for part in told(name)])


def test_the_commands_that_are_named_can_be_typed() -> None:
    """As far as their options go: a text in place of TEXT, another in place of ANOTHER."""
    for name in NAMES:
        for command in told(name)[-1].commands:  # type: ignore[union-attr]
            words = shlex.split(command.replace("TEXT", "'The cat'").replace("ANOTHER", "'The dog'"))
            assert words[0] == "glass"
            assert words[1] in COMMANDS
            made = parser(words[1]).main(words[2:], standalone_mode=False)
            assert not isinstance(made, int)
            getattr(made, "check", lambda: None)()
