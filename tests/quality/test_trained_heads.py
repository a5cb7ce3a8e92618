"""The trained models that merged heads are shown beside: what the table says, and that the card says the same."""

from pathlib import Path

import pytest

from glasscli import load_model
from glasscli.quality.trained_heads import TrainedHeads, trained_heads

README = Path(__file__).parents[2] / "README.md"
CARD = README.parent / "weights" / "glass-1m" / "README.md"


def test_each_has_the_cache_of_its_heads_and_saw_as_much() -> None:
    """4 layers, keys and values, 32 numbers a head, 2 bytes each."""
    rows = trained_heads()
    assert [(row.n_kv_heads, row.cache_bytes_per_token) for row in rows] == [(n, 4 * 2 * n * 32 * 2) for n in (4, 2, 1)]
    assert len({row.tokens for row in rows}) == 1
    assert rows[0].tokens >= 50_000_000
    config = load_model().config
    assert (config.n_layers, config.head_dim, config.n_heads) == (4, 32, rows[0].n_kv_heads)


@pytest.mark.parametrize("row", trained_heads(), ids=lambda row: f"{row.n_kv_heads}")
def test_the_card_has_the_same_table(row: TrainedHeads) -> None:
    (line,) = [line for line in CARD.read_text("utf-8").splitlines() if line.startswith(f"| {row.n_kv_heads} | ")]
    assert f"{row.bits_per_byte:.4f}"[1:] in README.read_text("utf-8")
    assert f" | {row.bits_per_byte:.4f} | {row.cache_bytes_per_token:,} | " in line
