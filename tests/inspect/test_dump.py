"""Dumps of prompts, of rows and of decode steps: the same numbers, whichever way they are asked for."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.dump_cases import PROMPT, tiny, tiny_decode, tiny_dump, write_folder

from glasscli.checkpoint.load import load_model
from glasscli.errors import CheckpointError, UsageError
from glasscli.inspect.checks import bound, check_layer, describe_sharing
from glasscli.inspect.checks import tiny as tiny_number
from glasscli.inspect.dump import (
    MAX_TRACE_BYTES,
    SizeError,
    check_size,
    dump_attention,
    dump_decode,
    first_not_finite,
    take_rows,
)
from glasscli.inspect.steps import STEPS, explain, find_step, source_line, step_array, steps_of
from glasscli.model.attention import attend, attend_blocked, causal_mask
from glasscli.model.rope import rotate

KINDS = ("gqa", "mha", "mqa", "biases", "llama3")
# Prompts, chunks and single tokens are read by forms that add the same products in other orders: scores around 3
# then differ in their last digits. The parity tests hold all forms to 2e-5 of float64.
ROUNDING = 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_every_check_passes_on_a_sound_model(kind: str) -> None:
    dump = tiny_dump(kind, layers=(0, 1, 2))
    for trace in dump.layers:
        checks = check_layer(trace, dump.config)
        assert [check for check in checks.values() if not check.ok] == []
        assert set(checks) == {"rope_q", "rope_k", "cache", "scores", "mask", "softmax", "mix"}


BROKEN = {
    "rope_q": lambda t: {"rope_q_HTE": t.rope_q_HTE * 1.01},
    "rope_k": lambda t: {"rope_k_KTE": t.rope_k_KTE + np.float32(1e-3) * (np.arange(t.k_KTE.shape[1]) < 1)[:, None]},
    "cache": lambda t: {"cache_v_KSE": t.cache_v_KSE[:, ::-1]},
    "scores": lambda t: {"scores_HTS": t.scores_HTS[::-1]},
    "mask": lambda t: {"mask_TS": np.ones_like(t.mask_TS)},
    "softmax": lambda t: {"pattern_HTS": t.pattern_HTS * np.float32(1.001)},
    "mix": lambda t: {"mix_HTE": t.mix_HTE + np.float32(0.01)},
}  # fmt: skip


@pytest.mark.parametrize("step", BROKEN)
def test_every_check_fails_on_broken_numbers(step: str) -> None:
    dump = tiny_dump()
    broken: Any = replace(dump.layers[0], **BROKEN[step](dump.layers[0]))
    assert not check_layer(broken, dump.config)[step].ok


@pytest.mark.parametrize(
    ("step", "broken", "says"),
    [
        ("scores", lambda t: {"scores_HTS": t.scores_HTS * np.float32(3)}, "OFF BY"),
        ("scores", lambda t: {"scores_HTS": t.scores_HTS[[1, 0, 3, 2]]}, "OFF BY"),
        ("softmax", lambda t: {"pattern_HTS": t.pattern_HTS[[1, 0, 3, 2]]}, "NOT OF THESE SCORES"),
    ],
)
def test_numbers_of_the_right_form_but_the_wrong_size_are_found(step: str, broken: Any, says: str) -> None:
    dump = tiny_dump()
    check = check_layer(replace(dump.layers[0], **broken(dump.layers[0])), dump.config)[step]
    assert not check.ok
    assert says in check.text


def test_weight_on_hidden_cells_is_found() -> None:
    dump = tiny_dump()
    leaky = dump.layers[0].pattern_HTS.copy()
    leaky[0, 0, 5] = 1e-6
    check = check_layer(replace(dump.layers[0], pattern_HTS=leaky), dump.config)["softmax"]
    assert not check.ok
    assert check.text == "HIDDEN CELLS GET 1e-06"


@pytest.mark.parametrize(
    ("kind", "sharing"),
    [
        ("gqa", "q0 q1 → kv0  q2 q3 → kv1"),
        ("mha", "q0 → kv0  q1 → kv1  q2 → kv2  q3 → kv3"),
        ("mqa", "q0 q1 q2 q3 → kv0"),
    ],
)
def test_which_kv_head_a_query_head_reads_is_found_from_the_numbers(kind: str, sharing: str) -> None:
    dump = tiny_dump(kind)
    check = check_layer(dump.layers[0], dump.config)["scores"]
    assert (check.ok, check.text) == (True, sharing)


def test_query_heads_read_their_own_group() -> None:
    # Each key/value head holds its own number as value: the mixture tells which one was read.
    v_KSE = np.repeat(np.arange(3, dtype=np.float32), 4).reshape(3, 4, 1)
    q_HTE, k_KSE = np.ones((6, 4, 2), np.float32), np.ones((3, 4, 2), np.float32)
    mix, _ = attend(q_HTE, k_KSE, v_KSE, causal_mask(4, 4, 0))
    assert mix[:, 3, 0].tolist() == [0, 0, 1, 1, 2, 2]


def test_the_mask_hides_exactly_the_keys_after_each_query() -> None:
    for start in range(6):
        for n in range(1, 6):
            mask = causal_mask(n, start + n, start)
            for i in range(n):
                assert [bool(mask[i, j]) for j in range(start + n)] == [j <= start + i for j in range(start + n)]


def test_norms_and_position_zero_survive_rotation() -> None:
    trace = tiny_dump().layers[0]
    norm, turned = (np.linalg.norm(x, axis=-1) for x in (trace.q_HTE, trace.rope_q_HTE))
    np.testing.assert_allclose(norm, turned, rtol=1e-6)
    assert np.array_equal(trace.q_HTE[:, 0], trace.rope_q_HTE[:, 0])
    assert np.array_equal(trace.k_KTE[:, 0], trace.rope_k_KTE[:, 0])
    assert not np.allclose(trace.q_HTE[:, 1], trace.rope_q_HTE[:, 1])


@pytest.mark.parametrize("shift", [1, 7, 100])
def test_a_constant_added_to_all_positions_changes_no_score(shift: int) -> None:
    model, rng = tiny().model, np.random.default_rng(0)
    q, k = (rng.normal(size=(2, 9, 8)).astype(np.float32) for _ in range(2))
    here, there = model.rotations(0, 9), model.rotations(shift, shift + 9)
    plain = rotate(q, here) @ rotate(k, here).transpose(0, 2, 1)
    shifted = rotate(q, there) @ rotate(k, there).transpose(0, 2, 1)
    np.testing.assert_allclose(plain, shifted, atol=1e-4)


def test_a_decode_step_equals_the_last_row_of_the_prefill() -> None:
    whole, step = tiny_dump(layers=(0, 2)), tiny_decode()
    assert (step.mode, step.start, step.n_queries) == ("decode", len(PROMPT) - 1, 1)
    for a, b in zip(whole.layers, step.layers, strict=True):
        for name in ("q", "scores", "softmax", "mix"):
            np.testing.assert_allclose(step_array(a, name)[:, -1:], step_array(b, name), atol=ROUNDING)
        np.testing.assert_allclose(a.cache_k_KSE, b.cache_k_KSE, atol=ROUNDING)


def test_steps_of_new_tokens_equal_the_rows_of_one_prefill() -> None:
    steps = tiny_decode(5)
    whole = dump_attention(tiny(), steps.token_ids, (0, 2))
    assert (steps.start, steps.n_queries, len(steps.tokens)) == (14, 5, 19)
    assert len(steps.chosen) == 5
    for a, b in zip(whole.layers, steps.layers, strict=True):
        np.testing.assert_allclose(a.pattern_HTS[:, 14:], b.pattern_HTS, atol=ROUNDING)
        np.testing.assert_allclose(a.out_TD[14:], b.out_TD, atol=ROUNDING)
        np.testing.assert_array_equal(a.mask_TS[14:], b.mask_TS)
        assert all(check.ok for check in check_layer(b, steps.config).values())


def test_rows_are_those_of_the_whole() -> None:
    whole, part = tiny_dump(), dump_attention(tiny(), PROMPT, [1], rows=(4, 7))
    assert (part.start, part.n_queries, len(part.tokens)) == (4, 3, 7)
    np.testing.assert_allclose(whole.layers[0].pattern_HTS[:, 4:7, :7], part.layers[0].pattern_HTS, atol=ROUNDING)


@pytest.mark.parametrize("kind", ["gqa", "mha", "mqa"])
def test_online_softmax_equals_the_plain_one_on_every_layer(kind: str) -> None:
    for trace in tiny_dump(kind, "a longer prompt, so that several blocks are needed " * 3, (0, 1, 2)).layers:
        blocked = attend_blocked(trace.rope_q_HTE, trace.cache_k_KSE, trace.cache_v_KSE, 0, q_block=16, k_block=32)
        np.testing.assert_allclose(blocked, trace.mix_HTE, atol=ROUNDING)


def test_the_first_step_that_is_not_finite_is_named(tmp_path: Any) -> None:
    loaded = load_model(write_folder(tmp_path / "hot"))
    loaded.model.weights.blocks[1].qkv[:, :8] = 1e38  # W_Q of head 0 in layer 1
    with pytest.raises(CheckpointError, match="layer 1: q is the first step with NaN or infinity"):
        dump_attention(loaded, "hi there", [0, 1])


def test_infinite_hidden_scores_are_no_fault() -> None:
    assert all(first_not_finite(trace) is None for trace in tiny_decode(3).layers)


def test_a_trace_that_would_not_fit_is_refused_before_it_runs() -> None:
    config = tiny().config
    check_size(config, 1, 10**6, 1)
    with pytest.raises(SizeError, match=r"20,000 × 20,000 scores of 4 heads in 3 layers take 35\.8 GiB"):
        check_size(config, 20_000, 20_000, 3)
    assert MAX_TRACE_BYTES == 2 * 1024**3


def test_a_prompt_past_the_context_is_refused() -> None:
    with pytest.raises(UsageError, match=r"600 tokens.*512"):
        dump_decode(tiny(), "x" * 600, [0])


def test_steps_have_shapes_formulas_and_a_line_of_code() -> None:
    dump = tiny_dump()
    for name, step in steps_of(dump.config).items():
        assert step_array(dump.layers[0], name).ndim == len(step.axes)
        assert step.equation(dump.config)
        assert explain(step, dump.config).count(". ") >= 1
        file, number, line = source_line(step)
        assert file.startswith("glasscli/")
        assert number > 0
        assert step.source[1] in line


def test_the_piece_that_finds_a_line_of_code_stands_there_once() -> None:
    import inspect
    from importlib import import_module

    for step in STEPS.values():
        module, piece = step.source
        assert inspect.getsource(import_module(module)).count(piece) == 1, step.name


def test_an_unknown_step_lists_those_there_are() -> None:
    with pytest.raises(
        UsageError,
        match="Steps of attention: q, k, v, q_norm, k_norm, rope_q, rope_k, cache, scores, softcap, mask, softmax, mix",
    ):
        find_step("values")


def test_small_numbers_and_sizes_read_well() -> None:
    assert [bound(x) for x in (0.0, 9e-7, 1e-6, 0.2)] == ["< 1e-06", "< 1e-06", "1e-06", "2e-01"]
    assert [tiny_number(x) for x in (0, 1.2e-7, 9.9e-7, 1e-7, 0.5)] == ["0", "2e-07", "1e-06", "1e-07", "5e-01"]


def test_sharing_is_told_shortly_for_many_heads() -> None:
    assert describe_sharing([0, 0, 1, 1]) == "q0 q1 → kv0  q2 q3 → kv1"
    assert describe_sharing([0] * 8) == "q0–7 → kv0"
    assert describe_sharing([h // 4 for h in range(32)]) == "q0–3 → kv0  …  q28–31 → kv7"


def test_rows_taken_from_a_dump_are_those_of_a_shorter_run() -> None:
    part = take_rows(tiny_dump(), 4, 7)
    same = dump_attention(tiny(), PROMPT, [1], rows=(4, 7))
    assert (part.start, part.n_queries, part.tokens) == (same.start, same.n_queries, same.tokens)
    assert part.n_prompt == same.n_prompt == 15
    for name in steps_of(part.config):
        ours, theirs = step_array(part.layers[0], name), step_array(same.layers[0], name)
        np.testing.assert_allclose(ours, theirs, atol=ROUNDING, err_msg=name)
    steps = tiny_decode(5)
    assert take_rows(steps, 16, 18).chosen == steps.chosen[2:4]
