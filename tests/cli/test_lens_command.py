"""`glass lens` as it is typed: beside TransformerLens' numbers, beside models cut short, and at many widths."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import reference
from helpers.dump_cases import PROMPT, tiny, tiny_folder
from helpers.in_process import Ran, glass, text_of
from helpers.random_llama import settings, tensors
from helpers.strict_json import strict
from helpers.terminal import in_terminal
from rich.cells import cell_len

from glasscli.cli.commands.lens.parts import parts_lines, signed
from glasscli.cli.page.page import Page
from glasscli.inspect.attribution import attribute
from glasscli.inspect.predictions import one_token

THEIRS = json.loads((Path(__file__).parents[1] / "inspect" / "transformer_lens.json").read_text())
HOSTILE = "a\x1b]52;c;aGk=\x07b\x9b31m\u202ec\u2028[bold][/]{x}\t日本語 👩‍👩‍👧 é ́"
LILY = ("--token", f"#{THEIRS['a']}", "--not", f"#{THEIRS['b']}")


def lens(*args: str, **how: Any) -> Ran:
    return glass("lens", "-m", str(tiny_folder()), *args, **how)


def document(*args: str, **how: Any) -> Any:
    ran = lens(*args, "--json", **how)
    assert (ran.code, ran.err) == (0, "")
    return strict(ran.out)


def test_numbers_are_transformer_lens() -> None:
    """Lens and attribution of the shipped weights; theirs are float64."""
    found = strict(glass("lens", THEIRS["prompt"], *LILY, "--json", "--top", "3").out)
    (only,) = found["lenses"]
    theirs = np.array(THEIRS["lens"]["logprobs_of_a_b"])[:, 0]
    np.testing.assert_allclose([row["watched"]["logprob"] for row in only["rows"]], theirs, atol=1e-4)
    assert [[guess["id"] for guess in row["top"]] for row in only["rows"]] == THEIRS["lens_top"]
    expected = {**THEIRS["attribution"]["heads"], "embedding": THEIRS["attribution"]["parts"]["embed"]}
    expected |= {f"mlp {layer}": THEIRS["attribution"]["parts"][f"{layer}_mlp_out"] for layer in range(4)}
    parts = {part["part"]: part["logit"] for part in found["attribution"]["parts"]}
    assert parts == pytest.approx(expected, abs=1e-4)
    assert found["attribution"]["logit"] == pytest.approx(THEIRS["attribution"]["logit difference"], abs=1e-4)
    assert found["attribution"]["sum"] == pytest.approx(sum(parts.values()))
    assert found["attribution"]["ok"]


def test_the_page_says_what_json_says() -> None:
    found = strict(glass("lens", THEIRS["prompt"], *LILY, "--json").out)
    out = text_of(glass("lens", THEIRS["prompt"], "--token", "Lily", "--not", "she"))
    rows = re.findall(r"^ (embedding|\d \w+) +(\S+) +(\S+) b +(\S+) +([\d,]+)  (\S+)", out, re.MULTILINE)
    assert [row[0] for row in rows] == ["embedding", *(f"{i} {n}" for i in range(4) for n in ("attention", "MLP"))]
    for row, expected in zip(rows, found["lenses"][0]["rows"], strict=True):
        assert float(row[1]) == pytest.approx(expected["norm"], abs=0.051)
        assert float(row[2]) == pytest.approx(expected["entropy_bits"], abs=0.0051)
        p = np.exp(expected["watched"]["logprob"])
        assert row[3] == ("<.001" if p < 0.0005 else f"{p:.3f}"[1:])
        assert int(row[4].replace(",", "")) == expected["watched"]["rank"]
        assert row[5] == expected["top"][0]["text"].replace(" ", "·")
    parts = {part["part"]: part["logit"] for part in found["attribution"]["parts"]}
    for layer in range(4):
        (line,) = re.findall(rf"^ layer {layer} +(.*)$", out, re.MULTILINE)
        own = [parts[f"{layer}.{head}"] for head in range(4)] + [parts[f"mlp {layer}"]]
        assert line.split() == [signed(x) for x in (*own, sum(own))]
    largest = sorted(parts, key=lambda name: -abs(parts[name]))[:10]
    assert re.findall(r"^ (\d\.\d|mlp \d|embedding) +[+−][\d.]+  █", out, re.MULTILINE) == largest
    total = f"{found['attribution']['sum']:+.4f}"
    assert re.search(rf"Σ of 21 parts = {re.escape(total)} = the difference of the logits of the run, Δ < 1e-06", out)


@pytest.mark.parametrize("part", ["3.2", "3.1", "2.3", "mlp 1"])
def test_without_a_part_it_is_transformer_lens_without_it(part: str) -> None:
    found = strict(glass("lens", THEIRS["prompt"], *LILY, "--ablate", part, "--json").out)
    expected = THEIRS["removed"][part][0]
    assert found["model"]["ablated"] == [part]
    assert found["lenses"][0]["rows"][-1]["watched"]["logprob"] == pytest.approx(expected, abs=1e-4)
    assert found["attribution"]["ok"]
    (gone,) = (share["logit"] for share in found["attribution"]["parts"] if share["part"] == part)
    assert gone == 0
    assert f"without {part}" in text_of(glass("lens", THEIRS["prompt"], "--ablate", part))


def test_a_row_is_a_model_cut_short() -> None:
    config, ids = settings(vocab_size=257), tiny().encode(PROMPT)
    weights = tensors(config)
    found = document(PROMPT, "--rows", ":", "--token", "t", "--top", "5")
    assert [one["position"] for one in found["lenses"]] == list(range(len(ids)))
    assert found["attribution"] is None
    for n_layers, at in ((0, 0), (1, 2), (2, 4), (3, 6)):
        logits = reference.logits({**config, "num_hidden_layers": n_layers}, weights, ids)
        for one, row in zip(found["lenses"], logits, strict=True):
            logprobs = row - np.logaddexp.reduce(row)
            shown = one["rows"][at]
            assert shown["layer"] == (n_layers - 1 if n_layers else None)
            assert [guess["id"] for guess in shown["top"]] == np.argsort(-logprobs, kind="stable")[:5].tolist()
            assert shown["watched"]["logprob"] == pytest.approx(logprobs[shown["watched"]["id"]], abs=1e-4)
            assert shown["entropy_bits"] == pytest.approx(-(np.exp(logprobs) * logprobs).sum() / np.log(2), abs=1e-4)


def test_many_tokens_make_a_table() -> None:
    found = document(PROMPT, "--rows", "2:9")
    out = text_of(lens(PROMPT, "--rows", "2:9", columns=60))
    heads = [int(n) for line in out.splitlines() if re.match(r"^ +\d+( +\d+)*$", line) for n in line.split()]
    assert heads == list(range(2, 9))
    for at, label in enumerate(["embedding", "0 attention", "0 MLP", "1 attention", "1 MLP", "2 attention", "2 MLP"]):
        cells = " ".join(re.findall(rf"^ {label}  *(.*)$", out, re.MULTILINE))
        best = [float(np.exp(one["rows"][at]["top"][0]["logprob"])) for one in found["lenses"]]
        assert [float(p) for p in re.findall(r" (1\.0|\.\d\d)(?= |$)", cells)] == pytest.approx(best, abs=0.051)
    watched = text_of(lens(PROMPT, "--rows", "2:9", "--token", "t"))
    last = re.search(r"^ 2 MLP +(.*)$", watched, re.MULTILINE)
    assert last is not None
    expected = document(PROMPT, "--rows", "2:9", "--token", "t")["lenses"]
    shares = [np.exp(one["rows"][-1]["watched"]["logprob"]) for one in expected]
    assert last[1].split() == ["<.001" if p < 0.0005 else f"{p:.3f}"[1:] for p in shares]


def test_a_sum_that_is_not_the_logit_is_said() -> None:
    loaded = tiny()
    found = attribute(loaded, PROMPT, one_token(loaded, "t"), one_token(loaded, "o"))
    page = Page()
    good, bad = ("".join(t for line in parts_lines(page, a) for t, _ in line) for a in (
        found, replace(found, logit=found.logit + 0.5)))  # fmt: skip
    assert "= the difference of the logits of the run, Δ" in good
    assert "IS NOT the difference of the logits of the run" in bad
    assert "Δ 0.5" in bad


@pytest.mark.parametrize("args", [[], ["--token", "t"], ["--token", "t", "--not", "o"], ["--rows", ":"],
                                  ["--rows", ":", "--token", "t"]])  # fmt: skip
@pytest.mark.parametrize("text", [PROMPT, HOSTILE, "the dog and the cat " * 6])
def test_no_line_is_wider_than_the_page_and_nothing_steers_it(text: str, args: list[str]) -> None:
    for columns in (40, 60, 80, 100, 200):
        out = text_of(lens(text, *args, columns=columns))
        assert [line for line in out.splitlines() if cell_len(line) > columns] == []
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u200d]", out)
    assert text_of(lens(text, *args, encoding="ascii")).isascii()


@pytest.mark.parametrize("kind", ["biases", "mqa"])
def test_biases_are_parts_too(kind: str) -> None:
    folder = str(tiny_folder(kind))
    found = strict(glass("lens", "-m", folder, PROMPT, "--token", "t", "--json").out)["attribution"]
    assert found["ok"]
    assert any(part["kind"] == "bias" for part in found["parts"]) is (kind == "biases")
    out = text_of(glass("lens", "-m", folder, PROMPT, "--token", "t"))
    assert (" bias " in out) is (kind == "biases")
    assert "= the logit of the run" in out


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--not", "o"], "--not says what --token is compared with"),
        (["--token", "t", "--not", "o", "--rows", "1:3"], "--not compares after one token: --rows 1:3 names 2"),
        (["--token", "tt"], "--token tt: 'tt' is not one token"),
        (["--token", "#900"], "--token #900: "),
        (["--rows", "99"], "--rows 99: there are positions 0–14"),
        (["--top", "0"], "0 is too small"),
    ],
)
def test_what_means_nothing_is_refused(args: list[str], says: str) -> None:
    ran = lens(PROMPT, *args)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_an_empty_text_is_its_opening_mark_and_a_long_one_is_refused() -> None:
    assert [token["id"] for token in document("")["tokens"]] == [0]
    ran = lens("a" * 513)
    assert (ran.code, ran.out) == (2, "")
    assert "513 tokens; this model's context holds 512" in ran.err


def test_the_shipped_model_on_a_terminal() -> None:
    code, out = in_terminal("lens", "--token", "Lily")
    assert code == 0
    assert "\x1b[" in out
    plain = re.sub(r"\x1b\[[\d;]*m", "", out)
    assert "(demo text: give your own)" in " ".join(plain.split())
    assert " try  --not WORD" in plain
