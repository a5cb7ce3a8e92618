"""`glass ablate`: the screens say what the library finds, JSON and CSV hold all of it, and the circuit is found."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from helpers import reference
from helpers.dump_cases import PROMPT, tiny, tiny_folder
from helpers.in_process import Ran, glass, text_of
from helpers.random_llama import settings, tensors
from helpers.shipped_heads import copying_head, previous_head
from helpers.strict_json import strict

from glasscli.inspect.ablation import ablate_prompt, ablate_text
from glasscli.inspect.circuits import find_feeds

STORY = "Once upon a time there was a little girl named Lily. One day,"


def ablate(*args: str, columns: int = 100) -> Ran:
    return glass("ablate", "-m", str(tiny_folder()), *args, columns=columns)


def rows_of(screen: str) -> dict[str, list[str]]:
    """The rows of a table by what is left out."""
    found = re.findall(r"^ (\d\.\d|mlp \d|nothing) {2,}(.*)$", screen, re.MULTILINE)
    return {name: re.split(r"  +", rest) for name, rest in found}


def test_the_circuit_of_the_shipped_weights() -> None:
    """One head brings the name back and one holds it down, whatever the screen is asked for first."""
    screen = text_of(glass("ablate", STORY, "--token", "Lily"))
    rows = rows_of(screen)
    assert len(rows) == 21
    p = {name: float(f"0{cells[0]}") for name, cells in rows.items() if not cells[0].startswith("<")}
    copies, looks_back = copying_head().label, previous_head().label
    assert p[copies] < p["nothing"] / 10
    assert max(p.values()) > 0.9
    assert f"·Lily needs {copies} most: {rows['nothing'][0]} → {rows[copies][0]} without it" in " ".join(screen.split())
    feeds = text_of(glass("ablate", "--feeds", "--top", "3"))
    assert re.search(rf"^ {looks_back} +{copies} +induct ", feeds, re.MULTILINE)
    needs = rf"^ {copies} needs {looks_back}: without it induct falls from \.\d+ to \.\d+\. No other head"
    assert re.search(needs, feeds, re.MULTILINE)


def test_the_next_token_without_each_part() -> None:
    """Against the reference, whose matrices are zero instead."""
    config, ids, token = settings(vocab_size=257), tiny().encode(PROMPT), tiny().encode("t")[0]
    document = strict(ablate(PROMPT, "--token", "t", "--json").out)
    assert document["schema"] == "glass.ablate/1"
    assert document["watched"]["id"] == token
    assert len(document["parts"]) == 15
    for entry in document["parts"]:
        weights = tensors(config)
        prefix = f"model.layers.{entry['layer']}."
        if entry["head"] is None:
            weights[f"{prefix}mlp.down_proj.weight"][:] = 0
        else:
            weights[f"{prefix}self_attn.o_proj.weight"][:, entry["head"] * 8 : entry["head"] * 8 + 8] = 0
        logits = reference.logits(config, weights, ids)[-1]
        assert entry["logprob"] == pytest.approx(logits[token] - np.logaddexp.reduce(logits), abs=1e-4), entry["part"]
    rows = list(csv.DictReader(io.StringIO(ablate(PROMPT, "--token", "t", "--csv").out)))
    for row, entry in zip(rows, document["parts"], strict=True):
        assert (row["part"], float(row["kl_bits"])) == (entry["part"], entry["kl_bits"])
        assert row["head"] == ("" if entry["head"] is None else str(entry["head"]))
    screen = rows_of(ablate(PROMPT, "--token", "t").out)
    assert list(screen) == ["nothing", *(row["part"] for row in rows)]


def test_rows_can_be_left_out_on_the_screen_alone() -> None:
    assert len(rows_of(ablate(PROMPT, "--top", "3").out)) == 4
    assert "… 12 more with smaller changes (--top 0 shows all)" in ablate(PROMPT, "--top", "3").out
    assert len(rows_of(ablate(PROMPT, "--top", "0").out)) == 16
    assert len(strict(ablate(PROMPT, "--top", "3", "--json").out)["parts"]) == 15


def test_only_some_parts_and_their_means() -> None:
    document = strict(ablate(PROMPT, "--to", "mean", "--parts", "1.2,mlp0,1.2", "--json").out)
    expected = ablate_prompt(tiny(), PROMPT, method="mean")
    kl = {effect.part.label: pytest.approx(effect.kl_bits, abs=1e-9) for effect in expected.effects}
    assert {entry["part"]: entry["kl_bits"] for entry in document["parts"]} == {"1.2": kl["1.2"], "mlp 0": kl["mlp 0"]}
    assert document["set_to"] == "mean"
    assert "2 parts set to their mean over the text, one at a time" in ablate("--to", "mean", "--parts", "1.2,mlp0").out


def test_the_loss_of_a_text(tmp_path: Path) -> None:
    expected = ablate_text(tiny(), PROMPT)
    file = tmp_path / "story.txt"
    file.write_text(PROMPT + "\n")
    for source in ([PROMPT], ["--file", str(file)]):
        document = strict(ablate("--loss", *source, "--json").out)
        assert document["schema"] == "glass.ablate-text/1"
        assert document["nats_per_token"] == pytest.approx(expected.score.nats_per_token)
        for entry, effect in zip(document["parts"], expected.effects, strict=True):
            found = (entry["part"], entry["delta_nats"], entry["delta_nats_words"], entry["delta_nats_pairs"])
            assert found == (effect.part.label, *map(pytest.approx, (effect.delta, effect.on_words, effect.on_pairs)))
    rows = rows_of(ablate("--loss", PROMPT).out)
    first = expected.effects[0]
    assert float(rows[first.part.label][0]) == pytest.approx(first.delta, abs=6e-4)
    assert len(list(csv.reader(io.StringIO(ablate("--loss", PROMPT, "--csv").out)))) == 16
    assert rows_of(ablate("--loss", "abcd").out)["0.0"][1:] == ["–", "–"]


def test_feeds() -> None:
    expected = find_feeds(tiny())
    document = strict(ablate("--feeds", "--json").out)
    assert document["schema"] == "glass.feeds/1"
    assert (document["n_draws"], len(document["pairs"])) == (32, len(expected.pairs))
    for entry, feed in zip(document["pairs"][:20], expected.pairs, strict=False):
        assert (entry["writer"], entry["reader"], entry["role"]) == (feed.writer.label, feed.reader.label, feed.role)
        assert entry["change"] == pytest.approx(entry["after"] - entry["before"])
    assert len(ablate("--feeds", "--csv").out.splitlines()) == 1 + len(expected.pairs)


@pytest.mark.parametrize("args", [[PROMPT], ["--loss", PROMPT], ["--feeds"], ["--loss", "日本語 🙂 日本語"]])
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_line_is_wider_than_the_page(args: list[str], columns: int) -> None:
    from glasscli.cli.page.cells import cells

    lines = text_of(ablate(*args, columns=columns)).splitlines()
    assert max(map(cells, lines)) <= columns


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["hi", "--parts", "9.1"], "--parts 9.1: there is no layer 9: this model has layers 0 to 2"),
        (["hi", "--parts", "one"], "--parts one: 'one' names no part of a model"),
        (["hi", "--token", "two words"], "--token two words: 'two words' is not one token of this model"),
        (["hi", "--token", "#300"], "--token #300: there is no token with the id 300"),
        (["hi", "--file", "x"], "a text and --file are two sources: choose one"),
        (["--file", "/nowhere/x"], "/nowhere/x: can't be read (No such file or directory)"),
        (["--json", "--csv"], "--json and --csv are two formats: choose one"),
        (["--loss", "--feeds"], "--feeds and --loss are different screens"),
        (["--feeds", "hi"], "a text has no effect with --feeds"),
        (["--feeds", "--to", "mean"], "--to mean has no effect with --feeds"),
        (["--loss", "--token", "t"], "--token has no effect with --loss"),
        (["--loss", "a"], "1 token: there is nothing to score"),
        (["a" * 600], "context holds 512.\n       --loss reads a text of any length"),
    ],
)
def test_refusals(args: list[str], message: str) -> None:
    ran = ablate(*args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("glass: ")
    assert message in ran.err
