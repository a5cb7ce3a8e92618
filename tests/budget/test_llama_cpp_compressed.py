"""DeepSeek V4 in llama.cpp: sizes worked out by hand from how its caches are made."""

import math

import pytest

from glasscli.budget.plan import plan
from glasscli.budget.questions import Settings
from glasscli.budget.subjects import from_name
from glasscli.errors import ConfigError


def total(tokens: int, batch: int = 1, name: str = "deepseek-v4-flash", **more: object) -> int:
    options = more.pop("options", {})
    settings = Settings(tokens=(tokens,), batch=batch, engine="llama.cpp", options=options, **more)  # type: ignore[arg-type]
    return settings.budget(from_name(name, "llama.cpp")).bytes_total


STATES = 21 * (2 * 8 * 1024 * 4 + 2 * 8 * 256 * 4) + 20 * (2 * 128 * 512 * 4)


def by_hand(cells: int, row: int, index: int) -> int:
    """43 windows of 768 rows; 21 layers with a row and an index key for 4 tokens, 20 with a row for 128."""
    light, heavy = (math.ceil(math.ceil(cells / ratio) / 256) * 256 for ratio in (4, 128))
    return (43 * 768 + 21 * light + 20 * heavy) * row + 21 * light * index + STATES


@pytest.mark.parametrize("tokens", [1024, 65536, 393216, 1048576])
def test_one_stream(tokens: int) -> None:
    assert total(tokens) == by_hand(tokens, 1024, 256)
    assert total(tokens, k_dtype="q8_0") == by_hand(tokens, 512 // 32 * 34, 128 // 32 * 34)


def test_every_sequence_has_room_for_the_whole_context_unless_it_is_split() -> None:
    assert total(8192, batch=4) == 4 * by_hand(4 * 8192, 1024, 256)
    assert total(8192, batch=4, options={"kv_unified": False}) == 4 * by_hand(8192, 1024, 256)


def test_snapshots_are_of_what_waits_alone() -> None:
    assert total(8192, options={"n_rs_seq": 2}) == by_hand(8192, 1024, 256) + 2 * STATES


def test_it_is_little_more_than_the_mathematics() -> None:
    request = Settings(tokens=(65536,), engine="llama.cpp").request(from_name("deepseek-v4-flash", "llama.cpp"))
    budget = plan(request)
    assert budget.logical_bytes < budget.bytes_total < 1.3 * budget.logical_bytes


def test_other_ratios_are_refused() -> None:
    from glasscli.budget.request import Request
    from glasscli.config.families import Layout
    from glasscli.specs.attention_specs import CompressedAttention

    with pytest.raises(ConfigError, match="4 or 128"):
        plan(Request(Layout("deepseek_v4", (CompressedAttention(512, 128, 8),)), 100, engine="llama.cpp"))
