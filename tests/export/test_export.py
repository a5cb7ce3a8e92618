"""Dumps as files: every format read back by someone else's reader, and never half a file."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.dump_cases import PROMPT, STEPS, tiny, tiny_decode, tiny_dump
from helpers.strict_json import strict
from safetensors import safe_open
from safetensors.numpy import load_file

from glasscli.csv_cell import cell
from glasscli.errors import UsageError
from glasscli.export import ENDINGS, check_export, export_dump
from glasscli.export.document import check_json_size, count_numbers, document
from glasscli.inspect.dump import SizeError
from glasscli.inspect.steps import step_array

ALL = tuple(STEPS)


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_binary_files_hold_every_step_bit_for_bit(tmp_path: Path, ending: str) -> None:
    dump = tiny_dump(layers=(0, 2))
    path = tmp_path / f"attn{ending}"
    assert export_dump(dump, path) == path.stat().st_size
    arrays = load_file(path) if ending == ".safetensors" else dict(np.load(path, allow_pickle=False))
    keys = {f"L{layer}.{step}" for layer in (0, 2) for step in STEPS}
    assert keys <= set(arrays)
    for trace in dump.layers:
        for step in STEPS:
            np.testing.assert_array_equal(arrays[f"L{trace.layer}.{step}"], step_array(trace, step))
    assert arrays["L0.q"].dtype == np.float32
    assert arrays["L0.mask"].dtype == np.bool


def test_metadata_tells_where_the_numbers_come_from(tmp_path: Path) -> None:
    dump = tiny_dump()
    export_dump(dump, tmp_path / "a.npz")
    export_dump(dump, tmp_path / "a.safetensors")
    archive = np.load(tmp_path / "a.npz", allow_pickle=False)
    about = strict(str(archive["metadata"]))
    assert archive["token_ids"].tolist() == dump.token_ids
    assert "".join(archive["tokens"]) == PROMPT.replace(" ", "·")
    with safe_open(tmp_path / "a.safetensors", "np") as file:
        same = {key: strict(value) for key, value in file.metadata().items()}
    assert same == about
    assert about["tokens"][3] == {"id": dump.token_ids[3], "text": " ", "bytes": "20"}
    assert (about["mode"], about["start"], about["layers"], about["dtype"]) == ("prefill", 0, [1], "float32")
    assert about["model"]["n_kv_heads"] == 2


def test_transformerlens_names_and_axes(tmp_path: Path) -> None:
    dump = tiny_dump()
    trace = dump.layers[0]
    export_dump(dump, tmp_path / "tl.npz", names="tl")
    arrays = np.load(tmp_path / "tl.npz")
    assert arrays["blocks.1.attn.hook_q"].shape == (15, 4, 8)  # [position, head, dim]
    assert arrays["blocks.1.attn.hook_k"].shape == (15, 2, 8)
    np.testing.assert_array_equal(arrays["blocks.1.attn.hook_k"][3, 1], trace.k_KTE[1, 3])  # before RoPE
    np.testing.assert_array_equal(arrays["blocks.1.attn.hook_rot_k"][3, 1], trace.rope_k_KTE[1, 3])
    np.testing.assert_array_equal(arrays["blocks.1.attn.hook_z"][5, 2], trace.mix_HTE[2, 5])
    np.testing.assert_array_equal(arrays["blocks.1.attn.hook_pattern"], trace.pattern_HTS)
    scores = arrays["blocks.1.attn.hook_attn_scores"]  # after the mask, as that library has them
    assert np.isneginf(scores[:, ~trace.mask_TS]).all()
    np.testing.assert_array_equal(scores[:, trace.mask_TS], trace.scores_HTS[:, trace.mask_TS])
    assert arrays["blocks.1.hook_attn_out"].shape == (15, 32)
    assert not any("mask" in name or "cache" in name for name in arrays)


def test_hf_names_are_one_array_indexed_by_layer(tmp_path: Path) -> None:
    dump = tiny_dump(layers=(0, 1, 2))
    export_dump(dump, tmp_path / "hf.safetensors", names="hf")
    attentions = load_file(tmp_path / "hf.safetensors")["attentions"]
    assert attentions.shape == (3, 1, 4, 15, 15)
    np.testing.assert_array_equal(attentions[2][0], dump.layers[2].pattern_HTS)


def test_json_is_strict_and_says_what_the_screens_promise(tmp_path: Path) -> None:
    dump = tiny_dump()
    export_dump(dump, tmp_path / "a.json")
    found = strict((tmp_path / "a.json").read_text())
    assert found["schema"] == "glass.attn/1"
    assert found["prompt"] == PROMPT
    (layer,) = found["layers"]
    assert (layer["layer"], layer["heads"], layer["kv_heads"], layer["kv_of_head"]) == (1, 4, 2, [0, 0, 1, 1])
    trace = dump.layers[0]
    for step in STEPS:
        assert layer[step]["shape"] == list(step_array(trace, step).shape)
        if step != "scores":
            read = np.array(layer[step]["data"], step_array(trace, step).dtype)
            np.testing.assert_array_equal(read, step_array(trace, step))  # nine digits bring float32 back exactly
    for row, scores in enumerate(layer["scores"]["data"][0]):
        assert [value is None for value in scores] == [key > row for key in range(15)]
    weights = np.array(layer["softmax"]["data"])
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-6)
    assert (weights[:, ~np.array(layer["mask"]["data"])] == 0).all()
    assert layer["summary"][2]["kv_head"] == 1
    assert set(layer["summary"][0]) >= {"head", "entropy_bits", "sink", "prev", "self", "dup", "induct", "reach"}
    assert layer["uniform"]["entropy_share"] == pytest.approx(1)
    link = layer["summary"][2]["strongest"]
    assert link["weight"] == pytest.approx(weights[2][1:].max(), rel=1e-7)
    assert weights[2][link["query"]][link["key"]] == weights[2][1:].max()


def test_json_of_a_text_without_repeats_has_null_not_nan() -> None:
    found = document(tiny_dump(prompt="abc"), ("softmax",))
    assert found["layers"][0]["summary"][0]["induct"] is None
    assert found["layers"][0]["uniform"]["dup"] is None
    strict(json.dumps(found, allow_nan=False))


def test_json_of_generated_tokens_has_null_where_no_key_was_yet() -> None:
    found = document(tiny_decode(3), ("scores", "softmax"))
    (first, *_), start = found["layers"][0]["scores"]["data"][0], found["start"]
    assert first[start] is not None
    assert first[start + 1] is None
    assert [token["bytes"] for token in found["chosen"]]
    strict(json.dumps(found, allow_nan=False))


def test_csv_has_a_line_a_number(tmp_path: Path) -> None:
    dump = tiny_dump()
    export_dump(dump, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["layer", "head", "kv_head", "step", "query", "key", "query_token", "key_token", "value"]
    assert len(rows) == 2 * 4 * 15 * 16 // 2  # scores and softmax, what is hidden left out
    cell = next(r for r in rows if (r["step"], r["head"], r["query"], r["key"]) == ("softmax", "3", "7", "2"))
    assert np.float32(cell["value"]) == dump.layers[0].pattern_HTS[3, 7, 2]
    assert (cell["kv_head"], cell["query_token"], cell["key_token"]) == ("1", "·", "e")


@pytest.mark.parametrize(
    ("label", "written"),
    [("=1+1", "<U+003D>1+1"), ("+1", "<U+002B>1"), ("-b", "<U+002D>b"), ("@SUM(1)", "<U+0040>SUM(1)")]
    + [(text, text) for text in ("=", "-", "·=1", "a=1", "")],
)
def test_a_cell_is_no_formula(label: str, written: str) -> None:
    assert cell(label) == written


def test_csv_of_tokens_that_are_formulas(tmp_path: Path) -> None:
    dump = tiny_dump()
    tokens = tuple(replace(token, raw=b"=cmd|' /C calc'!A0") for token in dump.tokens)
    for steps in (None, ("k",)):
        export_dump(replace(dump, tokens=tokens), tmp_path / "a.csv", steps=steps)
        with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
            cells = {value for row in csv.DictReader(file) for value in row.values()}
        assert "<U+003D>cmd|'·/C·calc'!A0" in cells
        assert not [value for value in cells if value.startswith("=")]


def test_csv_of_vectors_has_a_dim(tmp_path: Path) -> None:
    dump = tiny_dump()
    export_dump(dump, tmp_path / "a.csv", steps=("k", "cache", "out", "mask"))
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [r["step"] for r in rows if r["step"] != rows[rows.index(r) - 1]["step"]] == [
        "k", "cache_k", "cache_v", "out", "mask",
    ]  # fmt: skip
    k = next(r for r in rows if (r["step"], r["kv_head"], r["key"], r["dim"]) == ("k", "1", "4", "5"))
    assert np.float32(k["value"]) == dump.layers[0].k_KTE[1, 4, 5]
    assert (k["head"], k["query"]) == ("", "")


@pytest.mark.parametrize("ending", [".npz", ".safetensors", ".json"])
def test_only_the_steps_asked_for(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a{ending}"
    export_dump(tiny_dump(), path, steps=("q", "softmax"))
    if ending == ".json":
        held = set(strict(path.read_text())["layers"][0]) & set(STEPS)
    else:
        arrays = load_file(path) if ending == ".safetensors" else np.load(path)
        held = {key.removeprefix("L1.") for key in arrays if key.startswith("L1.")}
    assert held == {"q", "softmax"}


def test_the_count_of_numbers_is_that_of_the_arrays() -> None:
    dump = tiny_dump()
    for step in STEPS:
        assert count_numbers(dump.config, 15, 15, 1, (step,)) == step_array(dump.layers[0], step).size


def test_json_past_fifty_megabytes_is_refused() -> None:
    check_json_size(tiny().config, 128, 128, 3, ALL)
    with pytest.raises(SizeError, match="the limit is 50 MB"):
        check_json_size(tiny().config, 4096, 4096, 1, ALL)


def test_names_are_refused_where_a_file_has_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"tl names are for \.npz \.safetensors \.json, not for \.csv"):
        check_export(tmp_path / "a.csv", "tl")
    with pytest.raises(UsageError, match="no names"):
        check_export(tmp_path / "a.npz", "jax")
    with pytest.raises(UsageError, match="no hook for mask"):
        export_dump(tiny_dump(), tmp_path / "a.npz", steps=("mask",), names="tl")
    with pytest.raises(UsageError, match="softmax step only"):
        export_dump(tiny_dump(), tmp_path / "a.npz", steps=("q",), names="hf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_same_dump_is_the_same_bytes(tmp_path: Path, ending: str) -> None:
    for name in ("a", "b", "c"):
        export_dump(tiny_dump(), tmp_path / (name + ending))
    one, *others = [path.read_bytes() for path in tmp_path.iterdir()]
    assert others == [one, one]
