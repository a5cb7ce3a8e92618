"""Bytes of a row in every dtype, against sizes taken from the engines' own structs and worked by hand."""

import pytest

from glasscli.dtypes import ALIASES, DTYPES, dtype_named, row_bytes
from glasscli.errors import ConfigError, UsageError

# name, elements, bytes: a ggml block is two bytes of scale (and two of minimum or sum) and the packed elements
STORED = [
    ("f32", 1, 4),
    ("f16", 1, 2),
    ("bf16", 1, 2),
    ("fp8", 1, 1),
    ("int8", 1, 1),
    ("q8_0", 32, 2 + 32),
    ("q8_1", 32, 4 + 32),
    ("q5_1", 32, 4 + 4 + 16),
    ("q5_0", 32, 2 + 4 + 16),
    ("q4_1", 32, 4 + 16),
    ("q4_0", 32, 2 + 16),
    ("iq4_nl", 32, 2 + 16),
    ("nvfp4", 16, 8 + 1),
    ("mlx_q8", 64, 64 + 2 * 2),
    ("mlx_q4", 64, 32 + 2 * 2),
    ("mxfp4", 32, 16 + 1),
    ("mxfp8", 32, 32 + 1),
    ("int4", 2, 1),
    ("fp4", 2, 1),
    ("f64", 1, 8),
    ("i64", 1, 8),
    ("fp8_ds_mla", 576, 512 + 4 * 4 + 64 * 2),
    ("fp8_block128", 128, 128 + 4),
    ("fp8_per_token_head", 128, 128 + 4),
    ("int8_per_token_head", 128, 128 + 4),
    ("q8_KV", 576, 576 + 8),
    ("kivi4", 32, 2 + 2 + 16),
    ("kivi2", 32, 2 + 2 + 8),
]


@pytest.mark.parametrize(("name", "elements", "stored"), STORED)
def test_a_row_takes_its_blocks_and_scales(name: str, elements: int, stored: int) -> None:
    assert row_bytes(name, elements) == stored


def test_every_dtype_of_the_table_is_checked_above() -> None:
    assert {name for name, _, _ in STORED} == set(DTYPES)


def test_many_heads_take_as_many_blocks() -> None:
    assert row_bytes("q8_0", 128, 8) == 8 * 4 * 34
    assert row_bytes("fp8_per_token_head", 128, 8) == 8 * (128 + 4)
    assert row_bytes("q8_KV", 128, 8) == 8 * 128 + 8  # once a row, not once a head


def test_sizes_beyond_machine_integers_stay_exact() -> None:
    assert row_bytes("q5_1", 32 * 10**18, 3) == 3 * 24 * 10**18


@pytest.mark.parametrize("name", ["float16", "HALF", "fp16", "torch.float16", " f16 "])
def test_names_people_use_mean_the_same(name: str) -> None:
    assert dtype_named(name).name == "f16"


def test_every_alias_leads_to_a_dtype() -> None:
    assert {dtype_named(alias).name for alias in ALIASES} <= set(DTYPES)
    assert dtype_named("q8_kv").name == "q8_KV"


@pytest.mark.parametrize("name", ["q8_0", "q4_1", "iq4_nl", "mxfp4", "kivi4"])
@pytest.mark.parametrize("head_dim", [8, 80, 100])
def test_a_head_the_block_does_not_divide_is_refused(name: str, head_dim: int) -> None:
    with pytest.raises(ConfigError, match=f"{name} .*{head_dim}") as refusal:
        row_bytes(name, head_dim, 32)
    assert refusal.value.field == "head_dim"


def test_the_deepseek_format_holds_nothing_but_its_latent() -> None:
    with pytest.raises(ConfigError, match="576"):
        row_bytes("fp8_ds_mla", 128, 8)


@pytest.mark.parametrize(
    ("name", "said"), [("q9_0", "q8_0"), ("", "q8_0"), ("auto", "q8_0"), ("f17", "f16"), ("q8", "q8_0")]
)
def test_a_name_nobody_knows_is_refused_with_the_likest_or_the_list(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        dtype_named(name)


def test_an_empty_row_takes_nothing() -> None:
    assert row_bytes("q8_0", 0, 8) == 0
    assert row_bytes("q8_KV", 128, 0) == 0


@pytest.mark.parametrize(
    "name",
    ["fp8_e4m3", "fp8_e5m2", "fp8_e4m3fn", "fp8_e4m3fnuz", "fp8_inc", "float8_e4m3fn", "torch.float8_e5m2", "e5m2"],
)
def test_names_that_engines_give_to_one_byte(name: str) -> None:
    """vLLM's --kv-cache-dtype (fp8_e4m3fnuz on AMD, fp8_inc on Gaudi) and torch's dtypes."""
    assert dtype_named(name).name == "fp8"
    assert row_bytes(name, 128, 8) == 1024
