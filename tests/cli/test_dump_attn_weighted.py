"""`--weighted` and `--cell`: what weights fetch, and a score by its dimensions, on screen."""

import re

import numpy as np
import pytest
from helpers.dump_cases import PROMPT, tiny_dump
from helpers.family_models import family_folder
from helpers.in_process import dump_attn, glass
from helpers.strict_json import strict

NUMBER = r"([+-]\d\.\d{3})"


def test_the_lengths_of_values_are_those_of_the_run() -> None:
    out = dump_attn("--weighted", PROMPT).out
    lengths = np.sqrt((tiny_dump().layers[0].cache_v_KSE.astype(float) ** 2).sum(axis=-1))
    rows = re.findall(r"^ kv (\d)((?: +\d+\.\d)+)$", out, re.MULTILINE)
    assert [int(kv) for kv, _ in rows] == [0, 1]
    for kv, numbers in rows:
        np.testing.assert_allclose([float(n) for n in numbers.split()], lengths[int(kv)], atol=0.0501)


def test_a_sink_is_weighed_by_what_it_fetches() -> None:
    """By hand: for every row the part of Σ A·‖v‖ that comes from the first token."""
    trace = tiny_dump().layers[0]
    (layer,) = strict(dump_attn("--weighted", "--json", PROMPT).out)["layers"]
    weighted = np.array(layer["weighted"]["data"])
    for head, told in enumerate(layer["summary"]):
        parts = []
        for row in range(1, 15):
            fetched = [trace.pattern_HTS[head, row, j] * np.linalg.norm(trace.cache_v_KSE[head // 2, j])
                       for j in range(row + 1)]  # fmt: skip
            np.testing.assert_allclose(weighted[head, row, : row + 1], fetched, rtol=1e-6)
            parts.append(fetched[0] / sum(fetched))
        assert told["fetched"] == pytest.approx(np.mean(parts), rel=1e-6)
        assert told["sink"] == pytest.approx(trace.pattern_HTS[head, 1:, 0].mean(), rel=1e-5)


def test_the_shipped_model_rests_on_short_values() -> None:
    """What makes the view worth having: most of a sink's weight fetches little."""
    (layer,) = strict(glass("dump-attn", "--layer", "3", "--weighted", "--json").out)["layers"]
    for head in layer["summary"]:
        assert head["sink_length"] < head["least"]
        assert head["fetched"] < head["sink"]


def test_a_row_that_stands_alone_has_no_sink() -> None:
    ran = dump_attn("--weighted", "a")
    assert (ran.code, ran.err) == (0, "")
    assert "nan" not in ran.out.lower()


def test_a_cell_s_dimensions_sum_to_its_score() -> None:
    out = dump_attn("--cell", "9,4", "--head", "3", PROMPT).out
    trace = tiny_dump().layers[0]
    rows = re.findall(rf"^ +(\d)  +{'  +'.join([NUMBER] * 6)}", out, re.MULTILINE)
    assert sorted(int(row[0]) for row in rows) == list(range(8))
    assert sum(float(row[6]) for row in rows) == pytest.approx(trace.scores_HTS[3, 9, 4], abs=0.005)
    for row in rows:
        assert float(row[1]) == pytest.approx(trace.q_HTE[3, 9, int(row[0])], abs=6e-4)
        assert float(row[5]) == pytest.approx(trace.cache_k_KSE[1, 4, int(row[0])], abs=6e-4)
    pairs = re.findall(r"^ +(\d) .* ([+-]\d\.\d{3})  ([+-]\d\.\d{3})(?:  █*)?$", out, re.MULTILINE)
    terms = {int(row[0]): float(row[6]) for row in rows}
    for first, _, total in pairs:
        assert float(total) == pytest.approx(terms[int(first)] + terms[int(first) + 4], abs=0.0016)
    assert [int(first) for first, *_ in pairs] == [0, 1, 2, 3]
    assert f"= {trace.scores_HTS[3, 9, 4]:+.4f} = the score of the run" in out


def test_a_cell_that_the_mask_hides_says_so() -> None:
    assert "the mask hides it: weight 0" in dump_attn("--cell", "4,9", "--head", "1", PROMPT).out


def test_a_key_from_the_cache_has_no_vector_before_rotation() -> None:
    out = dump_attn("--decode", "--cell", "14,3", "--head", "1", PROMPT).out
    assert "how it was before rotation is not in this run" in " ".join(out.split())
    (layer,) = strict(dump_attn("--decode", "--cell", "14,3", "--head", "1", "--json", PROMPT).out)["layers"]
    assert layer["plain_k"] is None
    assert layer["at_distance_0"] is None
    assert layer["total"] == pytest.approx(tiny_dump().layers[0].scores_HTS[1, 14, 3], abs=1e-5)


def test_a_model_without_rotation_has_no_pairs() -> None:
    out = glass("dump-attn", "-m", str(family_folder("gpt2")), "--cell", "1,0", "--head", "0", "ab").out
    assert "turned" not in out
    assert "the score of the run, Δ" in out


def test_several_layers_and_heads_are_shown_one_by_one() -> None:
    out = dump_attn("--cell", "9,4", "--head", "0,2", "--all", PROMPT).out
    assert re.findall(r"layer (\d) head (\d) →", out) == [(str(i), str(h)) for i in range(3) for h in (0, 2)]
