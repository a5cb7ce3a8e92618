"""`--cache SPEC` of `generate` and `dump-attn`: forms, bytes, screens, files, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.in_process import glass, text_of
from helpers.strict_json import strict
from helpers.terminal import in_terminal

from glasscli import load_model
from glasscli.cache.choice import CacheChoice
from glasscli.cache.choice_text import SETS, parse_choice
from glasscli.cache.formats.names import NAMES
from glasscli.inspect.cache_change import layer_change
from glasscli.inspect.dump import dump_attention

PROMPT = "Once upon a time there was a"
DEMO = "The cat saw the dog. The cat"


@pytest.mark.parametrize("command", ["generate", "dump-attn"])
def test_the_help_lists_every_form(command: str) -> None:
    words = text_of(glass(command, "--help", columns=200)).replace("=", " ").replace(",", " ").replace("+", " ").split()
    words = [word.strip(":;().") for word in words]
    for form in (*NAMES, *SETS):
        assert form in words, form


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("q9_0", "--cache 'q9_0': 'q9_0' is not known. Did you mean q4_0, q5_0 or q8_0?"),
        ("q8_0,windo=4", "Did you mean window?"),
        ("sinks=4", "sinks stand before a window: add window=N"),
        ("window", "window needs a value: window=N"),
        ("", "a part is empty; write formats and rules between commas"),
        ("kivi2,window=8", "can't drop single ones"),
        ("q8_0,q4_0", "keep one"),
        ("window=0", "window=0"),
    ],
)
@pytest.mark.parametrize("command", ["generate", "dump-attn"])
def test_forms_that_are_none_are_refused(command: str, spec: str, says: str) -> None:
    ran = glass(command, "x", "--cache", spec)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert len(ran.err.splitlines()) <= 2


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["generate", "x", "--no-cache", "--cache", "q8_0"], 2, "--no-cache keeps nothing"),
        (["generate", "x", "--overflow", "slide", "--cache", "kivi2"], 2, "can't: use error or left"),
        (["generate", "x", "--cache", "kv-heads=3"], 2, "--cache kv-heads=3: 2 key/value heads can't be"),
        (["generate", "--prompts", "-", "--cache", "kv-heads=3"], 2, "--cache kv-heads=3: 2 key/value heads can't be"),
        (["dump-attn", "--cache", "kv-heads=3"], 2, "--cache kv-heads=3: 2 key/value heads can't be"),
        (["dump-attn", "--cache", "q8_0", "--heads"], 2, "--cache and --heads are different screens"),
        (["dump-attn", "--cache", "q8_0", "--step", "q"], 2, "--step has no effect with --cache"),
        (["dump-attn", "--cache", "q8_0", "-o", "a.html"], 2, "goes into .json .npz .safetensors"),
        (["dump-attn", "--cache", "q8_0", "--json", "--names", "hf"], 2, "--names has no effect with --cache"),
    ],
)
def test_what_does_not_go_together_is_refused(args: list[str], code: int, says: str) -> None:
    ran = glass(*args, stdin=b"one\n")
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err


def test_the_document_tells_the_bytes_really_held() -> None:
    """Of `-n 20` behind 8 tokens there is room for 27: 2 · 4 layers · 2 heads · 32 numbers a token."""
    sizes = {"f32": 128, "f16": 64, "fp8": 32, "q8_0": 34, "q5_1": 24, "q5_0": 22, "q4_1": 20, "q4_0": 18}
    for spec, row in sizes.items():
        ran = glass("generate", PROMPT, "-n", "20", "--json", "--seed", "1", "--cache", spec)
        document = strict(text_of(ran))
        n_read = len(document["prompt_ids"])
        found = document["kv_cache"]
        assert found["spec"] == parse_choice(spec).text
        assert found["allocated_bytes"] == (n_read + 20) * 2 * 4 * 2 * row
        assert found["used_bytes"] == (n_read + len(document["tokens"]) - 1) * 2 * 4 * 2 * row
    document = strict(text_of(glass("generate", PROMPT, "--json", "--cache", "sinks=2+window=6", "--seed", "1")))
    assert document["kv_cache"]["allocated_bytes"] == document["kv_cache"]["used_bytes"] == 8 * 2048
    lines = text_of(glass("generate", "--prompts", "-", "--jsonl", "-n", "4", "--cache", "q4_0", stdin=b"a\nb\n"))
    assert json.loads(lines.splitlines()[-1])["kv_cache"] == {"spec": "q4_0", "allocated_bytes": 2 * 6 * 288}


def test_the_full_cache_by_name_writes_the_same_text() -> None:
    args = ["generate", PROMPT, "-n", "30", "--seed", "3"]
    plain = text_of(glass(*args))
    assert text_of(glass(*args, "--cache", "f32")) == text_of(glass(*args, "--cache", "window=500")) == plain
    assert text_of(glass(*args, "--cache", "window=4")) != plain


def test_the_numbers_below_a_text_name_the_cache() -> None:
    code, screen = in_terminal("generate", PROMPT, "-n", "8", "--seed", "1", "--cache", "q8_0,sinks=2,window=6")
    assert code == 0
    assert "KV q8_0,sinks=2+window=6" in " ".join(screen.split())
    _, screen = in_terminal("generate", PROMPT, "-n", "8", "--seed", "1", columns=100)
    assert "KV f32" not in screen


def test_merged_heads_are_said_to_be_not_retrained() -> None:
    for args in (["generate", PROMPT, "-n", "3"], ["dump-attn"], ["generate", "--prompts", "-", "-n", "3"]):
        ran = glass(*args, "--cache", "kv-heads=1", stdin=b"a\n")
        assert ran.code == 0
        assert "merged into 1" in ran.err + " ".join(ran.out.split())
        assert "not retrained" in ran.err + " ".join(ran.out.split())


@pytest.mark.parametrize("columns", [40, 80])
def test_maps_of_a_short_text_keep_titles_apart_where_long_ones_do_not_fit(columns: int) -> None:
    ran = glass("dump-attn", "Once upon a", "--cache", "q4_0", columns=columns)
    assert (ran.code, ran.err) == (0, "")
    titles = next(line.split() for line in text_of(ran).splitlines() if line.strip().startswith("h0 "))
    assert titles[:2] == ["h0", "h0*"]


@pytest.mark.parametrize("spec", ["q4_0", "kivi2,kv-heads=1", "sinks=1+window=3", "h2o=4", "f32"])
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_screen_fits_and_shows_the_changes_of_each_head(spec: str, columns: int) -> None:
    out = text_of(glass("dump-attn", "--layer", "1", "--cache", spec, columns=columns))
    assert max(len(line) for line in out.splitlines()) <= columns
    for word in ("moved", "dropped", "scores Δ", "mix Δ", "cache"):
        assert word in out
    zero = {".00", "0.00", "0.0 %"}
    if spec == "f32" and columns >= 80:
        rows = [line.split() for line in out.splitlines() if line.endswith("0.0 %")]
        assert len(rows) == 4
        assert all(set(row[2:-2]) <= zero for row in rows)


@pytest.mark.parametrize("spec", ["q4_0", "tova=4"])
def test_files_and_json_hold_both_runs(spec: str, tmp_path: Path) -> None:
    loaded, choice = load_model(), parse_choice(spec)
    cached, full = (dump_attention(loaded, DEMO, [2], choice=c).layers[0] for c in (choice, CacheChoice()))
    document = strict(text_of(glass("dump-attn", "--cache", spec, "--json", "--step", "softmax,scores,mix")))
    (layer,) = document["layers"]
    assert (document["cache"], document["schema"]) == (choice.text, "glass.attn/1")
    for entry, trace in ((layer, cached), (layer["full"], full)):
        np.testing.assert_allclose(entry["softmax"]["data"], trace.pattern_HTS, rtol=1e-6)
        scores = np.array(entry["scores"]["data"], np.float64)
        assert (np.isnan(scores) == ~trace.seen).all()
    change = layer_change(cached, full)
    assert layer["change"]["out"] == change.out
    assert [head["moved"] for head in layer["change"]["heads"]] == [head.moved for head in change.heads]
    path = tmp_path / "layer.npz"
    ran = glass("dump-attn", "--cache", spec, "-o", str(path))
    assert (ran.code, ran.out) == (0, "")
    with np.load(path) as arrays:
        np.testing.assert_array_equal(arrays["L2.scores"], cached.scores_HTS)
        np.testing.assert_array_equal(arrays["L2.full.mix"], full.mix_HTE)
        assert json.loads(str(arrays["metadata"]))["cache"] == choice.text


def test_steps_of_decoding_and_new_tokens_too() -> None:
    for args in (["--decode"], ["--new", "4"], ["--rows", "3:6", "--scale", "log"], ["--all", "--head", "0,2"]):
        out = text_of(glass("dump-attn", "--cache", "kivi2", *args))
        assert "cache   kivi2" in out
        assert "moved" in out
    assert "layer 3" in out
