"""DeepSeek V4 in vLLM: what it printed for a public command, and its groups worked out by hand."""

from collections import Counter

import pytest

from glasscli.budget.engines.vllm.compressed import Pool
from glasscli.budget.fit import capacity, fit
from glasscli.budget.plan import plan
from glasscli.budget.questions import Settings
from glasscli.budget.request import Request
from glasscli.budget.subjects import from_name
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.attention_specs import CompressedAttention

GIB = 2**30
# vllm-project/vllm#44376: DeepSeek-V4-Flash on two GH200 by Python, so 16,384 tokens a step; one step under way.
PRINTED = {"version": "0.22", "max_num_batched_tokens": 16384}


def asked(tokens: int, name: str = "deepseek-v4-flash", **more: object) -> Request:
    options = more.pop("options", PRINTED)
    settings = Settings(tokens=(tokens,), engine="vllm", options=options, **more)  # type: ignore[arg-type]
    return settings.request(from_name(name, "vllm"))


def pool(name: str) -> Pool:
    layers = from_name(name).layout.layers
    return Pool(Counter(layer for layer in layers if isinstance(layer, CompressedAttention)))


def test_what_was_printed_is_needed() -> None:
    needed = plan(asked(30000, tp=2)).per_rank.bytes
    assert f"{needed / GIB:.2f}" == "6.66"
    assert capacity(asked(30000), needed).concurrency == 1


def test_the_longest_that_was_printed_is_the_longest() -> None:
    """5.44 GiB were there, 13,528 tokens were the most; a block more, and four more would fit."""
    for size, longest in ((5.4404, 13528), (5.4423, 13528), (5.4424, 13532)):
        assert fit(asked(30000), int(size * GIB)).max_tokens == longest


def test_a_block_of_flash_by_hand() -> None:
    """43 windows in two groups of 22; 21 + 21 + 20 rows in one; a block has 22 of each of three sizes."""
    flash = pool("deepseek-v4-flash")
    assert flash.groups == {(64, 128): 43, (256, None): 21, (4, 8): 21, (8, 128): 20}
    assert flash.block_bytes == 22 * (65 * 576 + 15 * 576 + 3 * 576)
    step = 16384
    windows = [-(-(127 + step) // 64) + 1] * 2 + [-(-(7 + step) // 4) + 1, -(-(127 + step) // 8) + 1]
    assert flash.blocks(30000, step) == -(-30000 // 256) + sum(windows) == 6800


def test_a_block_of_pro_by_hand() -> None:
    """61 windows in two groups of 31, 31 + 30 + 30 rows in one: two places stay empty, with more in a group more do."""
    pro = pool("deepseek-v4-pro")
    assert pro.groups == {(64, 128): 61, (256, None): 31, (4, 8): 30, (8, 128): 31}
    assert pro.block_bytes == 31 * 47808


def test_lines_and_ranks_add_up() -> None:
    for tp, dp, batch in ((1, 1, 1), (2, 1, 3), (4, 2, 5)):
        budget = plan(asked(9000, tp=tp, dp=dp, batch=batch))
        of_one = pool("deepseek-v4-flash").block_bytes * pool("deepseek-v4-flash").blocks(9000, 16384)
        assert budget.bytes_total == sum(line.bytes for line in budget.lines) == tp * batch * of_one
        assert budget.per_rank.bytes == -(-batch // dp) * of_one


def test_two_steps_are_under_way_since_026() -> None:
    one, two = (asked(60000, options={"version": version}) for version in ("0.25", "0.26"))
    doubled = asked(60000, options={"version": "0.25", "max_num_batched_tokens": 16384})
    assert plan(one).bytes_total < plan(two).bytes_total == plan(doubled).bytes_total


def test_a_layer_that_drafts_has_a_window_alone() -> None:
    plain, drafts = (asked(9000, options=PRINTED | {"draft_layers": count}) for count in (0, 1))
    assert plan(plain).bytes_total == plan(drafts).bytes_total  # the 44th window fills the second group


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"pp": 2}, "pp"),
        ({"prefix_shared": 10}, "prefix_shared"),
        ({"k_dtype": "bf16"}, "k_dtype"),
        ({"options": {"block_size": 64}}, "block_size"),
        ({"options": {"hybrid_manager": False}}, "hybrid_manager"),
    ],
)
def test_what_is_not_known_is_refused_by_name(more: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        plan(asked(9000, **more))
    assert refusal.value.field == field


def test_ranks_that_share_a_sequence_are_refused() -> None:
    with pytest.raises((ConfigError, UsageError)):
        plan(asked(9000, tp=2, dcp=2))
