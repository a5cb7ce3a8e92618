"""Models of the shipped one's shape that were trained with so many key/value heads from their first step.

What sharing costs where a model learns with it. Heads merged in a finished model (`merged`) are another matter.
"""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class TrainedHeads:
    """One of them; all saw the same text in the same order, with the same seed and settings.

    Attributes:
        tokens: seen in training.
        bits_per_byte: of held-out stories, as `inspect.scoring` counts them.
        cache_bytes_per_token: keys and values of all layers in float16.
    """

    n_kv_heads: int
    tokens: int
    bits_per_byte: float
    cache_bytes_per_token: int


def trained_heads() -> tuple[TrainedHeads, ...]:
    """What the recipe's `--kv-heads` measured, the most heads first."""
    path = Path(__file__).parents[1] / "weights" / "kv-heads.json"
    rows = json.loads(path.read_text("utf-8"))
    return tuple(TrainedHeads(**{name: row[name] for name in TrainedHeads.__slots__}) for row in rows)
