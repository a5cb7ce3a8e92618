"""Chapter 2: one score by hand, and a whole head that fits on paper."""

import math
from collections.abc import Iterator

import numpy as np

from glasscli.inspect.neurons import CellTerms, cell_terms
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room, within
from glasscli.model.attention import attend, causal_mask
from glasscli.model.ops import softmax

SHOWN = 6


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    head, query, key = _strongest(room)
    cell = cell_terms(room.trace, room.config, head, query, key)
    yield Say(
        f"Layer {cell.layer}, head {head}: how well does {room.quoted(key)} at {key} answer {room.quoted(query)} at "
        f"{query}? Multiply the two vectors number by number, add up, and scale. That is all a score is."
    )
    yield Formula("score = (q₀·k₀ + q₁·k₁ + …) × scale")
    products = cell.q * cell.k
    order = np.argsort(-np.abs(products), kind="stable")[:SHOWN].tolist()
    rows = [(str(i), f"{cell.q[i]:.2f}", f"{cell.k[i]:.2f}", f"{products[i]:+.2f}") for i in order]
    others = float(products.sum() - products[order].sum())
    rows.append((f"{len(products) - len(order)} others", "", "", f"{others:+.2f}"))
    rows.append(("sum", "", "", f"{products.sum():+.2f}"))
    rows.append((f"× {cell.scale:.4f}", "", "", f"{cell.total:+.2f}"))
    yield Table(("dimension", "q", "k", "q·k"), tuple(rows))
    close = cell.gap < 1e-4 * max(1.0, abs(cell.score))
    yield Claim(f"The sum is the model's own score, {cell.score:.4f}: difference {within(cell.gap)}", close)
    top, total = np.abs(products[order[:3]]).sum(), np.abs(products).sum()
    yield Say(
        f"Three of {len(products)} dimensions make up {100 * top / total:.0f} % of all that is added and taken away."
    )
    yield from _on_paper()
    yield Ask("Leave one dimension out. Which one changes the weight that this word gets most, and how far?")
    yield from _answer(room, cell, products)
    yield Try(("glass dump-attn TEXT --step scores",))


def _strongest(room: Room) -> tuple[int, int, int]:
    """Head, query and key of the layer's largest weight on another word, past the first position."""
    pattern = room.trace.pattern_HTS.copy()
    pattern[:, range(len(room.ids)), range(len(room.ids))] = 0
    if len(room.ids) > 2:
        pattern[:, :, 0] = 0
    head, query, key = np.unravel_index(int(pattern.argmax()), pattern.shape)
    return int(head), int(query), int(key)


def _on_paper() -> Iterator[Part]:
    yield Say("And here is a whole head for pencil and paper: three words, two dimensions, queries equal to keys.")
    q = np.array([[[1, 0], [1, 1], [0, 1]]], np.float32)
    v = np.array([[[2, 0], [0, 2], [2, 2]]], np.float32)
    mixed, pattern = attend(q, q, v, causal_mask(3, 3, 0))
    rows = []
    for i in range(3):
        weights = " ".join(f"{w:.6f}" for w in pattern[0, i, : i + 1])
        rows.append((str(i), _row(q[0, i]), _row(v[0, i]), weights, " ".join(f"{m:.6f}" for m in mixed[0, i])))
    yield Table(("word", "q = k", "v", "weights", "mixed"), tuple(rows), left=(0, 1, 2, 3, 4))
    one, two = math.exp(1 / math.sqrt(2)), math.exp(2 / math.sqrt(2))
    by_hand = one / (one + two)
    yield Claim(
        f"Word 1 scores 1/√2 and 2/√2: its first weight is e^0.7071 / (e^0.7071 + e^1.4142) = {by_hand:.6f}",
        abs(by_hand - float(pattern[0, 1, 0])) < 1e-6,
    )


def _answer(room: Room, cell: CellTerms, products: np.ndarray) -> Iterator[Part]:
    scores = room.trace.seen_scores(cell.head, cell.query).astype(np.float64)
    keys = room.trace.cache_k_KSE[cell.kv_head, : len(scores)].astype(np.float64)
    whole = float(softmax(scores)[cell.key])
    found = []
    for i in range(len(products)):
        without = scores - cell.q[i] * keys[:, i] * cell.scale
        found.append((float(softmax(without)[cell.key]), i))
    weight, dimension = max(found, key=lambda pair: abs(pair[0] - whole))
    yield Say(
        f"With all dimensions the weight is {whole:.3f}. Without dimension {dimension} it is {weight:.3f}: the largest "
        f"change of all {len(products)}. It is not always the largest product: what counts is how much a dimension "
        "tells this key from the others."
    )


def _row(values: np.ndarray) -> str:
    return " ".join(f"{v:g}" for v in values)
