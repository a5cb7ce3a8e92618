"""mamba_cache_mode all: pages are a multiple of the kernels' chunk, and a state is kept for each."""

import json
from pathlib import Path

import pytest
from helpers.hand_layouts import line, sized

from glasscli.config.families import Layout, layout
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import FullAttention
from glasscli.specs.state_specs import DeltaNet, Mamba2

DATA = Path(__file__).parents[1] / "data" / "kv" / "configs"
NANO = json.loads((DATA / "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4.json").read_text())
ALL = {"engine": "vllm", "mamba_cache_mode": "all"}


def test_a_page_as_it_was_logged() -> None:
    """vllm-project/vllm#54504: 4,224 tokens with an fp8 cache, 33 chunks of 128; the state alone would fit 4,168."""
    budget = sized(layout(NANO, "vllm"), 3 * 4224 + 1, k_dtype="fp8", **ALL)
    assert any("pages of 4,224 tokens" in note for note in budget.notes)
    assert line(budget, "full") == 6 * 4 * 4224 * 512
    assert line(budget, "mamba2") == 23 * 4 * 4224 * 512
    plain = sized(layout(NANO, "vllm"), 3 * 4224 + 1, k_dtype="fp8", engine="vllm")
    assert any("pages of 4,176 tokens" in note for note in plain.notes)


def test_another_step_can_be_asked_for() -> None:
    budget = sized(layout(NANO, "vllm"), 8192, k_dtype="fp8", mamba_block_size=8192, **ALL)
    assert line(budget, "mamba2") == 23 * 8192 * 512


def test_drafted_tokens_keep_their_own_states() -> None:
    budget = sized(layout(NANO, "vllm"), 4224, k_dtype="fp8", num_speculative_tokens=2, **ALL)
    assert line(budget, "mamba2") == 23 * 3 * 4224 * 512


@pytest.mark.parametrize(
    ("state", "field"),
    [(DeltaNet(2, 2, 8, 8, 4), "mamba_cache_mode"), (Mamba2(4, 8, 8, 1, 4), "chunk_size")],
)
def test_where_it_is_not_known_it_is_refused(state: DeltaNet | Mamba2, field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        sized(Layout("x", (state, FullAttention(2, 8, 8))), 8, **ALL)
    assert refusal.value.field == field


def test_states_without_attention_are_refused() -> None:
    with pytest.raises(ConfigError, match="without attention"):
        sized(Layout("x", (Mamba2(4, 8, 8, 1, 4, chunk=16),)), 8, **ALL)
