"""`glass dump-attn`: what is refused and in which words, JSON, files."""

import csv
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.dump_cases import PROMPT, STEPS, tiny_dump, write_folder
from helpers.in_process import dump_attn, glass
from helpers.strict_json import strict
from helpers.terminal import environment
from safetensors import safe_open

REFUSED = {
    "--layer 9": "--layer 9: this model has layers 0–2.",
    "--layer -1": "--layer -1: this model has layers 0–2.",
    "--layer x": "--layer x: expected numbers such as 2, 0,2 or 0:2; this model has layers 0–2.",
    "--layer 0:99999999999": "--layer 0:99999999999: this model has layers 0–2.",
    "--layer 1 --all": "--layer and --all contradict each other. Give one of them.",
    "--head 4": "--head 4: this model has query heads 0–3.",
    "--head 0,7": "--head 0,7: this model has query heads 0–3.",
    "--step k --head 3": "--head 3: step k has 2 KV heads (0–1). Query head 3 reads KV head 1: --head 1.",
    "--step cache --head 2": "--head 2: step cache has 2 KV heads (0–1). Query head 2 reads KV head 1: --head 1.",
    "--step k --head 9": "--head 9: step k has 2 KV heads (0–1).",
    "--step out --head 1": "--head 1: step out is the same for all heads.",
    "--step values": "no step 'values'. Steps of attention: q, k, v, q_norm, k_norm, rope_q, rope_k, cache, scores, ",
    "--step q_norm": "this llama model has no step 'q_norm'. Steps of attention: q, k, v, rope_q, rope_k, cache, ",
    "--rows 15": "--rows 15: there are positions 0–14.",
    "--rows 7:4": "--rows 7:4: there are positions 0–14.",
    "--rows first": "--rows first: expected last, a position, or a range a:b; there are positions 0–14.",
    "--decode --rows 3": "--decode has one row, the last token's. Leave --rows out, or add --new N.",
    "--new 3 --rows 2": "--rows 2: there are positions 14–16.",
    "--seed 1": "--seed draws new tokens: give --new N too.",
    "--heads --explain": "--heads and --explain are different screens. Give one of them.",
    "--heads --layer 1": "--layer has no effect with --heads: it is of all layers and the whole prompt.",
    "--what-if no-mask --decode": "--decode has no effect with --what-if: the mask hides nothing from the newest",
    "--what-if no-mask --new 2": "--new has no effect with --what-if: the mask hides nothing from the newest",
    "--what-if no-mask --json --names hf": "--names has no effect with --what-if: those are for the steps of a layer",
    "--names tl": "--names tl is for files and --json: add -o FILE.npz or --json.",
    "--json --head 1": "--head picks what a screen shows; files and JSON hold all heads. Leave it out.",
    "-o x.txt": "x.txt ends in .txt. Endings: .npz .safetensors .json .csv .svg .html.",
    "-o nowhere/x.npz": "nowhere/x.npz: there is no folder",
    "-o x.csv --names hf": "hf names are for .npz .safetensors .json, not for .csv.",
    "--explain -o x.npz": "-o x.npz: --explain goes into .json, or to stdout with --json.",
    "--heads -o x.svg": "-o x.svg: --heads goes into .json .csv .npz, or to stdout with --json.",
    "--blocked -o x.npz": "-o x.npz: --blocked measures memory on a screen only. Leave it out.",
    "--blocked --json": "--json: --blocked measures memory on a screen only. Leave it out.",
    "--explain --step softmax": "--step has no effect with --explain: each is a screen of its own.",
    "--heads --scale log": "--scale log has no effect with --heads: it shades no map.",
    "--cell 3,2": "--cell is a score of one head: give --head H too.",
    "--cell 3 --head 1": "--cell 3: expected the positions of a query and a key, such as 8,5.",
    "--cell 3,x --head 1": "--cell 3,x: expected the positions of a query and a key, such as 8,5.",
    "--cell 15,0 --head 1": "there is no query at position 15: those are 0 to 14",
    "--cell 3,15 --head 1": "there is no key at position 15: those are 0 to 14",
    "--new 3 --cell 14,15 --head 1": "there was no key at position 15 yet when the query at 14 was computed",
    "--cell 3,2 --weighted": "--weighted and --cell are different screens. Give one of them.",
    "--step jacobian,q": "--step jacobian is a screen of its own. Leave the other steps out.",
    "--step jacobian --rows 2:5": "--rows 2:5: a Jacobian is that of one row. Give its position, or last.",
}


@pytest.mark.parametrize("options", REFUSED)
def test_what_makes_no_sense_is_refused_in_plain_words(options: str) -> None:
    ran = dump_attn(*options.split(), PROMPT)
    assert ran.code == (1 if "nowhere" in options else 2)
    assert ran.out == ""
    assert ran.err.startswith(f"glass: {REFUSED[options]}")
    assert len(ran.err.splitlines()) <= 2


def test_an_empty_prompt_starts_from_the_beginning_mark_or_says_there_is_none(tmp_path: Path) -> None:
    assert "1 token" in dump_attn("").out
    nothing = write_folder(tmp_path / "nothing", bos_token_id=None, eos_token_id=None)
    ran = glass("dump-attn", "-m", str(nothing), "")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("glass: the prompt is empty")


def test_one_token_has_no_measures_but_no_error() -> None:
    for more in ((), ("--decode",), ("--heads",), ("--what-if", "no-mask"), ("--step", "jacobian"), ("--head", "1")):
        ran = dump_attn("a", *more)
        assert (ran.code, ran.err) == (0, ""), more
        assert "nan" not in ran.out.lower()


def test_a_prompt_past_the_context_is_refused_or_cut(tmp_path: Path) -> None:
    long = "ab" * 300
    ran = dump_attn(long)
    assert ran.code == 2
    assert ran.err.startswith("glass: the prompt has 600 tokens; this model's context holds 512.\n")
    assert "--overflow left" in ran.err
    cut = dump_attn(long, "--overflow", "left", "--rows", "last")
    assert cut.code == 0
    assert "glass: the oldest 216 tokens of the prompt were cut, 384 are left\n" in cut.err
    assert dump_attn(long, "--overflow", "left", "--rows", "last", "-q").err == ""


def test_numbers_that_overflow_name_the_step(tmp_path: Path) -> None:
    from helpers.random_llama import settings, tensors
    from safetensors.numpy import save_file

    folder = write_folder(tmp_path / "hot")
    weights = tensors(settings(vocab_size=257))
    weights["model.layers.1.self_attn.v_proj.weight"][:] = 3e38
    save_file(weights, folder / "model.safetensors")
    ran = glass("dump-attn", "-m", str(folder), "--layer", "1", PROMPT)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "glass: layer 1: v is the first step with NaN or infinity in it\n"


def test_json_is_strict_and_holds_every_step() -> None:
    ran = dump_attn("--json", "--layer", "1", PROMPT)
    assert (ran.code, ran.err) == (0, "")
    found = strict(ran.out)
    (layer,) = found["layers"]
    assert set(STEPS) <= set(layer)
    np.testing.assert_array_equal(np.float32(layer["q"]["data"]), tiny_dump().layers[0].q_HTE)
    assert len(found["model"]["weights_sha256"]) == 64
    hidden = ~np.array(layer["mask"]["data"])
    assert all(value is None for value in np.array(layer["scores"]["data"], object)[0][hidden])


@pytest.mark.parametrize(
    "options",
    [
        "--what-if no-scale", "--step jacobian --rows 4", "--heads", "--explain", "--overview", "--weighted",
        "--cell 4,2 --head 0",
    ],
)  # fmt: skip
def test_every_screen_has_a_json_document(options: str) -> None:
    ran = dump_attn("--json", *options.split(), PROMPT)
    assert ran.code == 0
    found = strict(ran.out)
    assert found["schema"].startswith("glass.")
    assert found["prompt"] == PROMPT
    assert len(found["model"]["weights_sha256"]) == 64


def test_json_past_the_guard_names_the_way_out() -> None:
    ran = dump_attn("--json", "--all", "ab" * 250)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "glass: 500 × 500 tokens in 3 layers make about 92 MB of JSON; the limit is 50 MB.\n"
        "       Try -o FILE.npz, or --rows last, or one --layer, or one --step.\n"
    )
    assert strict(dump_attn("--json", "--all", "--rows", "last", "ab" * 250).out)["start"] == 499


def test_a_jacobian_is_shown_of_each_head_that_was_asked_for() -> None:
    found = strict(dump_attn("--json", "--step", "jacobian", "--head", "1,3", PROMPT).out)["layers"]
    assert [(entry["head"], entry["query"]) for entry in found] == [(1, 14), (3, 14)]
    shown = dump_attn("--step", "jacobian", "--head", "1,3", PROMPT).out
    assert re.findall(r"head (\d) → kv \d · row (\d+)", shown.replace("\n  ", " ")) == [("1", "14"), ("3", "14")]


@pytest.mark.parametrize(
    ("options", "way_out"),
    [
        ("--what-if no-mask --all", "Try --rows last, or one --layer."),
        ("--step jacobian --all --head 0,1,2,3", "Try one --layer, or an earlier row with --rows."),
    ],
)
def test_documents_of_other_screens_have_the_same_guard(
    options: str, way_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glasscli.export.document.MAX_JSON_BYTES", 1_000_000)
    ran = dump_attn("--json", *options.split(), "ab" * 50)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith(f"make about 2 MB of JSON; the limit is 1 MB.\n       {way_out}\n")


def test_a_jacobian_too_large_to_compute_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glasscli.inspect.whatif.MAX_JACOBIAN", 10)
    ran = dump_attn("--step", "jacobian", PROMPT)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "glass: a Jacobian of 15 × 15; the limit is 10.\n       Try an earlier row with --rows.\n"
    assert dump_attn("--step", "jacobian", "--rows", "9", PROMPT).code == 0


@pytest.mark.parametrize("ending", ["npz", "safetensors", "json", "csv", "svg", "html"])
def test_files_are_written_and_said(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"attn.{ending}"
    ran = dump_attn("-o", str(path), "--layer", "0,2", PROMPT)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith(f"glass: wrote {path}: ")
    assert "layers 0, 2, 15 tokens" in ran.err
    assert path.stat().st_size > 1000
    assert list(tmp_path.iterdir()) == [path]
    assert dump_attn("-o", str(path), "-q", PROMPT).err == ""


VIEWS = ["--step jacobian --rows 4", "--what-if no-mask", "--weighted", "--cell 4,2 --head 0,1", "--heads"]


def _numbers(value: object, name: str = "") -> dict[str, object]:
    """Every array of a JSON document by the end of its path."""
    if isinstance(value, dict):
        if set(value) == {"shape", "data"}:
            return {name: np.array(value["data"], float)}
        return {k: v for key, part in value.items() for k, v in _numbers(part, key).items()}
    return {k: v for part in value for k, v in _numbers(part, name).items()} if isinstance(value, list) else {}


@pytest.mark.parametrize("options", VIEWS)
def test_what_a_screen_of_its_own_prints_as_json_goes_into_files(options: str, tmp_path: Path) -> None:
    printed = strict(dump_attn("--json", *options.split(), PROMPT).out)
    written = tmp_path / "view.json"
    ran = dump_attn("-o", str(written), *options.split(), PROMPT)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith(f"glass: wrote {written}: ")
    assert strict(written.read_text()) == printed
    binary = tmp_path / "view.npz"
    assert dump_attn("-o", str(binary), *options.split(), PROMPT, "-q").err == ""
    arrays = np.load(binary)
    about = strict(str(arrays["metadata"]))
    assert (about["schema"], about["prompt"]) == (printed["schema"], PROMPT)
    if options == "--heads":
        assert arrays["layer"].tolist() == [entry["layer"] for entry in printed["heads"]]
        assert arrays["probe.induct"].tolist() == [entry["probe"]["induct"] for entry in printed["heads"]]
        assert arrays["role"].tolist() == [entry["role"] or "" for entry in printed["heads"]]
        return
    expected = _numbers(printed)
    assert {name.split(".")[-1] for name in arrays if name != "metadata"} == set(expected)
    last = {name.split(".")[-1]: arrays[name] for name in arrays if name != "metadata"}
    for name, values in expected.items():
        np.testing.assert_allclose(last[name], values, rtol=1e-8)


def test_a_view_in_safetensors_has_its_arrays_and_the_rest_as_metadata(tmp_path: Path) -> None:
    path = tmp_path / "cell.safetensors"
    dump_attn("-o", str(path), "--cell", "4,2", "--head", "0,1", "--layer", "1", PROMPT)
    with safe_open(path, "numpy") as file:
        assert {"L1.H0.terms", "L1.H1.terms"} <= set(file.keys())
        assert strict(file.metadata()["schema"]) == "glass.cell/1"
        entries = strict(file.metadata()["layers"])
        for entry in entries:
            terms = file.get_tensor(f"L1.H{entry['head']}.terms")
            assert entry["score"] == pytest.approx(terms.sum(), abs=1e-5)


def test_a_table_of_heads_as_csv_has_a_row_a_head(tmp_path: Path) -> None:
    path = tmp_path / "heads.csv"
    dump_attn("-o", str(path), "--heads", PROMPT)
    rows = list(csv.DictReader(path.open()))
    printed = strict(dump_attn("--json", "--heads", PROMPT).out)["heads"]
    assert [float(row["text.prev"]) for row in rows] == [entry["text"]["prev"] for entry in printed]


def test_a_prompt_that_looks_like_a_selector_is_said_to_be_read_as_text() -> None:
    for prompt in ("1", "0,2", "4:8", "last"):
        ran = dump_attn("--heads", prompt)
        assert ran.code == 0
        assert f"glass: the text that is read is {prompt}. To pick a head or a layer: --head, --layer\n" in ran.err
    assert dump_attn("--heads", "1", "-q").err == ""
    assert dump_attn("--heads", "1 cat").err == dump_attn("--heads", "-", stdin=b"1").err == ""


def test_files_take_steps_and_names(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    dump_attn("-o", str(path), "--layer", "1", "--step", "q,softmax", "--names", "tl", PROMPT)
    names = [name for name in np.load(path) if name.startswith("blocks")]
    assert names == ["blocks.1.attn.hook_q", "blocks.1.attn.hook_pattern"]


def test_the_model_itself_is_never_replaced(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model")
    (tmp_path / "link.json").symlink_to(folder / "config.json")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for path in (folder / "model.safetensors", folder / "tokenizer.json", tmp_path / "link.json"):
        ran = glass("dump-attn", "-m", str(folder), "-o", str(path), PROMPT)
        assert (ran.code, ran.err) == (2, f"glass: -o {path}: this file is a part of the model. Name another.\n")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert glass("dump-attn", "-m", str(folder), "-o", str(folder / "attention.json"), PROMPT).code == 0


def test_a_full_disk_is_a_clean_error() -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "glasscli", "dump-attn", PROMPT],
            stdout=full, stderr=subprocess.PIPE, env=environment(), check=False,
        )  # fmt: skip
    assert ran.returncode == 1
    assert ran.stderr == b"glass: cannot write the output: No space left on device\n"


def test_help_ends_with_examples_that_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = glass("dump-attn", "--help").out
    examples = re.findall(r"^ +glass (dump-attn .*)$", text.split("Examples:")[1], re.MULTILINE)
    assert len(examples) >= 5
    for example in examples:
        assert glass(*shlex.split(example)).code == 0, example
    assert (tmp_path / "attention.html").is_file()


def test_options_that_would_say_nothing_are_refused_even_where_they_are_zero() -> None:
    assert "--names" in dump_attn("--what-if", "no-scale", "--names", "tl", "--json", "ab").err
    assert "--seed draws new tokens: give --new N too." in dump_attn("--seed", "0", "ab").err


def test_a_csv_file_that_would_be_too_long_is_told_of_binary_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glasscli.export.table.MAX_CSV_ROWS", 10)
    ran = dump_attn("abcdef", "-o", str(tmp_path / "out.csv"))
    assert ran.code == 2
    assert "lines of CSV" in ran.err
    assert "Try -o FILE.npz" in ran.err
    assert not (tmp_path / "out.csv").exists()
