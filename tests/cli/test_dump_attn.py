"""`glass dump-attn`: what the screens say, checked against the dump they show."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.dump_cases import PROMPT, STEPS, tiny, tiny_dump, tiny_folder, write_folder
from helpers.in_process import dump_attn, glass
from helpers.terminal import in_terminal

from glasscli.cli.commands.dump_attn.decode_screen import decode_screen
from glasscli.cli.commands.dump_attn.heatmap import SHADES
from glasscli.cli.page.page import Page
from glasscli.inspect.dump import dump_attention, dump_decode
from glasscli.tokenizer.pieces import label_of

LINEAR, LOG = (0.05, 0.2, 0.4, 0.7), (0.001, 0.01, 0.1, 0.5)  # as --help and the legends say


def shades(values: np.ndarray, mask: np.ndarray, bounds: tuple[float, ...] = LINEAR) -> list[str]:
    """Rows of a map as they must be drawn, one cell a column."""
    return [
        "".join(SHADES[sum(v >= b for b in bounds)] if m else " " for v, m in zip(row, seen, strict=True)).rstrip()
        for row, seen in zip(values.tolist(), mask.tolist(), strict=True)
    ]


def test_the_steps_stand_in_the_lesson_s_order() -> None:
    ran = dump_attn("--layer", "1", PROMPT)
    assert (ran.code, ran.err) == (0, "")
    names = re.findall(r"^ (\w+) +\S.* × ", ran.out, re.MULTILINE)
    assert names == list(STEPS)
    assert ran.out.startswith(
        "layer 1 of 0–2 · 4 query heads → 2 KV heads (2 share one) · head_dim 8 · float32 · prefill 15 × 15\n"
    )
    assert "prompt  one two one two   15 tokens\n" in ran.out


def test_the_numbers_are_those_of_the_dump() -> None:
    out = dump_attn("--layer", "1", PROMPT).out
    trace = tiny_dump().layers[0]
    for name, values in (("q", trace.q_HTE), ("scores", trace.scores_HTS), ("out", trace.out_TD)):
        rms = float(np.sqrt((values.astype(float) ** 2).mean()))
        row = re.search(rf"^ {name} .*$", out, re.MULTILINE)
        assert row
        assert f"{rms:.2f}" in row[0]
        assert f"{values.min():.2f}" in row[0]
    for found in ("|q| kept, Δ ", "position 0 unchanged", "rows 0–14, 1.9 KiB", "q0 q1 → kv0  q2 q3 → kv1"):
        assert found in out
    assert "105 of 225 cells hidden" in out
    assert "|Σ−1| < 1e-06" in out


@pytest.mark.parametrize(("scale", "bounds"), [("linear", LINEAR), ("log", LOG)])
def test_maps_shade_the_weights(scale: str, bounds: tuple[float, ...]) -> None:
    trace = tiny_dump().layers[0]
    lines = dump_attn("--layer", "1", "--scale", scale, PROMPT).out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(" o  0"))
    drawn = [[line[6 + head * 18 : 6 + head * 18 + 15] for line in lines[first : first + 15]] for head in range(4)]
    for head in range(4):
        assert [line.rstrip() for line in drawn[head]] == shades(trace.pattern_HTS[head], trace.mask_TS, bounds)


def test_measures_stand_beside_the_baseline() -> None:
    out = dump_attn("--layer", "1", PROMPT).out
    rows = [line.split() for line in out.splitlines() if re.match(r" (\d|uniform) ", line)][-5:]
    assert [row[:2] for row in rows[:4]] == [["0", "0"], ["1", "0"], ["2", "1"], ["3", "1"]]
    assert rows[4][0] == "uniform"
    assert "← a head that ignores content" in out


def test_without_a_prompt_a_demo_text_is_read_and_named() -> None:
    ran = glass("dump-attn")
    assert (ran.code, ran.err) == (0, "")
    assert "prompt  The cat saw the dog. The cat   9 tokens   (demo text: give your own)" in ran.out
    assert "–" not in ran.out.split("uniform")[1]  # its repeat gives dup and induct a value
    assert "demo" not in glass("dump-attn", "Hi").out


def test_a_dash_reads_stdin() -> None:
    assert "prompt  abab   4 tokens" in dump_attn("-", stdin=b"abab\n").out


def test_heads_are_picked() -> None:
    out = dump_attn("--layer", "1", "--head", "0,2", PROMPT).out
    assert re.findall(r"head (\d) · kv (\d)", out) == [("0", "0"), ("2", "1")]


def test_one_head_is_large_with_numbers() -> None:
    out = dump_attn("--head", "3", "--layer", "1", PROMPT, columns=120).out
    assert "head 3 → kv 1" in out
    pattern = tiny_dump().layers[0].pattern_HTS[3]
    assert " ".join(f"{w:.2f}" for w in pattern[14]) in re.sub(" +", " ", out)


@pytest.mark.parametrize("step", STEPS)
def test_every_step_prints_its_numbers(step: str) -> None:
    ran = dump_attn("--step", step, "--layer", "1", PROMPT)
    assert (ran.code, ran.err) == (0, "")
    trace = tiny_dump().layers[0]
    printed = ran.out.replace("\n", " ")
    examples = {
        "q": trace.q_HTE[3, 14, 7],
        "k": trace.k_KTE[1, 14, 7],
        "v": trace.v_KTE[0, 2, 3],
        "rope_q": trace.rope_q_HTE[0, 5, 1],
        "rope_k": trace.rope_k_KTE[1, 5, 1],
        "cache": trace.cache_v_KSE[1, 9, 4],
        "scores": trace.scores_HTS[2, 3, 9],
        "softmax": trace.pattern_HTS[2, 9, 3],
        "mix": trace.mix_HTE[1, 1, 1],
        "out": trace.out_TD[14, 31],
    }
    digits = 3 if step == "softmax" else 2
    assert step == "mask" or f" {examples[step]:.{digits}f}" in printed
    assert f"{step} = " in ran.out


def test_a_pipe_gets_all_columns_and_a_terminal_a_count_of_the_rest() -> None:
    piped = dump_attn("--step", "out", "abc", columns=60).out
    numbers = re.findall(r"-?\d+\.\d\d", piped)
    assert len(numbers) == 3 * 32
    code, shown = in_terminal("dump-attn", "-m", tiny_folder(), "--step", "out", "abc", columns=60)
    assert code == 0
    marks = re.findall(r"…\+(\d+)", shown)
    assert len(set(marks)) == 1
    assert len(re.findall(r"-?\d+\.\d\d", shown)) == 3 * (32 - int(marks[0]))


@pytest.mark.parametrize(("rows", "positions"), [("last", [14]), ("3", [3]), ("4:7", [4, 5, 6]), ("12:", [12, 13, 14])])
def test_rows_are_picked(rows: str, positions: list[int]) -> None:
    out = dump_attn("--step", "mask", "--rows", rows, PROMPT).out
    assert [int(n) for n in re.findall(r"^ +\S +(\d+) [ 0−∞]+$", out, re.MULTILINE)] == positions


def test_the_mask_is_what_is_added_and_the_sums_are_what_softmax_reads() -> None:
    out = dump_attn("--step", "mask", "--head", "2", "abcd").out
    added, sums = out.split("S + M: scores + mask, what softmax reads")
    assert "0: may look" in added
    rows = re.findall(r"^ [abcd] \d((?: +(?:0|−∞)){4})$", added, re.MULTILINE)
    assert [row.split() for row in rows] == [["0"] * (i + 1) + ["−∞"] * (3 - i) for i in range(4)]
    summed = [
        [float(cell.replace("−∞", "-inf")) for cell in row.split()]
        for row in re.findall(r"^ [abcd] \d((?: +(?:-?\d+\.\d\d|−∞)){4})$", sums, re.MULTILINE)
    ]
    weights = np.exp(summed) / np.exp(summed).sum(axis=1, keepdims=True)  # softmax, written out
    pattern = tiny_dump(prompt="abcd").layers[0].pattern_HTS[2]
    np.testing.assert_allclose(weights, pattern, atol=0.01)


def test_decode_equals_the_last_row_and_says_so() -> None:
    out = dump_attn("--decode", "--head", "3", "--layer", "2", PROMPT).out
    assert "decode step · layer 2 head 3 → kv 1 · start 14 · 1 query × 15 keys (14 cached + 1 new)" in out
    found = re.search(r"equals row 14 of the prefill 15 × 15: max Δ (\S+) in softmax, (\S+) in out", out)
    assert found
    assert all(float(number) < 1e-5 for number in found.groups())
    trace = dump_decode(tiny(), PROMPT, [2]).layers[0]
    rows = re.findall(r"^ +(\d+) \S+ +(-?\d+\.\d\d) +(\.\d\d|1\.00)", out, re.MULTILINE)
    assert [int(row[0]) for row in rows] == list(range(15))
    assert [float(row[1]) for row in rows] == pytest.approx(trace.scores_HTS[3, 0].tolist(), abs=0.0051)
    assert [float(row[2]) for row in rows] == pytest.approx(trace.pattern_HTS[3, 0].tolist(), abs=0.0051)
    assert out.count("← itself") == 1


def test_a_decode_step_that_differs_from_the_prefill_is_told_and_rounding_is_not() -> None:
    dump, prefill = dump_decode(tiny(), PROMPT, [2]), dump_attention(tiny(), PROMPT, [2]).layers[0]
    page = Page()

    def shown(out_TD: np.ndarray, scale: float = 1.0) -> str:
        step = replace(dump.layers[0], out_TD=dump.layers[0].out_TD * np.float32(scale))
        lines = decode_screen(page, dump, step, [0], replace(prefill, out_TD=out_TD * np.float32(scale)))
        return "\n".join("".join(text for text, _ in line) for line in lines)

    assert "equals row 14" in shown(prefill.out_TD)
    assert "equals row 14" in shown(prefill.out_TD * np.float32(1 + 1e-6), 1000)
    assert "DIFFERS from row 14" in shown(prefill.out_TD + np.float32(1e-3))


@pytest.mark.parametrize("how", [("-t", "0"), ("--seed", "5")])
def test_new_tokens_are_those_that_generate_writes(how: tuple[str, str]) -> None:
    text = json.loads(glass("generate", "-m", str(tiny_folder()), PROMPT, "-n", "8", "--json", *how).out)
    seed = how if how[0] == "--seed" else ()
    found = json.loads(dump_attn("--new", "8", "--json", "--step", "softmax", *seed, PROMPT).out)
    assert [token["id"] for token in found["chosen"]] == [token["id"] for token in text["tokens"]]


def test_new_tokens_show_the_step_that_chose_each() -> None:
    dump = json.loads(dump_attn("--new", "6", "--json", "--step", "softmax", PROMPT).out)
    chosen = [label_of(bytes.fromhex(token["bytes"])) for token in dump["chosen"]]
    out = dump_attn("--new", "6", PROMPT).out
    assert re.findall(r"^ +\d+  \S+ +(\S+) ", out, re.MULTILINE) == chosen
    one = dump_attn("--new", "6", "--rows", "last", PROMPT).out
    assert f"and chose {chosen[-1]}" in one
    assert "equals row" in one


def test_the_jacobian_is_shown_with_its_properties() -> None:
    out = dump_attn("--step", "jacobian", "--head", "2", "--rows", "4", PROMPT).out
    assert "head 2 → kv 1 · row 4 t · 5 × 5" in out
    assert out.count(" ✓ ") == 4
    for word in ("symmetric", "rows sum to 0", "eigenvalues ≥ 0", "central differences agree"):
        assert word in out


def test_what_if_shows_both_and_why() -> None:
    out = dump_attn("--what-if", "no-scale", "--head", "1", PROMPT).out
    assert "head 1 no-scale" in out
    real, other = (re.search(rf"{name} +(\S+) +(\S+) b", out) for name in ("as it is", "no-scale"))
    assert real
    assert other
    assert float(other[1]) == pytest.approx(float(real[1]) * 8**0.5, rel=0.02)
    assert float(other[2]) < float(real[2])
    ahead = dump_attn("--what-if", "no-mask", "--head", "1", PROMPT).out
    assert re.search(r"as it is .*\.00$", ahead, re.MULTILINE)
    assert not re.search(r"no-mask .*\.00$", ahead, re.MULTILINE)


def test_heads_are_sorted_by_induction_on_the_probe() -> None:
    out = dump_attn("--heads", PROMPT).out
    scores = [float(n) for n in re.findall(r"^ \d\.\d +\d +(?:[a-z]+ +)?(\.\d\d|1\.00)", out, re.MULTILINE)]
    assert len(scores) == 12
    assert scores == sorted(scores, reverse=True)
    assert "24 random tokens, twice; mean of 32 draws (seed 0)" in out


def test_explain_adds_each_step_with_its_line_of_code_and_what_is_measured() -> None:
    out, page = dump_attn("--explain", PROMPT).out, dump_attn(PROMPT).out
    assert out.startswith(page)  # nothing is taken away for it
    for more in (["--decode"], ["--new", "3"], ["--head", "1"]):
        assert dump_attn(*more, "--explain", PROMPT).out.startswith(dump_attn(*more, PROMPT).out)
    for name in ("sink", "prev", "self", "dup", "induct", "reach"):
        assert re.search(rf"^    {name} +[A-Z]", out, re.MULTILINE)
        assert re.search(rf"^ .*\b{name}: [a-z]", page, re.MULTILINE)
    for name in STEPS:
        assert re.search(rf"^ ?\d+  {name} = ", out, re.MULTILINE)
    lines = re.findall(r"^    (glasscli/\S+\.py):(\d+)  ", out, re.MULTILINE)
    assert len(lines) == len(STEPS)


def test_blocked_attention_equals_the_plain_one_in_less_memory() -> None:
    out = dump_attn("--step", "softmax", "--blocked", "--all", "ab" * 120).out
    rows = re.findall(r"^ (\d) +4 × 240 × 240 +(\S+) (\w+) +(\S+) (\w+) +(\S+)$", out, re.MULTILINE)
    assert [row[0] for row in rows] == ["0", "1", "2"]
    for _, plain, plain_unit, blocked, blocked_unit, gap in rows:
        assert float(gap) < 1e-5
        size = {"KiB": 1, "MiB": 1024}
        assert float(blocked) * size[blocked_unit] < float(plain) * size[plain_unit]


def test_every_layer_with_all() -> None:
    out = dump_attn("--all", "abc").out
    assert re.findall(r"^layer (\d) of 0–2", out, re.MULTILINE) == ["0", "1", "2"]


def test_a_failed_check_is_told(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glasscli.inspect.checks.TOLERANCE", 0.0)
    assert "CHANGED, Δ" in dump_attn(PROMPT).out


def test_multi_head_and_multi_query_models() -> None:
    assert "4 query heads → 4 KV heads · " in dump_attn("abab", kind="mha").out
    mqa = dump_attn("abab", kind="mqa").out
    assert "4 query heads → 1 KV head (4 share one)" in mqa
    assert "q0 q1 q2 q3 → kv0" in mqa


def test_many_heads_are_shown_in_bands(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = write_folder(tmp_path_factory.mktemp("wide"), num_attention_heads=16, num_key_value_heads=4)
    out = glass("dump-attn", "-m", str(folder), "abab").out
    assert re.findall(r"h(\d+) · kv\d", out) == [str(h) for h in range(16)]
    assert "q0–3 → kv0  …  q12–15 → kv3" in out
