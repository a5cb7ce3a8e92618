"""`glass score` as it is typed: numbers against a reference, every form beside the others, pages at many widths."""

import csv
import io
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import reference
from helpers.dump_cases import tiny, tiny_folder
from helpers.in_process import Ran, glass, text_of
from helpers.random_llama import settings, tensors
from helpers.strict_json import strict
from helpers.terminal import in_terminal
from rich.cells import cell_len

from glasscli.cli.page.scale import SURPRISE, surprise_legend
from glasscli.cli.page.style import paint
from glasscli.inspect.ablation import Part, mean_outputs, remove
from glasscli.inspect.scoring import score_text

TEXT = "one two one two, three"
CORPUS = "a cat\n<|endoftext|>\n\none dog, é\n<|endoftext|>\n"
HOSTILE = "a\x1b]52;c;aGk=\x07b\x9b31m\u202ec\u2028[bold][/]{x}\t日本語 👩‍👩‍👧 é ́"
ANSI = re.compile(r"\x1b\[[\d;]*m")


def score(*args: str, **how: Any) -> Ran:
    return glass("score", "-m", str(tiny_folder()), *args, **how)


def document(*args: str) -> Any:
    ran = score(*args, "--json")
    assert (ran.code, ran.err) == (0, "")
    return strict(ran.out)


def refused(*args: str) -> str:
    ran = score(*args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("glass: ")
    return ran.err


def test_numbers_are_those_of_the_reference() -> None:
    config, ids = settings(vocab_size=257), tiny().encode(TEXT)
    logits = reference.logits(config, tensors(config), ids)
    expected = [float(row[i] - np.logaddexp.reduce(row)) for row, i in zip(logits, ids[1:], strict=False)]
    found = document(TEXT, "--logprobs", "3")
    assert [found["opening"][0]["id"], *(token["id"] for token in found["tokens"])] == ids
    np.testing.assert_allclose([token["logprob"] for token in found["tokens"]], expected, atol=2e-5)
    for row, token in zip(logits, found["tokens"], strict=False):
        assert token["bits"] == pytest.approx(-token["logprob"] / math.log(2))
        assert token["rank"] == 1 + sum(row > row[token["id"]])
        assert [top["id"] for top in token["top"]] == np.argsort(-row, kind="stable")[:3].tolist()
    nats = -sum(expected)
    assert found["n_tokens"] == len(expected)
    assert found["nats"] == pytest.approx(nats, abs=1e-4)
    assert found["perplexity"] == pytest.approx(math.exp(nats / len(expected)), rel=1e-4)
    assert found["bits_per_byte"] == pytest.approx(nats / math.log(2) / (len(TEXT) - 1), rel=1e-5)


def test_the_table_and_csv_say_what_json_says() -> None:
    found = document(TEXT, "--logprobs", "4")
    out = score(TEXT).out
    rows = out.splitlines()[1 : 1 + len(found["tokens"])]
    table = list(csv.DictReader(io.StringIO(score(TEXT, "--csv", "--logprobs", "2").out)))
    for token, row, line in zip(found["tokens"], rows, table, strict=True):
        cells = row.split()
        assert cells[0] == line["position"] == str(token["position"])
        p = math.exp(token["logprob"])
        assert cells[2] == ("<.001" if p < 0.0005 else f"{p:.3f}"[1:])
        assert int(cells[3]) == int(line["rank"]) == token["rank"]
        assert cells[4] == f"{token['bits']:.1f}"
        runners = [top for top in token["top"] if top["id"] != token["id"]][:3]
        shown = re.findall(r" <?(\.\d\d)(?= |$)", row.split(" b ", 1)[1])
        assert [float(share) for share in shown] == [
            pytest.approx(math.exp(top["logprob"]), abs=0.01) for top in runners
        ]
        assert float(line["logprob"]) == pytest.approx(token["logprob"], rel=1e-8)
        assert float(line["bits"]) == pytest.approx(token["bits"], rel=1e-8)
        assert bytes.fromhex(line["bytes"]) == bytes.fromhex(token["bytes"])
        assert float(line["top1_p"]) == pytest.approx(math.exp(token["top"][0]["logprob"]), rel=1e-8)
    assert f"{found['nats_per_token']:.4f} nats a token" in out
    assert f"perplexity {found['perplexity']:.3f}" in out
    assert f"{found['bits_per_byte']:.4f} bits a byte" in out
    assert "after o, which nothing predicts" in out


def test_stories_are_scored_alone_where_a_mark_is_written(tmp_path: Path) -> None:
    file = tmp_path / "stories.txt"
    file.write_text(CORPUS)
    found = document("--text", str(file))
    alone = [document("--split", story)["tokens"] for story in ("a cat", "one dog, é")]
    assert [t["logprob"] for t in found["tokens"]] == [t["logprob"] for story in alone for t in story]
    assert (found["n_texts"], found["source"]) == (2, "stories.txt")
    assert found["n_bytes"] == len("a cat") + len("one dog, é".encode())
    assert [t["text_index"] for t in found["tokens"]] == [0] * len(alone[0]) + [1] * len(alone[1])
    whole = document("--text", str(file), "--no-split")
    assert (whole["n_texts"], whole["n_tokens"]) == (1, len(tiny().encode(CORPUS)) - 1)
    shown = score("--text", str(file)).out
    assert "stories.txt · 2 stories, each alone between two <|endoftext|>" in shown
    assert re.search(r"^ +2:1 ", shown, re.MULTILINE)


def test_long_texts_are_read_in_windows() -> None:
    args = ("a cat and a dog and a cow", "--ctx", "8", "--stride", "2")
    found = document(*args)
    assert [t["position"] for t in found["tokens"]] == list(range(1, 25))
    assert [t["window"] for t in found["tokens"]] == [0] * 8 + [n for n in range(1, 9) for _ in range(2)]
    assert "9 windows of 8, each moved on by 2" in score(*args).out


def test_a_long_text_shows_its_sums() -> None:
    text = "the dog and the cat " * 8
    found = document(text)
    out = score(text).out
    bits = [t["bits"] for t in found["tokens"]]
    high = [b for b in bits if b >= 9]
    assert f"9+ b   {100 * len(high) / len(bits):.1f} %" in re.sub(r" +", " ", out).replace("9+ b ", "9+ b   ")
    shares = [float(share) for share in re.findall(r"(\d+\.\d) %(?: |$)", out)]
    assert sum(shares[::2]) == pytest.approx(100, abs=0.5)
    assert sum(shares[1::2]) == pytest.approx(100, abs=0.5)
    counts = re.findall(r"^ +(?:\d+–\d+|\d+ on) +(\d+) +\d+\.\d{3}", out, re.MULTILINE)
    assert sum(map(int, counts)) == len(bits)
    worst = [float(b) for b in re.findall(r"^ +(\d+\.\d) b", out, re.MULTILINE)]
    assert worst == [round(b, 1) for b in sorted(bits, reverse=True)[:8]]
    assert len(score(text, "--show", "probs").out.splitlines()) > len(bits)


def test_tints_change_the_colour_alone() -> None:
    for text in (TEXT, CORPUS, "日本語 🙂"):
        plain = score(text, "--show", "colour")
        assert plain.err == "glass: no colour here: --color always forces it, --show probs has the numbers\n"
        tinted = score(text, "--show", "color", "--color", "always").out
        assert ANSI.sub("", tinted).replace(ANSI.sub("", f"\n{surprise_legend(True, 100)}\n"), "") == plain.out
        assert not re.search(r"\x1b\[[^m]*m[^\x1b]*\n[^\x1b]*\x1b\[0m", tinted.split("surprise in")[0])
    assert plain.out.startswith("日本語 🙂\n")


def test_a_character_of_several_tokens_is_tinted_once() -> None:
    found = document("aé")
    bits = sum(token["bits"] for token in found["tokens"])
    assert len(found["tokens"]) == 2
    assert paint("é", SURPRISE.style(bits)) in score("aé", "--show", "colour", "--color", "always").out


@pytest.mark.parametrize("show", [(), ("--show", "probs"), ("--show", "sums"), ("--show", "colour")])
@pytest.mark.parametrize("text", [TEXT, CORPUS, HOSTILE, "the dog and the cat " * 8])
def test_no_line_is_wider_than_the_page_and_nothing_steers_it(text: str, show: tuple[str, ...]) -> None:
    for columns in (40, 60, 80, 100, 200):
        out = text_of(score(text, *show, columns=columns))
        lines = out.splitlines() if "colour" not in show else out.split("\n\n", 1)[-1].splitlines()[-6:]
        assert [line for line in lines if cell_len(line) > columns] == []
        if "colour" not in show:
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u200d]", out)
    if "colour" not in show:
        assert text_of(score(text, *show, encoding="ascii")).isascii()


def test_where_a_text_comes_from(tmp_path: Path) -> None:
    file = tmp_path / "story.txt"
    file.write_text(TEXT)
    expected = document(TEXT)["tokens"]
    assert document("--text", str(file))["tokens"] == expected
    for args in ((), ("-",)):
        assert strict(score(*args, "--json", stdin=f"{TEXT}\n".encode()).out)["tokens"] == expected
    said = score(str(file), "--json")
    assert f"there is a file of that name: --text {file}" in said.err
    assert score(str(file), "--json", "-q").err == ""
    assert "can't be read" in refused("--text", str(tmp_path / "none"))
    file.write_bytes(b"a\xff")
    assert "not UTF-8: byte 0xff at offset 1" in refused("--text", str(file))


@pytest.mark.parametrize(("ablate", "how"), [("1.2,mlp0", "zero"), ("1.2=mean,mlp0=mean", "mean")])
def test_a_model_without_parts(ablate: str, how: str) -> None:
    """The numbers of a run that is edited, where the command changes the weights."""
    loaded = tiny()
    parts = [Part(1, 2), Part(0)]
    means = mean_outputs(loaded, loaded.encode(TEXT), parts) if how == "mean" else None
    expected = score_text(loaded, TEXT, edit=remove(parts, means))
    found = document(TEXT, "--ablate", ablate)
    np.testing.assert_allclose(
        [token["logprob"] for token in found["tokens"]], [token.logprob for token in expected.tokens], atol=2e-5
    )
    assert abs(found["nats"] - document(TEXT)["nats"]) > 0.1
    assert "without 1.2" in score(TEXT, "--ablate", ablate).out
    assert "no head 1.9" in refused(TEXT, "--ablate", "1.9")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["a b", "--json", "--csv"], "--json and --csv are two formats"),
        (["a b", "--show", "sums", "--csv"], "--show and --csv are two formats"),
        (["a b", "--text", "x"], "a text and --text are two sources"),
        (["a b", "--logprobs", "2"], "--logprobs has nothing to go into"),
        (["a b", "--show", "colour", "--logprobs", "2"], "--logprobs has nothing to go into"),
        (["a b", "--ctx", "513"], "expected 2 to 512"),
        (["a b", "--ctx", "4", "--stride", "5"], "expected 1 to 4"),
        (["a b", "--ctx", "1"], "1 is too small"),
        (["a"], "nothing predicts the first one"),
        ([""], "nothing predicts the first one"),
        (["--split", " "], "there is no story"),
    ],
)
def test_what_contradicts_is_refused(args: list[str], says: str) -> None:
    assert says in refused(*args)


def test_the_shipped_model_on_a_terminal() -> None:
    code, out = in_terminal("score", "Once upon a time there was a little girl named Lily. One day, Lily")
    assert code == 0
    last = next(line for line in ANSI.sub("", out).splitlines() if line.startswith(" 16 "))
    assert re.match(r" 16  ·Lily +\.\d{3}", last)
    assert "\x1b[" in out
    assert " try  --show colour" in ANSI.sub("", out)
    code, out = in_terminal("score")
    assert (code, out.startswith("glass: no text. Give one")) == (2, True)
