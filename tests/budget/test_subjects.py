"""Head counts as a model, and which other head counts would do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasscli.budget.describe import sharing
from glasscli.budget.subjects import Heads, divisors_near
from glasscli.errors import UsageError
from glasscli.specs.attention_specs import (
    CompressedAttention,
    FullAttention,
    LatentAttention,
    NoCache,
    SlidingAttention,
)
from glasscli.specs.state_specs import DeltaNet


@given(st.integers(1, 300), st.integers(1, 300))
def test_numbers_of_kv_heads_that_would_do(n_heads: int, wanted: int) -> None:
    counts = divisors_near(n_heads, wanted)
    assert all(n_heads % count == 0 for count in counts)
    assert {1, n_heads} <= set(counts)
    assert len(counts) <= 8
    nearest = min(abs(count - wanted) for count in range(1, n_heads + 1) if n_heads % count == 0)
    assert min(abs(count - wanted) for count in counts) == nearest


@given(st.integers(1, 200))
def test_variants_share_more_and_more(n_heads: int) -> None:
    variants = Heads(n_heads, n_heads, 64, 2, "f16").variants()
    counts = [heads.n_kv_heads for heads in variants]
    assert counts == sorted(set(counts), reverse=True)
    assert (counts[0], counts[-1]) == (n_heads, 1)
    assert all(n_heads % count == 0 for count in counts)
    assert [heads.kind for heads in variants][1:-1] == ["GQA"] * (len(variants) - 2)


def test_heads_that_make_no_model() -> None:
    with pytest.raises(UsageError, match="does not divide"):
        Heads(32, 5, 128, 2, "f16")
    with pytest.raises(UsageError, match="layers"):
        Heads(32, 8, 128, 10**9, "f16")


def test_heads_become_layers_that_are_all_alike() -> None:
    subject = Heads(32, 8, 128, 3, "bf16").subject()
    assert subject.layout.layers == (FullAttention(8, 128, 128),) * 3
    assert (subject.layout.dtype, subject.layout.n_heads, subject.name) == ("bf16", 32, "GQA")
    assert sharing(subject.layout) == "GQA"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (FullAttention(8, 128, 128), ("full", "8 KV heads × 128")),
        (FullAttention(1, 192, 128), ("full", "1 KV head × K 192, V 128")),
        (SlidingAttention(4, 256, 256, 1024), ("sliding 1,024", "4 KV heads × 256")),
        (LatentAttention(512, 64, 128), ("latent", "latent 512 + 64 + index 128")),
        (CompressedAttention(512, 128, 4, 128), ("compressed 4:1", "rows of 512 + index 128")),
        (CompressedAttention(512, 128, 0), ("sliding 128", "rows of 512")),
        (DeltaNet(16, 32, 128, 128, 4), ("deltanet", "conv 24,576 + state 524,288")),
        (NoCache("an MLP"), ("no cache", "an MLP")),
    ],
)
def test_words_for_kinds(part, said) -> None:  # type: ignore[no-untyped-def]
    assert (part.label, part.shape) == said
