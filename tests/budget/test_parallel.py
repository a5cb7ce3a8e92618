"""Splitting over devices, against the shares worked out by hand."""

import pytest

from glasscli.budget.parallel import replicas, shard_all, stages
from glasscli.budget.plan import plan
from glasscli.budget.request import Request
from glasscli.config.families import Layout
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.attention_specs import (
    CacheSpec,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    LatentAttention,
    NoCache,
    SlidingAttention,
)
from glasscli.specs.sharding import split_heads
from glasscli.specs.state_specs import KDA, RGLRU, DeltaNet, LinearState, Mamba1, Mamba2, ShortConv

LLAMA_8B = Layout("llama", (FullAttention(8, 128, 128),) * 32, n_heads=32)
DEEPSEEK_V3 = Layout("deepseek_v3", (LatentAttention(512, 64, n_heads=128),) * 61, n_heads=128)

SHARES: list[tuple[CacheSpec, int, CacheSpec]] = [
    (FullAttention(8, 128, 128), 4, FullAttention(2, 128, 128)),
    (FullAttention(2, 128, 128), 8, FullAttention(1, 128, 128)),
    (SlidingAttention(4, 256, 256, 512), 2, SlidingAttention(2, 256, 256, 512)),
    (CrossAttention(12, 64, 64), 3, CrossAttention(4, 64, 64)),
    (CompressedAttention(512, 128, 4, 128), 8, CompressedAttention(512, 128, 4, 128)),
    (Mamba2(64, 64, 128, 8, 4), 4, Mamba2(16, 64, 128, 2, 4)),
    (Mamba2(48, 64, 256, 1, 4), 4, Mamba2(12, 64, 256, 1, 4)),
    (Mamba1(8192, 16, 4), 8, Mamba1(1024, 16, 4)),
    (DeltaNet(16, 48, 128, 128, 4), 8, DeltaNet(2, 6, 128, 128, 4)),
    (KDA(32, 128, 4), 8, KDA(4, 128, 4)),
    (ShortConv(2048, 3), 2, ShortConv(1024, 3)),
    (RGLRU(2560, 4), 2, RGLRU(1280, 4)),
    (LinearState(free=1024, fixed=64), 2, LinearState(free=512, fixed=32)),
    (NoCache(), 8, NoCache()),
]


@pytest.mark.parametrize(("part", "tp", "share"), SHARES, ids=lambda value: getattr(value, "name", None))
def test_a_rank_keeps_its_share(part: CacheSpec, tp: int, share: CacheSpec) -> None:
    assert part.shard(tp) == share


def test_more_ranks_than_heads_keep_copies() -> None:
    assert [split_heads(8, tp) for tp in (1, 2, 4, 8, 16, 64)] == [8, 4, 2, 1, 1, 1]
    sixteen = plan(Request(LLAMA_8B, 1000, tp=16, k_dtype="f16", v_dtype="f16"))
    one = plan(Request(LLAMA_8B, 1000, k_dtype="f16", v_dtype="f16"))
    assert sixteen.per_rank.bytes == one.bytes_total // 8
    assert sixteen.bytes_total == 2 * one.bytes_total


def test_a_latent_is_kept_whole_by_every_rank() -> None:
    # TensorRT-LLM's log for Kimi K2 over 8 GPUs: 166.02 GiB on each for 5,073,376 tokens of fp8 latents
    budget = plan(Request(DEEPSEEK_V3, 5_073_376, tp=8, k_dtype="fp8"))
    assert budget.per_rank.bytes == 61 * 576 * 5_073_376
    assert budget.bytes_total == 8 * budget.per_rank.bytes


@pytest.mark.parametrize(
    ("layout", "tp", "would_do"),
    [
        (LLAMA_8B, 3, "1, 2, 4, 8, 16, 32 would do"),
        (LLAMA_8B, 64, "32 query heads evenly; 1, 2, 4"),
        (Layout("x", (FullAttention(6, 64, 64),), n_heads=24), 4, "6 key/value heads evenly; 1, 2, 3, 6, 12, 24"),
        (Layout("x", (Mamba2(48, 64, 128, 3, 4),), n_heads=None), 2, "3 state groups evenly; 1, 3, 4, 6"),
    ],
)
def test_ranks_that_do_not_split_the_heads_are_refused(layout: Layout, tp: int, would_do: str) -> None:
    with pytest.raises(ConfigError, match=would_do) as refusal:
        shard_all(layout, tp)
    assert refusal.value.field == "tp"


def test_the_worst_stage_counts() -> None:
    # 41 and 39 of 80 layers over two hosts: llama.cpp printed 656 and 624 MiB
    layout = Layout("llama", (FullAttention(8, 128, 128),) * 80, n_heads=64)
    request = Request(layout, 4096, engine="llama.cpp", pp=2, pp_layers=(41, 39))
    assert plan(request).per_rank.bytes == 656 * 2**20
    assert plan(request).bytes_total == 1280 * 2**20


def test_a_stage_is_sized_by_its_own_layers() -> None:
    layers = (FullAttention(8, 128, 128),) * 2 + (NoCache(),) * 2
    assert plan(Request(Layout("x", layers, n_heads=8), 10, pp=2)).per_rank.bytes == 2 * 10 * 4096


@pytest.mark.parametrize(("n_layers", "pp", "counts"), [(8, 2, [4, 4]), (10, 4, [2, 3, 3, 2]), (5, 3, [2, 2, 1])])
def test_layers_left_over_go_before_the_last_stage(n_layers: int, pp: int, counts: list[int]) -> None:
    split = stages(Layout("x", tuple(ShortConv(width, 3) for width in range(n_layers))), pp, None)
    assert [len(stage) for stage in split] == counts
    assert sum(split, ()) == tuple(ShortConv(width, 3) for width in range(n_layers))


def test_more_stages_than_layers_are_refused() -> None:
    with pytest.raises(UsageError, match="at most 32"):
        plan(Request(LLAMA_8B, 10, pp=33))


def test_replicas_share_the_sequences() -> None:
    assert replicas(10, 4) == {3: 2, 2: 2}
    assert replicas(8, 4) == {2: 4}
    assert replicas(2, 4) == {1: 2}
    budget = plan(Request(LLAMA_8B, 100, batch=10, dp=4))
    assert budget.per_rank.bytes == 3 * 100 * 131072
    assert budget.bytes_total == 10 * 100 * 131072


def test_a_replica_without_a_sequence_holds_no_prefix() -> None:
    budget = plan(Request(LLAMA_8B, 100, batch=2, dp=4, prefix_shared=60))
    assert budget.bytes_total == 2 * 100 * 131072
    shared = plan(Request(LLAMA_8B, 100, batch=3, dp=2, prefix_shared=60))
    assert shared.bytes_total == (60 + 2 * 40 + 100) * 131072


def test_copies_are_told_of() -> None:
    assert any("8 key/value heads, each kept by 2 ranks" in note for note in plan(Request(LLAMA_8B, 9, tp=16)).notes)
    assert any("every rank keeps all" in note for note in plan(Request(DEEPSEEK_V3, 9, tp=8)).notes)
    assert plan(Request(LLAMA_8B, 9, tp=8)).notes == ()
