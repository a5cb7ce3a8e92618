"""Chapter 12: attention in tiles, exactly."""

import math
from collections.abc import Iterator

import numpy as np

from glasscli.inspect.checks import largest_difference
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room, within
from glasscli.model.attention import attend, attend_blocked, causal_mask
from glasscli.units import format_bytes

LENGTHS, TILE, SEED = (64, 256, 1024), 64, 0
SCORES = (2.0, 1.0, 3.0, 0.5, 2.5, 4.0)


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    config = room.config
    yield Say(
        "Softmax needs a whole row: its largest score, and the sum of all e^score. It seems that T × T scores must be "
        "held. They need not: read the keys a tile at a time, and keep three running things for each query, the "
        "largest score so far, the sum, and the mixed values. A larger score scales down what was summed before."
    )
    yield Formula("sum ← sum · e^(old largest − new) + Σ e^(score − new)")
    yield from _by_hand()
    yield Say(f"On this model's shape, {config.n_heads} heads of {config.head_dim}, tiles of {TILE} × {TILE}:")
    rows, worst = [], 0.0
    for n in LENGTHS:
        rng = np.random.default_rng(SEED)
        q, k, v = rng.standard_normal((3, config.n_heads, n, config.head_dim)).astype(np.float32)
        plain, _ = attend(q, k, v, causal_mask(n, n, 0))
        gap = largest_difference(plain, attend_blocked(q, k, v, 0, q_block=TILE, k_block=TILE))
        worst = max(worst, gap)
        whole, tile = (4 * config.n_heads * size**2 for size in (n, TILE))
        rows.append((f"{n:,}", format_bytes(whole), format_bytes(tile), within(gap)))
    yield Table(("tokens", "all scores", "a tile", "difference"), tuple(rows), left=())
    yield Claim("Exact but for rounding: this is no approximation", worst < 1e-5)
    yield Say(
        "The arithmetic is the same; this is FlashAttention. What is saved is memory, which grows with T and no longer "
        "with T², and on a GPU the way to it: the tile stays in the small fast memory beside the processor."
    )
    gib = 1024**3
    yield Ask(f"How long a text would take more than 1 GiB for the scores of one layer of this model ({config.n_heads} "
              "heads, float32)?")  # fmt: skip
    n = math.isqrt(gib // (4 * config.n_heads)) + 1
    tokens, before = (4 * config.n_heads * m**2 for m in (n, n - 1))
    yield Say(f"{n:,} tokens: {tokens:,} bytes. A tile stays {format_bytes(4 * config.n_heads * TILE**2)}.")
    yield Claim("One token fewer would fit", before <= gib < tokens)
    yield Try(("glass dump-attn TEXT --rows last",))


def _by_hand() -> Iterator[Part]:
    largest, total, rows = -math.inf, 0.0, []
    for first in range(0, len(SCORES), 2):
        tile = SCORES[first : first + 2]
        new = max(largest, *tile)
        total = total * math.exp(largest - new) + sum(math.exp(s - new) for s in tile)
        largest = new
        rows.append((", ".join(f"{s:g}" for s in tile), f"{largest:g}", f"{total:.4f}"))
    yield Table(("two scores", "largest", "sum"), tuple(rows))
    once = sum(math.exp(s - max(SCORES)) for s in SCORES)
    yield Claim(f"All six at once: Σ e^(s − {max(SCORES):g}) = {once:.4f}, the same", abs(once - total) < 1e-12)
