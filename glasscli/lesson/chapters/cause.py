"""Chapter 13: what a weight does not tell: values near zero, and heads that are looked at and not needed."""

from collections.abc import Iterator

import numpy as np

from glasscli.inspect.ablation import Part as Piece
from glasscli.inspect.ablation import PromptAblation, ablate_prompt
from glasscli.inspect.measures import value_weighted
from glasscli.lesson.parts import Ask, Claim, Part, Say, Table, Try
from glasscli.lesson.room import Room

SHOWN = 6


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    yield Say(
        "A head's weights sum to 1 in every row: it can't look at nothing. A head that has nothing to do must still "
        "put its weight somewhere, and learns to put it where it does no harm, mostly on the first token."
    )
    yield from _values(room)
    yield Say(
        "A weight that fetches a short vector moves little. And a long vector may be written where nobody reads. "
        "Whether a head matters is a question of cause: take it out, and see. Set each head's output to zero, one at "
        "a time; KL is how far the next word's distribution moves."
    )
    effects = ablate_prompt(room.loaded, room.ids)
    yield from _table(room, effects)
    yield Ask("Is there a head without which the model's own favourite becomes more likely?")
    yield from _answer(effects)
    yield Try(("glass ablate TEXT", "glass dump-attn TEXT --heads"))


def _values(room: Room) -> Iterator[Part]:
    rows, bounded = [], True
    for trace in room.dump.layers:
        weighted, lengths = value_weighted(trace.pattern_HTS, trace.cache_v_KSE)
        rest = trace.pattern_HTS[:, 1:]
        share = float(rest[:, :, 0].mean())
        moved = float(weighted[:, 1:, 0].sum() / weighted[:, 1:].sum())
        row = (f"{lengths[:, 0].mean():.1f}", f"{lengths[:, 1:].mean():.1f}", f"{share:.2f}", f"{moved:.2f}")
        rows.append((str(trace.layer), *row))
        mixed = np.linalg.norm(trace.mix_HTE.astype(np.float64), axis=-1)
        bounded &= bool((mixed <= weighted.sum(axis=-1) * (1 + 1e-5)).all())
    yield Say(
        f"The first token here is {room.quoted(0)}. How long are its values, how long the others', and what share of "
        "all weight does it get, of all that is moved (weight × length)?"
    )
    yield Table(("layer", "‖v‖ first", "‖v‖ others", "weight", "moved"), tuple(rows), left=())
    yield Claim("No mixed vector is longer than the sum of weight × length in its row", bounded)


def _table(room: Room, found: PromptAblation) -> Iterator[Part]:
    favourite = found.whole
    yield Say(f"The whole model's favourite next is “{favourite.token.label}” with {favourite.p:.3f}.")
    heads = [effect for effect in found.effects if effect.part.head is not None]
    rows = []
    for effect in heads[:SHOWN]:
        weight = _largest_weight(room, effect.part)
        rows.append((effect.part.label, f"{effect.kl_bits:.3f}", f"{effect.watched.p:.3f}", f"{weight:.2f}"))
    yield Table(("without head", "KL, bits", f"p of {favourite.token.label}", "largest weight, last row"), tuple(rows))
    sharpest = max(heads, key=lambda effect: _largest_weight(room, effect.part))
    rank = 1 + heads.index(sharpest)
    yield Say(
        f"The head that looks hardest at one place in the last row, {sharpest.part.label} with "
        f"{_largest_weight(room, sharpest.part):.2f}, is number {rank} of {len(heads)} by what its removal does "
        f"({sharpest.kl_bits:.3f} bits, where {heads[0].part.label} moves {heads[0].kl_bits:.3f})."
    )
    idle = max(heads[len(heads) // 2 :], key=lambda effect: _largest_weight(room, effect.part))
    if idle is not sharpest and len(heads) > 1:
        key = int(room.dump.layers[idle.part.layer].pattern_HTS[idle.part.head or 0, -1].argmax())
        yield Say(
            f"Among the half that matters least, {idle.part.label} looks hardest: "
            f"{_largest_weight(room, idle.part):.2f} of its weight goes to {room.quoted(key)} at {key}, and taking it "
            f"out moves {idle.kl_bits:.3f} bits."
        )


def _largest_weight(room: Room, part: Piece) -> float:
    return float(room.dump.layers[part.layer].pattern_HTS[part.head or 0, -1].max())


def _answer(found: PromptAblation) -> Iterator[Part]:
    better = [effect for effect in found.effects if effect.part.head is not None]
    better.sort(key=lambda effect: -effect.watched.p)
    best, more = better[0], sum(effect.watched.p > found.whole.p for effect in better)
    said = f"{more} of {len(better)} are such heads. " if more else "No: each head speaks for it. "
    yield Say(
        f"{said}Without {best.part.label} “{found.whole.token.label}” has {best.watched.p:.3f}, with it "
        f"{found.whole.p:.3f}. Heads speak against each other, and a prediction is what is left of their quarrel."
        if more
        else f"{said}The least is lost without {best.part.label}: {best.watched.p:.3f} of {found.whole.p:.3f}."
    )
