"""`glass compare`: the numbers are the library's and TransformerLens', and only attention mixes tokens."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from helpers.dump_cases import tiny, tiny_folder
from helpers.in_process import Ran, glass, text_of
from helpers.strict_json import strict

from glasscli.cli.page.cells import cells
from glasscli.inspect.ablation import Part
from glasscli.inspect.comparison import compare, movement
from glasscli.inspect.patching import patch_parts, patch_stream

THEIRS = json.loads((Path(__file__).parents[1] / "inspect" / "transformer_lens.json").read_text())
A, B = "one two one two", "one six one two"


def compared(*args: str, columns: int = 100) -> Ran:
    return glass("compare", "-m", str(tiny_folder()), *args, columns=columns)


def test_patches_are_those_of_transformer_lens() -> None:
    """Their hooks write one run's numbers into the other."""
    for name, word in (("a", "Lily"), ("b", "she")):
        prompts = (THEIRS["prompt"], THEIRS["other"], "--token", word, "--json")
        found = {}
        for args in (["--patch", "all"], ["--patch", "stream", "--at", "10"]):
            document = strict(glass("compare", *prompts, *args).out)["patches"]
            assert document["watched_in_a"]["id"] == THEIRS[name]
            found |= {patch["part"]: patch["logprob"] for patch in document["patches"]}
        assert found.keys() >= THEIRS["patched"].keys()
        for part, values in THEIRS["patched"].items():
            assert found[part] == pytest.approx(values["ab".index(name)], abs=1e-4), part


def test_ablations_are_those_of_transformer_lens() -> None:
    for name, word in (("a", "Lily"), ("b", "she")):
        document = strict(glass("ablate", THEIRS["prompt"], "--token", word, "--json").out)
        found = {entry["part"]: entry["logprob"] for entry in document["parts"]}
        at = "ab".index(name)
        assert found == {part: pytest.approx(values[at], abs=1e-4) for part, values in THEIRS["removed"].items()}


def test_only_attention_mixes_tokens() -> None:
    screen = " ".join(text_of(glass("compare", THEIRS["prompt"], THEIRS["other"])).split())
    assert "without it the streams differ at positions 9 and 11 alone, where the tokens do." in screen
    assert "With attention the change reaches 7 positions, from 9 on." in screen
    document = strict(compared(A, B, "--json").out)
    assert document["stream"]["changed_tokens"] == [4, 5, 6]
    for row in document["stream"]["behind_layers_without_attention"]:
        assert [at for at, length in enumerate(row) if length] == [4, 5, 6]
    for row in document["stream"]["behind_layers"]:
        assert [at for at, length in enumerate(row) if length] == list(range(4, 15))


def test_the_numbers_are_the_library_s() -> None:
    found, moved = compare(tiny(), A, B), movement(tiny(), A, B)
    document = strict(compared(A, B, "--json").out)
    assert document["schema"] == "glass.compare/1"
    assert document["kl_bits"] == pytest.approx(found.kl_bits)
    assert (document["n_first_shared"], document["n_last_shared"]) == (4, 8)
    assert {head["head"]: head["mean"] for head in document["heads"]} == {
        head.part.label: pytest.approx(head.mean) for head in found.heads
    }
    assert document["patches"] is None
    rows = list(csv.DictReader(io.StringIO(compared(A, B, "--csv").out)))
    values = {(row["measure"], row["part"], row["position"]): float(row["value"]) for row in rows}
    assert values["kl_bits", "", "14"] == pytest.approx(found.kl_bits[14])
    assert values["stream", "layer 2", "9"] == pytest.approx(moved.whole[2][9])
    first = found.heads[0]
    assert values["head_change", first.part.label, "5"] == pytest.approx(first.by_position[5])
    assert len(values) == len(rows) == 15 * (1 + 12 + 2 * 3)


def test_the_screen_s_rows() -> None:
    found, moved = compare(tiny(), A, B), movement(tiny(), A, B)
    screen = text_of(compared(A, B))
    rows = dict(re.findall(r"^ {1,2}(\d+) {2,}\S.* ([\d.]+) b ", screen, re.MULTILINE))
    assert rows == {str(at): f"{found.kl_bits[at]:.3f}" for at in range(4, 15)}
    assert re.search(
        rf"^ +4  t +s +\S+ b +{moved.whole[-1][4]:.2f} +{moved.without_attention[-1][4]:.2f}$", screen, re.MULTILINE
    )
    assert re.search(r"^ +9  n +same .* 0$", screen, re.MULTILINE)
    assert "… 10 more with smaller changes (--top 0 shows all)" in text_of(compared(A, B, "--top", "2"))


def test_patches() -> None:
    document = strict(compared(A, B, "--patch", "1.2,mlp0", "--token", "t", "--at", "-1", "--json").out)["patches"]
    expected = patch_parts(tiny(), A, B, parts=[Part(1, 2), Part(0)], position=-1)
    assert {p["part"]: p["kl_bits"] for p in document["patches"]} == {
        p.label: pytest.approx(p.kl_bits) for p in expected.patches
    }
    assert document["watched_in_a"]["text"] == "t"
    screen = text_of(compared(A, B, "--patch", "all", "--top", "4"))
    assert len(re.findall(r"^ (?:\d\.\d|mlp \d) .* %$", screen, re.MULTILINE)) == 4
    grid = text_of(compared(A, B, "--patch", "stream"))
    stream = {p.label: p.healed for p in patch_stream(tiny(), A, B).patches}
    (row,) = re.findall(r"^ +6 +(\S+) % +(\S+) % +(\S+) %$", grid, re.MULTILINE)
    assert [int(cell) for cell in row] == [round(100 * (stream[f"resid_post {layer} at 6"] or 0)) for layer in range(3)]
    rows = csv.DictReader(io.StringIO(compared(A, B, "--patch", "0.1", "--csv").out))
    assert [row["part"] for row in rows if row["measure"] == "patched_healed"] == ["0.1"]


def test_prompts_of_different_lengths() -> None:
    screen = text_of(compared("one two", "one two two"))
    assert "of different lengths: positions can't be compared one by one" in screen
    assert "KL(A‖B)" in screen
    found = compare(tiny(), "a one", "bb one")
    assert (found.n_first, found.n_last) == (0, 4)
    screen = text_of(compared("a one", "bb one"))
    rows = re.findall(r"^ +(\d) +(\S+) +(\d) +([\d.]+) b$", screen, re.MULTILINE)
    assert rows == [(str(at), "·one"[at - 1], str(at + 1), f"{found.kl_bits[at - 1]:.3f}") for at in range(1, 5)]
    document = strict(compared("a one", "bb one", "--json").out)
    assert (document["heads"], document["stream"]) == ([], None)
    positions = [row.split(",")[2] for row in compared("a one", "bb one", "--csv").out.splitlines()[1:]]
    assert positions == ["1", "2", "3", "4"]


def test_one_token_is_no_tokens() -> None:
    lines = glass("compare", "", "b", columns=80).out.splitlines()
    assert [line.split("   ")[-1].strip() for line in lines[:2]] == ["1 token", "2 tokens"]


def test_the_same_prompt_twice() -> None:
    screen = text_of(compared(A, A, "--patch", "0.1"))
    assert "KL(A‖B) 0.000 b" in screen
    assert re.search(r"^ 0\.1 .* –$", screen, re.MULTILINE)
    assert "Only attention" not in text_of(compared(A, A))


@pytest.mark.parametrize("args", [[], ["--patch", "all"], ["--patch", "stream"]])
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_line_is_wider_than_the_page(args: list[str], columns: int) -> None:
    lines = text_of(compared("日本 🙂 a", "日木 🙂 b", *args, columns=columns)).splitlines()
    assert max(map(cells, lines)) <= columns


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], 'two prompts are compared. Give both: glass compare "The cat ran." "The dog ran."'),
        ([A], "two prompts are compared"),
        (["-", "-"], "both prompts can't be stdin"),
        ([A, "one", "--patch", "0.1"], "--patch 0.1: the prompts have 15 and 3 tokens"),
        ([A, B, "--patch", "5.1"], "--patch 5.1: there is no layer 5"),
        ([A, B, "--patch", "some"], "--patch some: 'some' names no part of a model"),
        ([A, B, "--patch", "all", "--at", "99"], "--patch all: there is no position 99: the prompt has 15 tokens"),
        ([A, B, "--at", "3"], "--at is about patches: add --patch all"),
        ([A, B, "--token", "t"], "--token is about patches"),
        ([A, B, "--json", "--csv"], "--json and --csv are two formats"),
    ],
)
def test_refusals(args: list[str], message: str) -> None:
    ran = compared(*args)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
