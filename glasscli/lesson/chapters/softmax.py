"""Chapter 5: softmax, its largest score, its derivative."""

from collections.abc import Iterator

import numpy as np

from glasscli.inspect.whatif import jacobian_facts, softmax_jacobian
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room, within
from glasscli.model.attention import causal_mask
from glasscli.model.ops import softmax

WORDS = ("The", "cat", "sat", "down")
SCORES = ((2.1, 0.8, -0.4, 1.2), (0.9, 2.5, 1.1, 0.3), (0.2, 1.8, 2.0, -0.5), (0.1, 0.9, 1.7, 2.2))


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    yield Say("Scores can be any numbers. Shares must be positive and sum to 1. Four words, scores already scaled:")
    yield Formula("a_j = e^(s_j) / (e^(s_0) + e^(s_1) + …)")
    scores = np.array(SCORES)
    weights = softmax(np.where(causal_mask(4, 4, 0), scores, -np.inf))
    rows = [
        (word, " ".join(f"{s:.1f}" for s in scores[i]), " ".join(f"{w:.4f}" for w in weights[i, : i + 1]))
        for i, word in enumerate(WORDS)
    ]
    yield Table(("word", "scores", "masked, softmax"), tuple(rows), left=(0, 1, 2))
    yield Claim("Each row sums to 1", bool(np.abs(weights.sum(axis=1) - 1).max() < 1e-12))
    yield from _large_scores()
    yield from _derivative(room)
    yield Ask("Which weight of this layer answers a change of its own score most?")
    yield from _answer(room)
    yield Try(("glass dump-attn TEXT --step jacobian",))


def _large_scores() -> Iterator[Part]:
    large = np.array([1000.0, 999.0, 998.0], np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.exp(large)
        naive = powers / powers.sum()
    safe, small = softmax(large), softmax(large - np.float32(1000))
    yield Say(
        "A float32 ends at 3.4e38, and e^89 is past it. So the row's largest score is taken off all of them first. "
        "It cancels in the division: nothing changes but that it can be computed."
    )
    yield Table(("scores 1000, 999, 998", ""), (("as written", _row(naive)), ("largest taken off", _row(safe))), (0, 1))
    yield Claim("As written: not a number. With it taken off: the weights of 0, −1, −2",
                bool(np.isnan(naive).all() and np.array_equal(safe, small)))  # fmt: skip


def _derivative(room: Room) -> Iterator[Part]:
    yield Say(
        "Push one score up and its weight grows at the cost of all others. How much each weight answers each score is "
        "a matrix, the Jacobian:"
    )
    yield Formula("∂a_i/∂s_j = a_i·(1 if i = j else 0) − a_i·a_j      J = diag(a) − a·aᵀ")
    row = min(4, len(room.ids) - 1)
    scores = room.trace.seen_scores(0, row)
    scores = scores[np.isfinite(scores)]
    jacobian, facts = jacobian_facts(scores)
    first = len(room.ids[: row + 1]) - len(scores)
    rows = [(room.label(first + i), *(f"{x:+.3f}" for x in jacobian[i])) for i in range(len(scores))]
    yield Table((f"head 0, row {room.label(row)}", *(str(first + i) for i in range(len(scores)))), tuple(rows))
    small = 1e-7
    yield Claim(f"It is symmetric (off by {within(facts.asymmetry)})", facts.asymmetry < small)
    yield Claim(f"Its rows sum to 0 ({within(facts.row_sum)}): pushing all scores alike changes nothing",
                facts.row_sum < small)  # fmt: skip
    yield Claim("No eigenvalue is below 0: positive semi-definite", facts.smallest_eigenvalue > -small)
    yield Claim(f"It is what pushing each score a little does: central differences, {within(facts.numeric_gap)}",
                facts.numeric_gap < small)  # fmt: skip


def _answer(room: Room) -> Iterator[Part]:
    pattern = np.where(room.trace.mask_TS, room.trace.pattern_HTS, 0).astype(np.float64)
    slope = pattern * (1 - pattern)
    head, query, key = (int(i) for i in np.unravel_index(int(slope.argmax()), slope.shape))
    weight = float(pattern[head, query, key])
    yield Say(
        f"a·(1 − a) is largest at a = ½, where it is ¼. Nearest to that in layer {room.layer} is head {head}: "
        f"{room.quoted(query)} at {query} gives {room.quoted(key)} at {key} a weight of {weight:.3f}, which answers "
        f"with {slope.max():.4f}."
    )
    nearest = float(np.abs(pattern - 0.5).min())
    yield Claim("No other weight is nearer to ½", abs(weight - 0.5) <= nearest + 1e-12)
    diagonal = float(softmax_jacobian(pattern[head, query, : query + 1])[key, key])
    yield Claim("And it is the diagonal of that row's Jacobian", abs(diagonal - float(slope.max())) < 1e-12)


def _row(values: np.ndarray) -> str:
    return "  ".join(f"{v:.4f}" for v in values)
