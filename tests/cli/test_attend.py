"""`glass attend`: the worked tables of lectures with their digits, in one line each; files; refusals."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from helpers.in_process import glass, text_of
from helpers.strict_json import strict

from glasscli import Trace, load_model
from glasscli.cli.page.cells import cells

HEAD = ("--q", "1 0; 1 1; 0 1", "--v", "2 0; 0 2; 2 2")
SCORES = "2.1 .8 −.4 1.2; .9 2.5 1.1 .3; .2 1.8 2.0 −.5; .1 .9 1.7 2.2"


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_worked_head_in_one_line() -> None:
    """One head, d = 2, Q = K: the digits that are printed in lectures."""
    lines = squeezed(text_of(glass("attend", *HEAD, "--digits", "6", columns=120)))
    assert lines[0] == "3 queries × 3 keys · width 2, k = q · scale 0.707107 · causal · float64"
    assert lines[2] == "raw q·k × scale masked softmax mixed softmax·v"
    assert lines[4:7] == [
        "0 .707107 .707107 .000000 .707107 −∞ −∞ 1.000000 2.000000 .000000",
        "1 .707107 1.414214 .707107 .707107 1.414214 −∞ .330238 .669762 .660477 1.339523",
        "2 .000000 .707107 .707107 .000000 .707107 .707107 .197776 .401112 .401112 1.197776 1.604448",
    ]


def test_the_worked_scores_in_one_line() -> None:
    lines = squeezed(text_of(glass("attend", "--scores", SCORES, "--labels", "The,cat,sat,down")))
    assert lines[3] == "The cat sat down " * 2 + "The cat sat down"
    assert lines[4:8] == [
        "The 2.1000 .8000 -.4000 1.2000 2.1000 −∞ −∞ −∞ 1.0000",
        "cat .9000 2.5000 1.1000 .3000 .9000 2.5000 −∞ −∞ .1680 .8320",
        "sat .2000 1.8000 2.0000 -.5000 .2000 1.8000 2.0000 −∞ .0833 .4127 .5040",
        "down .1000 .9000 1.7000 2.2000 .1000 .9000 1.7000 2.2000 .0612 .1362 .3030 .4996",
    ]
    assert lines[-1] == "each row of softmax sums to 1, Δ < 1e-12"


def test_json_is_exact() -> None:
    document = strict(glass("attend", *HEAD, "--json").out)
    assert document["schema"] == "glass.attend/1"
    q, v = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[2, 0], [0, 2], [2, 2]])
    weights = np.tril(np.exp(q @ q.T / np.sqrt(2)))
    weights /= weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(document["softmax"], weights[None], atol=1e-15)
    np.testing.assert_allclose(document["mixed"], (weights @ v)[None], atol=1e-15)
    assert document["masked"][0][0][1:] == [None, None]
    assert document["mask"][1] == [True, True, False]
    assert strict(glass("attend", "--scores", SCORES, "--json").out)["mixed"] is None


def test_csv_has_a_row_a_number() -> None:
    rows = list(csv.DictReader(io.StringIO(glass("attend", *HEAD, "--labels", "a,b,c", "--csv").out)))
    assert len(rows) == 3 * 9 + 6
    (one,) = [row for row in rows if (row["step"], row["query"], row["column"]) == ("softmax", "1", "0")]
    assert (float(one["value"]), one["query_label"], one["column_label"]) == (
        pytest.approx(0.330238, abs=1e-6),
        "b",
        "a",
    )
    assert [row["value"] for row in rows if row["step"] == "masked" and row["query"] == "0"][1:] == ["", ""]


def test_heads_share_keys() -> None:
    screen = text_of(glass("attend", "--q", "1 0; 0 1 | 2 0; 0 2", "--k", "1 0; 1 1", "--v", "1 2; 3 4", "--no-mask"))
    assert screen.startswith("2 query heads → 1 KV · 2 queries × 2 keys")
    assert re.findall(r"^head \d → kv \d$", screen, re.MULTILINE) == ["head 0 → kv 0", "head 1 → kv 0"]
    assert "masked" not in screen


def test_a_run_s_own_queries_and_keys_give_its_own_pattern(tmp_path: Path) -> None:
    target = str(tmp_path / "layer.npz")
    assert glass("dump-attn", "--layer", "2", "-o", target, "The cat saw the dog. The cat").code == 0
    named = [f"--{name}={target}:L2.{step}" for name, step in (("q", "rope_q"), ("k", "rope_k"), ("v", "v"))]
    document = strict(glass("attend", *named, "--json").out)
    loaded, trace = load_model(), Trace([2])
    loaded.model(loaded.encode("The cat saw the dog. The cat"), trace=trace)
    np.testing.assert_allclose(document["softmax"], trace.layers[2].pattern_HTS, atol=1e-5)
    np.testing.assert_allclose(document["mixed"], trace.layers[2].mix_HTE, atol=1e-5)
    assert (document["n_heads"], document["n_kv_heads"]) == (4, 2)


def test_all_from_one_file(tmp_path: Path) -> None:
    q, v = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[2, 0], [0, 2], [2, 2]])
    np.savez(tmp_path / "a.npz", q=q, k=q, v=v)
    (tmp_path / "a.json").write_text('{"q": [[1, 0], [1, 1], [0, 1]], "v": [[2, 0], [0, 2], [2, 2]]}')
    np.save(tmp_path / "q.npy", q)
    (tmp_path / "v.csv").write_text("2,0\n0,2\n2,2\n")
    expected = strict(glass("attend", *HEAD, "--json").out)
    for args in (
        ["--from", f"{tmp_path}/a.npz"],
        ["--from", f"{tmp_path}/a.json"],
        ["--q", f"{tmp_path}/q.npy", "--v", f"{tmp_path}/v.csv"],
    ):
        assert strict(glass("attend", *args, "--json").out) == expected


def test_one_query_over_a_cache() -> None:
    lines = squeezed(text_of(glass("attend", "--q", "3 1", "--k", "1 0; 1 1; 0 1", "--start", "1")))
    assert lines[0].endswith("· causal from position 1 · float64")
    assert lines[4].startswith("1 2.1213 2.8284 .7071 2.1213 2.8284 −∞ ")


@pytest.mark.parametrize("columns", [20, 40, 80, 100, 200])
@pytest.mark.parametrize("labels", ["The,cat,sat,down", "日本語,🙂🙂🙂🙂🙂🙂🙂🙂,e\u0301,a very long label indeed"])
def test_no_line_is_wider_than_the_page(columns: int, labels: str) -> None:
    screen = text_of(glass("attend", "--scores", SCORES, "--v", "1;2;3;4", "--labels", labels, columns=columns))
    assert max(map(cells, screen.splitlines())) <= columns
    assert squeezed(screen)[-1].endswith("1e-12")
    for number in (".1680", ".4996", "-.5000"):
        assert number in screen


def test_ascii() -> None:
    screen = text_of(glass("attend", "--scores", SCORES, encoding="ascii"))
    assert "-inf" in screen
    assert screen.isascii()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], 'no numbers. Give --q "1 0; 1 1"'),
        (["--q", "1 0; 1"], "--q: the numbers: row 2 has 1 number, row 1 has 2 numbers"),
        (["--q", "1 0", "--k", "1 0 0"], "queries are 2 wide and keys 3"),
        (["--q", "1 0; 1 1", "--v", "1 2"], "keys have 1 heads × 2 tokens and values 1 heads × 1 tokens"),
        (["--q", "1|2|3", "--k", "1|2"], "2 key/value heads can't be shared evenly by 3 query heads"),
        (["--q", "/nowhere.npy"], "--q: /nowhere.npy: can't be read (No such file or directory)"),
        (["--q", "hello"], "--q: 'hello' is neither rows of numbers"),
        (["--q", "1", "--scores", "1"], "--scores come from queries and keys"),
        (["--scores", "1", "--scale", "2"], "--scale is a factor of q·k"),
        (["--q", "1", "--from", "a.npz"], "--from holds all arrays by name"),
        (["--from", "/nowhere.npz"], "/nowhere.npz: can't be read"),
        (["--from", "/nowhere.csv"], "names no arrays; expected an .npz or .json file"),
        (["--q", "1; 2", "--labels", "a"], "--labels names 1 tokens; there are 2 keys"),
        (["--q", "1", "--json", "--csv"], "--json and --csv are two formats"),
        (["--q", "1", "--digits", "16"], "--digits 16: a float64 has 15"),
        (["--q", "inf 1"], "q holds a number that is not finite"),
        (["--scores", "-inf 1"], None),
        (["--scores", "-inf 1; 1 1"], "query 0 sees no key"),
    ],
)
def test_refusals(args: list[str], message: str | None) -> None:
    ran = glass("attend", *args)
    if message is None:
        assert ran.code == 0
        return
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
