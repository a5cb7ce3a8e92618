"""Chapter 8: the residual stream, and attention as the only place where positions meet."""

from collections.abc import Iterator

import numpy as np

from glasscli.inspect.checks import largest_difference
from glasscli.inspect.comparison import movement
from glasscli.inspect.runs import watch
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room, within

MOVED = 1e-3  # length of a difference that is no rounding


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    yield Say(
        "A layer replaces nothing. It reads the stream, computes something to say, and adds it: first attention, then "
        "the MLP, which works on each word alone."
    )
    yield Formula("x → x + attention(norm(x)) → x + MLP(norm(x))")
    trace = room.trace
    written = trace.down_TD if trace.ffn_post_norm_TD is None else trace.ffn_post_norm_TD
    out = trace.out_TD if trace.attn_post_norm_TD is None else trace.attn_post_norm_TD
    factor = room.config.residual_scale
    gap = largest_difference(trace.x_TD + factor * out + factor * written, trace.resid_post_TD)
    size = max(1.0, float(np.abs(trace.resid_post_TD).max()))
    yield Claim(f"Layer {room.layer}: what leaves is what entered plus both, {within(gap / size)}", gap < 1e-4 * size)
    yield from _mixing(room)
    yield Ask("Who wrote what the last word's stream holds in the end: the embedding, attention or the MLPs?")
    yield from _answer(room)
    yield Try(("glass lens TEXT", "glass compare TEXT ANOTHER"))


def _mixing(room: Room) -> Iterator[Part]:
    place = len(room.ids) // 2
    other = list(room.ids)
    other[place] = next(i for i in room.ids[::-1] if i != other[place])
    swapped = room.loaded.tokenizer.label(other[place])
    yield Say(
        f"Change one word: {room.quoted(place)} at {place} becomes “{swapped}”. How far does each place's stream move? "
        "Once as it is, once with attention silenced."
    )
    moved = movement(room.loaded, room.ids, other)
    rows = []
    for position in room.last_positions:
        row = [moved.whole[0][position], moved.whole[-1][position], moved.without_attention[-1][position]]
        rows.append((room.label(position), *(f"{x:.2f}" if x > MOVED else "·" for x in row)))
    yield Table(("place", "layer 0", f"layer {room.config.n_layers - 1}", "no attention"), tuple(rows))
    before = max((row[i] for row in moved.whole for i in range(place)), default=0.0)
    silent = max(row[i] for row in moved.without_attention for i in range(len(room.ids)) if i != place)
    yield Claim("No earlier place moves: the mask", before < MOVED)
    yield Claim("Without attention no other place moves at all: norms and MLPs see one word each", silent < MOVED)
    after = [moved.whole[-1][i] for i in range(place + 1, len(room.ids))]
    yield Say(f"With it {sum(x > MOVED for x in after)} of {len(after)} later places do.")


def _answer(room: Room) -> Iterator[Part]:
    config = room.config
    kept = watch(room.loaded, room.ids, ("resid_pre", "resid_mid", "resid_post"), last_only=True).kept
    streams = {key: rows[-1].astype(np.float64) for key, rows in kept.items()}
    rows, total = [], streams[0, "resid_pre"].copy()
    rows.append(("embedding", f"{np.linalg.norm(total):.1f}", f"{np.linalg.norm(total):.1f}"))
    for layer in range(config.n_layers):
        for name, before, after in (("attention", "resid_pre", "resid_mid"), ("MLP", "resid_mid", "resid_post")):
            if config.parallel:  # both read the same stream
                before = "resid_pre" if name == "attention" else "resid_mid"
            part = streams[layer, after] - streams[layer, before]
            total += part
            rows.append((f"{name} {layer}", f"{np.linalg.norm(part):.1f}", f"{np.linalg.norm(total):.1f}"))
    yield Table(("written by", "length", "stream then"), tuple(rows))
    end = streams[config.n_layers - 1, "resid_post"]
    gap = float(np.linalg.norm(total - end) / np.linalg.norm(end))
    yield Claim(f"The parts sum to the stream that is read at the end: {within(gap)}", gap < 1e-4)
