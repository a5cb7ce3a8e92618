"""Each kind of layer against its formula, worked out with small numbers."""

import pytest

from glasscli.budget.engines.transformers import held
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import (
    CacheSpec,
    ChunkedAttention,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    HiddenStates,
    IndexKeys,
    LatentAttention,
    NoCache,
    Prefix,
    Several,
    SlidingAttention,
)
from glasscli.specs.state_specs import KDA, RGLRU, DeltaNet, LinearState, Mamba1, Mamba2, ShortConv

FULL = FullAttention(2, 16, 8)

# A spec, tokens, the elements it needs, and the elements that transformers' cache holds.
SIZES: list[tuple[CacheSpec, int, int, int]] = [
    (FULL, 10, 10 * 2 * (16 + 8), 480),
    (SlidingAttention(2, 16, 8, 4), 3, 3 * 2 * 24, 3 * 2 * 24),
    (SlidingAttention(2, 16, 8, 4), 4, 4 * 2 * 24, 3 * 2 * 24),
    (SlidingAttention(2, 16, 8, 4), 10, 4 * 2 * 24, 3 * 2 * 24),
    (SlidingAttention(2, 16, 8, 1), 10, 1 * 2 * 24, 10 * 2 * 24),  # the slice [-0:] is the whole
    (ChunkedAttention(2, 16, 16, 8), 20, 8 * 2 * 32, 7 * 2 * 32),
    (LatentAttention(512, 64), 10, 10 * 576, 5760),
    (LatentAttention(512, 64, index_dim=128), 10, 10 * (576 + 128), 7040),
    (LatentAttention(512, 64, size=4), 10, 4 * 576, 3 * 576),
    (IndexKeys(128), 10, 1280, 1280),
    (IndexKeys(48, n_positions=3), 10, 480, 480 + 30),
    (HiddenStates(32, size=4), 10, 4 * 32, 4 * 32),
    (Prefix(2, 16, 16, 32), 10, 32 * 2 * 32, 32 * 2 * 32),
    (NoCache(), 10, 0, 0),
    # DeepSeek V4: 10 tokens make 3 blocks of 4, of which transformers has closed 2 and keeps 2 tokens.
    (CompressedAttention(64, 4, 0), 10, 4 * 64, 3 * 64),
    (CompressedAttention(64, 4, 4), 10, 4 * 64 + 3 * 64, 3 * 64 + 2 * 64 + 2 * 2 * 64),
    (
        CompressedAttention(64, 4, 4, index_dim=16),
        10,
        4 * 64 + 3 * (64 + 16),
        3 * 64 + (2 + 2 * 2 * 2 + 2 * 4) * (64 + 16),
    ),
    # kernel − 1 columns are needed, transformers keeps `kernel`.
    (ShortConv(128, 3), 10, 2 * 128, 3 * 128),
    (Mamba1(256, 16, 4), 10, 3 * 256 + 256 * 16, 4 * 256 + 256 * 16),
    (Mamba2(8, 16, 32, 2, 4), 10, 3 * (128 + 2 * 2 * 32) + 128 * 32, 4 * 256 + 128 * 32),
    (DeltaNet(2, 4, 8, 12, 4), 10, 3 * (2 * 16 + 48) + 4 * 8 * 12, 4 * 80 + 384),
    (KDA(3, 40, 4), 10, 3 * 360 + 3 * 1600, 4 * 360 + 4800),
    (RGLRU(32, 4), 10, 3 * 32 + 32, 3 * 32 + 32),
    (LinearState(free=10, fixed=6), 10, 16, 16),
    (Several((FULL, ShortConv(4, 3))), 10, 480 + 8, 480 + 12),
]


@pytest.mark.parametrize(("spec", "tokens", "needed", "kept"), SIZES)
def test_elements_of_one_sequence(spec: CacheSpec, tokens: int, needed: int, kept: int) -> None:
    assert sum(tensor.rows * tensor.width for tensor in spec.tensors(tokens)) == needed
    assert sum(tensor.rows * tensor.width for tensor in held(spec, tokens)) == kept


def test_cross_attention_counts_the_encoder_alone() -> None:
    spec = CrossAttention(8, 64, 64)
    assert sum(tensor.rows * tensor.width for tensor in spec.tensors(1, 1500)) == 1500 * 8 * 128
    assert spec.tensors(1, 1500) == spec.tensors(448, 1500)


def test_a_recurrent_state_is_float32_where_the_kind_fixes_it() -> None:
    (conv, state) = Mamba2(8, 16, 32, 2, 4, state_dtype="f32").tensors(10)
    assert (conv.role, conv.dtype) == ("conv", None)
    assert (state.role, state.dtype) == ("state", "f32")


def test_a_layer_of_several_kinds_is_named_after_all() -> None:
    assert Several((FULL, Mamba1(256, 16, 4))).label == "full + mamba1"
    assert Several((SlidingAttention(1, 8, 8, 4), ShortConv(4, 3))).window == 4


def test_what_reformer_does_past_a_chunk_is_refused() -> None:
    assert HiddenStates(256, known=64).tensors(64)
    with pytest.raises(ConfigError) as refusal:
        HiddenStates(256, known=64).tensors(65)
    assert refusal.value.field == "lsh_attn_chunk_length"


def test_a_layer_of_several_stops_growing_with_its_longest_window() -> None:
    short, long = SlidingAttention(2, 8, 8, 16), SlidingAttention(2, 8, 8, 64)
    assert Several((short, long)).window == Several((long, short)).window == 64
    assert Several((CrossAttention(2, 8, 8),)).window is None


def test_a_window_as_long_as_the_model_s_positions_never_slides() -> None:
    window = SlidingAttention(2, 8, 8, 4096)
    assert window.traits(8, 4097) == ("GQA", "window")
    assert window.traits(8, 4096) == ("GQA",)
    assert window.traits(8, None) == ("GQA", "window")


def test_a_learnt_prompt_is_common_to_sequences_that_share_anything() -> None:
    prompt = Prefix(2, 8, 8, 30)
    assert prompt.shared_rows(0, 30, tokens=100, prefix=10) == 30
    assert prompt.shared_rows(1, 30, tokens=100, prefix=0) == 0
