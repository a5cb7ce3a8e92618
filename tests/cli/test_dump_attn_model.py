"""`dump-attn` beyond attention: the other steps of a layer, those of the model, the overview of all."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from helpers.family_models import family_folder
from helpers.in_process import glass
from helpers.strict_json import strict
from rich.cells import cell_len

from glasscli import load_model

TEXT = "The cat saw the dog. The cat"


def run(*words: str, columns: int = 100) -> str:
    ran = glass("dump-attn", *words, columns=columns)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


@pytest.mark.parametrize("columns", [40, 80, 100, 200])
@pytest.mark.parametrize("words", [["--overview"], ["--step", "logits,grad,hidden"], ["--step", "embedding"]])
def test_no_line_is_wider_than_the_page(words: list[str], columns: int) -> None:
    out = run(*words, "日本 the cat 🙂 the cat sat", columns=columns)
    assert max(cell_len(line) for line in out.splitlines()) <= columns


def test_the_overview_says_what_each_place_would_say() -> None:
    lines = run("--overview").splitlines()
    assert lines[0] == "the whole model · 4 layers · what it would say after ·cat 8"
    assert next(line for line in lines if line.startswith(" embedding")).split()[-6] == "·cat"
    assert lines[-2:] == ["  each layer is entered with what the one before left", "  19 of 19 checks hold"]
    last = next(line for line in lines if line.startswith(" 3 resid_post"))
    logits = next(line for line in lines if line.startswith(" logits"))
    assert last.split("  ")[-3:] == logits.split("  ")[-3:]


def test_the_overview_as_json() -> None:
    found = strict(run("--overview", "--json", TEXT))
    assert found["schema"] == "glass.overview/1"
    assert found["joined"] is True
    assert [place["place"] for place in found["places"][:3]] == ["embedding", "attn_norm", "softmax"]
    assert found["places"][-2]["shape"] == [9, 1024]
    assert all(place["check"] is None or place["check"]["ok"] for place in found["places"])


@pytest.mark.parametrize("kind", ["gpt2", "gemma3", "olmo2", "gpt_neox"])
def test_other_families(kind: str) -> None:
    folder = str(family_folder(kind))
    assert "checks hold" in run("-m", folder, "--overview", "one two one two")
    assert "p − y" in run("-m", folder, "--step", "grad,hidden,resid_mid", "one two one two")


def test_a_gradient_row_begins_with_what_came() -> None:
    lines = run("--step", "grad", TEXT).splitlines()
    assert "  ✓ Σ = 0, Δ < 1e-06; central differences, Δ < 1e-06" in lines
    row = next(line for line in lines if "·The   7" in line)
    loaded = load_model()
    ids = loaded.encode(TEXT)
    logits = loaded.model(ids)[7].astype(float)
    p = np.exp(logits[ids[8]]) / np.exp(logits).sum()
    assert row.split()[2:4] == ["·cat", f"{p - 1:.3f}"]


def test_files_hold_what_was_asked_for(tmp_path: Path) -> None:
    names = "resid_pre,gate,embedding,logits"
    for ending in ("npz", "json", "csv"):
        assert glass("dump-attn", TEXT, "--step", names, "-o", str(tmp_path / f"x.{ending}")).code == 0
    arrays = np.load(tmp_path / "x.npz")
    shapes = {"L2.resid_pre": (9, 128), "L2.gate": (9, 384), "embedding": (9, 128), "logits": (9, 1024)}
    assert {name: arrays[name].shape for name in shapes} == shapes
    document = json.loads((tmp_path / "x.json").read_text())
    assert set(document["outside"]) == {"embedding", "logits"}
    np.testing.assert_array_equal(np.float32(document["outside"]["logits"]["data"]), arrays["logits"])
    np.testing.assert_array_equal(np.float32(document["layers"][0]["gate"]["data"]), arrays["L2.gate"])
    rows = list(csv.DictReader((tmp_path / "x.csv").open()))
    assert len(rows) == 9 * (128 + 384 + 128 + 1024)
    assert [rows[0]["layer"], rows[-1]["layer"]] == ["2", ""]
    assert float(rows[-1]["value"]) == pytest.approx(float(arrays["logits"][8, 1023]))


def test_names_of_transformer_lens(tmp_path: Path) -> None:
    glass("dump-attn", TEXT, "--step", "resid_mid,hidden,embedding", "--names", "tl", "-o", str(tmp_path / "x.npz"))
    names = {"blocks.2.hook_resid_mid", "blocks.2.mlp.hook_post", "hook_embed"}
    assert names < set(np.load(tmp_path / "x.npz"))


def test_what_has_no_place_is_refused() -> None:
    for words, said in (
        (["--step", "gate", "-m", str(family_folder("gpt2"))], "this gpt2 model has no step 'gate'"),
        (["--step", "grad", "--decode"], "nothing follows the last token"),
        (["--overview", "--layer", "1"], "--layer has no effect with --overview"),
        (["--overview", "--heads"], "are different screens"),
        (["--step", "logits", "--head", "1"], "step logits is the same for all heads"),
    ):
        ran = glass("dump-attn", *words, TEXT)
        assert ran.code == 2
        assert ran.out == ""
        assert said in ran.err
