"""Chapter 4: the mask, and why one pass trains at all places at once."""

import math
from collections.abc import Iterator

import numpy as np

from glasscli.inspect.checks import largest_difference
from glasscli.inspect.predictions import log_softmax
from glasscli.inspect.whatif import what_if_pattern
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room, within

SHOWN = 7


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    trace, n = room.trace, len(room.ids)
    row = min(n - 2, SHOWN - 3)
    yield Say(
        f"Layer {room.layer}, head 0, the word {room.quoted(row)} at {row}. Every key has a score, those after it too. "
        "The mask sets these to −∞, and e^−∞ is 0: they get no weight at all, and the rest shares the whole."
    )
    yield Formula("S[i, j] → −∞  where j > i      weights = softmax(S + M)")
    rows = []
    for key in range(min(n, SHOWN)):
        allowed = bool(trace.mask_TS[row, key])
        score = float(trace.last_scores[0, row, key])
        masked, weight = (f"{score:.2f}", f"{trace.pattern_HTS[0, row, key]:.3f}") if allowed else ("−∞", "0")
        rows.append((room.label(key), f"{score:.2f}", masked, weight))
    if n > SHOWN:
        rows.append((f"{n - SHOWN} more, also hidden", "", "−∞", "0"))
    yield Table(("key", "raw", "masked", "weight"), tuple(rows))
    hidden = int((~trace.mask_TS).sum())
    ahead = float(np.abs(np.where(trace.mask_TS, 0, trace.pattern_HTS)).sum())
    yield Claim(f"{hidden} of {n * n} cells are hidden, and the weights there sum to exactly {ahead:g}", ahead == 0)
    yield from _nothing_leaks(room)
    yield from _every_place(room)
    yield Ask("Take the mask away. How much weight would go to words that have not been said yet?")
    without = what_if_pattern(trace, "no-mask", 1.0)[2].astype(np.float64)
    later = np.triu(np.ones((n, n)), 1)
    shares = (without[:, :-1] * later[:-1]).sum(axis=-1).mean(axis=-1)
    yield Table(("head", "weight on later words"), tuple((str(h), f"{100 * s:.0f} %") for h, s in enumerate(shares)))
    yield Say(
        "A model trained so would learn to copy the next word from where it stands, and would have nothing to say once "
        "there is no next word."
    )
    yield Try(("glass dump-attn TEXT --step mask", "glass dump-attn TEXT --what-if no-mask"))


def _nothing_leaks(room: Room) -> Iterator[Part]:
    other = list(room.ids)
    other[-1] = other[0] if other[-1] != other[0] else other[1]
    logits = [room.loaded.model(ids) for ids in (room.ids, other)]
    before = largest_difference(logits[0][:-1], logits[1][:-1])
    after = largest_difference(logits[0][-1], logits[1][-1])
    size = max(1.0, float(np.abs(logits[0]).max()))
    yield Claim(
        f"Nothing leaks: with another last word, all predictions before it stay (difference {within(before / size)}), "
        f"and the logits of its own by up to {after:.1f}",
        before < 1e-4 * size < after,
    )


def _every_place(room: Room) -> Iterator[Part]:
    yield Say("So one pass over a text is a test at every place at once. What the model gave the words that came:")
    logprobs = log_softmax(room.loaded.model(room.ids))
    rows, worst, grows = [], 0.0, any(rope is not None and rope.grows for rope in room.config.ropes)
    for position in range(1, len(room.ids)):
        logprob = float(logprobs[position - 1, room.ids[position]])
        if not grows:
            alone = log_softmax(room.loaded.model(room.ids[:position], last_only=True))[0, room.ids[position]]
            worst = max(worst, abs(float(alone) - logprob))
        if position in room.last_positions:
            rows.append((room.label(position), f"{math.exp(logprob):.3f}", f"{-logprob / math.log(2):.1f}"))
    yield Table(("word", "p", "bits"), tuple(rows))
    if grows:
        yield Say("This model turns by other angles once a text is long, so a run over less of it may differ a little.")
        return
    yield Claim(
        f"{len(room.ids) - 1} separate runs, each over the words before one place alone, give the same: difference "
        f"{within(worst)}",
        worst < 1e-3,
    )
