"""What screens of dump-attn leave out where there is too much, and that they say how much."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from helpers.dump_cases import tiny_folder, write_folder
from helpers.in_process import dump_attn, glass
from helpers.terminal import in_terminal

LONG = "".join(chr(97 + i * i % 26) for i in range(90))  # 90 letters, a token each


@pytest.mark.parametrize("n_keys", [63, 64, 65, 90])
def test_a_decode_step_shows_the_64_keys_that_are_looked_at_most(n_keys: int) -> None:
    text = LONG[:n_keys]
    out = dump_attn("--decode", text).out
    shown = [int(key) for key in re.findall(r"^ +(\d+) \S +\.\d\d", out, re.MULTILINE)]
    document = json.loads(dump_attn("--decode", "--json", "--step", "softmax", text).out)
    weights = np.array(document["layers"][0]["softmax"]["data"])[:, 0]
    if n_keys <= 64:
        assert shown == list(range(n_keys))
        assert "more keys" not in out
        return
    assert shown[-1] == n_keys - 1  # the token itself is always there,
    assert len(shown) in (63, 64)  # be it one of the 63 or not
    assert shown == sorted(shown)
    left = sorted(set(range(n_keys)) - set(shown))
    most = weights.max(axis=0)
    assert most[left].max() <= min(most[key] for key in shown[:-1])
    rest = weights[:, left].sum(axis=1).max()
    assert f" … {n_keys - len(shown)} more keys, with {rest:.2f}".replace("0.", ".") in out


def test_a_terminal_shows_64_heads_and_a_pipe_all(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "deep", num_hidden_layers=17)
    code, shown = in_terminal("dump-attn", "-m", folder, "--heads", "ab", NO_COLOR="1")
    assert code == 0
    heads = r"^ (\d+\.\d) +\d "
    assert len(re.findall(heads, shown, re.MULTILINE)) == 64
    assert "… 4 more heads (all of them in a pipe, or with --json)" in shown
    piped = glass("dump-attn", "-m", str(folder), "--heads", "ab").out
    assert len(set(re.findall(heads, piped, re.MULTILINE))) == 68
    assert "more heads" not in piped


def test_scores_are_told_to_be_those_before_the_mask() -> None:
    out = dump_attn("--step", "scores", "--head", "0", "abc").out
    assert "(head, query, key) · before the mask" in out
    assert "before the mask" not in dump_attn("--step", "softmax", "abc").out
    rows = re.findall(r"^ +\S (\d)((?: +-?\d+\.\d\d)+)$", out, re.MULTILINE)
    assert [len(numbers.split()) for _, numbers in rows] == [3, 3, 3]  # hidden ones too


def test_what_is_hidden_and_zero_is_blank() -> None:
    out = dump_attn("--step", "softmax", "--head", "0", "abc").out
    rows = re.findall(r"^ +\S (\d)((?: +\d\.\d\d\d)+)$", out, re.MULTILINE)
    assert [len(numbers.split()) for _, numbers in rows] == [1, 2, 3]


def test_a_model_without_shared_keys_names_no_readers() -> None:
    assert "kv head 1 · read by query heads 2–3" in dump_attn("--step", "k", "ab").out
    assert re.search(r"^kv head 1$", dump_attn("--step", "k", "ab", kind="mha").out, re.MULTILINE)
    assert "kv head 0 · read by query heads 0–3" in dump_attn("--step", "k", "ab", kind="mqa").out


def test_a_narrow_screen_of_one_head_has_its_measures_beside_the_baseline() -> None:
    wide, narrow = (dump_attn("--head", "1", "abcab", columns=columns).out for columns in (100, 50))
    row, base = ([*re.findall(rf"^ {name} .*$", wide, re.MULTILINE)[-1].split()] for name in ("1", "uniform"))
    at, base_at = row.index("%") + 1, base.index("%") + 1
    for i, name in enumerate(("sink", "prev", "self", "dup", "induct")):
        assert re.search(
            rf"^{name} +{re.escape(row[at + i])}  \(uniform {re.escape(base[base_at + i])}\)$", narrow, re.M
        )


def test_the_middle_layer_and_the_last_row_are_meant_where_nothing_is_said(tmp_path: Path) -> None:
    assert dump_attn("ab").out.startswith("layer 1 of 0–2")
    folder = write_folder(tmp_path / "even", num_hidden_layers=4)
    assert glass("dump-attn", "-m", str(folder), "ab").out.startswith("layer 2 of 0–3")
    assert "row 4 e · 5 × 5" in dump_attn("--step", "jacobian", "abcde").out
    assert "row 4 e of the prefill" in dump_attn("--rows", "last", "abcde").out


def test_online_softmax_says_when_it_does_not_pay() -> None:
    assert "the blocks cost more than they save" in dump_attn("--blocked", "ab").out
    assert "cost more" not in dump_attn("--blocked", "ab" * 120).out


def test_the_model_s_own_files_are_not_replaced(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model")
    (folder / "config.json").rename(folder / "out.json")
    (folder / "config.json").symlink_to("out.json")
    ran = glass("dump-attn", "-m", str(folder), "ab", "-o", str(folder / "out.json"))
    assert (ran.code, ran.out) == (2, "")
    assert "this file is a part of the model" in ran.err
    assert tiny_folder().exists()
