"""Bytes of keys and values packed by KIVI: worked by hand from the paper's grouping, at every length.

`test_bytes_of_choices` holds the same against what a cache really allocates.
"""

import re
from dataclasses import replace
from typing import Any

import pytest
from helpers.hand_layouts import DEEPSEEK_V32, GPT_OSS, LLAMA_8B, QWEN_27B, sized

from glasscli.budget.decode_read import decode_read
from glasscli.budget.engines import ENGINES
from glasscli.budget.fit import fit
from glasscli.budget.questions import Settings
from glasscli.budget.request import Request
from glasscli.budget.subjects import Subject
from glasscli.budget.sweep import curve
from glasscli.config.families import Layout
from glasscli.dtypes import row_bytes
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.attention_specs import FullAttention

ONE = Layout("llama", (FullAttention(1, 32, 32),), n_heads=1)  # a layer, a head of 32: a packed key takes 20 bytes
KIVI4: dict[str, Any] = {"k_dtype": "kivi4", "v_dtype": "kivi4"}


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (1, 2 * 1 * 128),  # exact: 32 × 4 bytes
        (62, 2 * 62 * 128),
        (63, 2 * 63 * 128),
        (64, 2 * (32 * 20 + 63 * 128)),  # the first group is full 32 tokens ago
        (95, 2 * (32 * 20 + 63 * 128)),
        (96, 2 * (64 * 20 + 63 * 128)),
        (4096, 2 * (4064 * 20 + 63 * 128)),
        (4097, 2 * (4064 * 20 + 63 * 128)),
    ],
)
def test_tokens_are_packed_a_group_at_a_time_and_the_newest_are_exact(tokens: int, expected: int) -> None:
    budget = sized(ONE, tokens, **KIVI4)
    assert budget.bytes_total == budget.logical_bytes == expected
    assert sized(ONE, tokens, batch=3, **KIVI4).bytes_total == 3 * expected


@pytest.mark.parametrize("tokens", [*range(1, 200), 8191, 8192, 8193])
def test_growth_and_constant_add_up(tokens: int) -> None:
    """Once there are 63 tokens, whole groups count; before that every token, in float32."""
    budget = sized(ONE, tokens, batch=2, **KIVI4)
    full = tokens >= 63
    assert budget.bytes_per_token == 2 * (20 if full else 128)
    assert budget.bytes_per_sequence_constant == (2 * (63 * 128 - 32 * 20) if full else 0)
    told = budget.bytes_per_token * (tokens // 32 * 32 if full else tokens) + budget.bytes_per_sequence_constant
    assert 2 * told == budget.bytes_total


def test_two_bits_and_a_longer_residual() -> None:
    asked: dict[str, Any] = {"k_dtype": "kivi2", "v_dtype": "kivi2", "residual": 96}
    assert sized(ONE, 127, **asked).bytes_total == 2 * 127 * 128
    budget = sized(ONE, 128, **asked)
    assert budget.bytes_total == budget.logical_bytes == 2 * (32 * 12 + 127 * 128)


def test_keys_alone() -> None:
    budget = sized(ONE, 100, k_dtype="kivi4", v_dtype="q8_0")
    assert dict(budget.lines[0].held) == {"k": 64 * 20 + 63 * 128, "v": 100 * 34}
    assert budget.bytes_per_token == 20 + 34


def test_what_is_known_is_said() -> None:
    (early,) = sized(ONE, 40, **KIVI4).warnings
    assert "none is packed before" in early
    for asked, words in (
        ({"k_dtype": "kivi4", "v_dtype": "kivi4"}, "kivi4 packs 32 tokens together"),
        ({"k_dtype": "kivi4", "v_dtype": "kivi2", "residual": 64}, "kivi4 and kivi2 pack 32 .* newest 64 to 95"),
        ({"k_dtype": "f16", "residual": 64}, "residual of 64 plays no part"),
    ):
        (warning,) = sized(ONE, 100, **asked).warnings
        assert re.search(words, warning), warning


def test_a_step_reads_what_is_there_and_not_the_room() -> None:
    """Of 100 tokens 64 are packed and 36 exact; as f16 or at 127 tokens nothing differs."""
    assert decode_read(Request(ONE, 100, **KIVI4)).bytes == 2 * (64 * 20 + 36 * 128)
    assert decode_read(Request(ONE, 100, 2, **KIVI4)).bytes == 4 * (64 * 20 + 36 * 128)
    assert decode_read(Request(ONE, 127, **KIVI4)).bytes == sized(ONE, 127, **KIVI4).bytes_total


def test_a_prefix_is_shared_in_whole_groups() -> None:
    """200 tokens: 160 packed, of which the first 96 lie in a prefix of 100."""
    budget = sized(ONE, 200, batch=3, prefix_shared=100, **KIVI4)
    assert budget.bytes_total == 2 * ((96 + 3 * 64) * 20 + 3 * 63 * 128)


@pytest.mark.parametrize("available", [1000, 20_000, 24_047, 24_048, 10**6])
def test_what_fits_is_found_to_the_token(available: int) -> None:
    found = fit(Request(ONE, 100, **KIVI4), available).max_tokens
    assert found is not None
    assert sized(ONE, found, **KIVI4).bytes_total <= available if found else available < 256
    assert sized(ONE, found + 1, **KIVI4).bytes_total > available


def test_a_curve_is_the_plan_at_each_length() -> None:
    lengths = (1, 50, 63, 64, 1000)
    drawn = curve(Subject("one", ONE, ONE), Settings(k_dtype="kivi2", v_dtype="kivi2"), lengths)
    assert drawn.sizes == tuple(sized(ONE, n, k_dtype="kivi2", v_dtype="kivi2").bytes_total for n in lengths)
    assert "room for 63" in drawn.constant_says


def test_ranks_split_heads() -> None:
    one, two = sized(LLAMA_8B, 1000, **KIVI4), sized(LLAMA_8B, 1000, tp=2, **KIVI4)
    assert one.bytes_total == two.bytes_total == 2 * two.per_rank.bytes
    assert one.bytes_total == 32 * 8 * 4 * sized(ONE, 1000, **KIVI4).bytes_total  # 128 wide


@pytest.mark.parametrize("layout", [GPT_OSS, DEEPSEEK_V32])
def test_what_kivi_is_not_defined_for_is_refused(layout: Layout) -> None:
    with pytest.raises(ConfigError, match=r"kivi4 packs .* has (sliding|latent) layers") as refusal:
        sized(layout, 100, **KIVI4)
    assert refusal.value.field == "k_dtype"


def test_states_beside_it_stay_what_they_are_and_are_never_packed_so() -> None:
    states = sized(QWEN_27B, 0).bytes_total
    assert sized(QWEN_27B, 0, **KIVI4).bytes_total == states
    packed = 16 * 4 * 8 * 2 * (64 * 20 + 63 * 128)  # 256 wide
    assert sized(QWEN_27B, 100, **KIVI4).bytes_total == states + packed
    with pytest.raises(ConfigError, match=r"kivi2 packs .* has deltanet layers"):
        sized(QWEN_27B, 100, state_dtype="kivi2")


def test_widths_that_groups_do_not_divide_are_refused() -> None:
    narrow = replace(ONE, layers=(FullAttention(2, 32, 48),))
    with pytest.raises(ConfigError, match="head width of 48"):
        sized(narrow, 100, **KIVI4)
    assert sized(narrow, 100, k_dtype="kivi4", v_dtype="f16").bytes_total == 2 * (64 * 20 + 63 * 128 + 100 * 96)
    assert row_bytes("kivi2", 96, 2) == 2 * 3 * 12


def test_a_residual_is_whole_groups() -> None:
    for residual, words in ((40, "a multiple of 32"), (0, "at least 32"), (True, "a whole number")):
        with pytest.raises(UsageError, match=words):
            sized(ONE, 100, residual=residual, **KIVI4)


@pytest.mark.parametrize("engine", sorted(set(ENGINES) - {"logical"}))
@pytest.mark.parametrize("dtype", ["kivi2", "kivi4"])
def test_no_other_engine_has_it(engine: str, dtype: str) -> None:
    for asked in ({"k_dtype": dtype, "v_dtype": dtype}, {"k_dtype": dtype}):
        with pytest.raises(ConfigError, match=rf"^(?!{dtype} packs).*{dtype}"):
            sized(LLAMA_8B, 100, engine=engine, **asked)
    with pytest.raises(UsageError, match="residual is a setting of logical"):
        sized(LLAMA_8B, 100, engine=engine, residual=64)
