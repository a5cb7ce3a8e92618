"""Chapter 11: rotary positions, and why the turned keys are the ones to keep."""

import math
from collections.abc import Iterator

import numpy as np

from glasscli.inspect.checks import largest_difference
from glasscli.inspect.runs import watch
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room, within
from glasscli.model.rope import frequencies


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    rope = room.config.ropes[0]
    if rope is None:
        yield Say(
            "A dot product does not know where its words stand. This model adds an embedding of the position to each "
            "word's instead of turning queries and keys, so this chapter has nothing to show on it. Try it without -m."
        )
        return
    trace, config = room.dump.layers[0], room.config
    frequency = frequencies(rope, config.head_dim, len(room.ids)).astype(np.float64)
    yield Say(
        f"A dot product does not know where its words stand. So a head's {2 * len(frequency)} numbers are read as "
        f"{len(frequency)} points in the plane, and each point is turned by its position times an angle of its own."
    )
    yield Formula("turned by  position · θ_i      score depends on  (query's position − key's) · θ_i")
    shown = sorted({0, 1, len(frequency) // 2, len(frequency) - 1} & set(range(len(frequency))))
    rows = [(str(i), f"{math.degrees(frequency[i]):.3g}°", f"{2 * math.pi / frequency[i]:,.1f}") for i in shown]
    yield Table(("point", "a position", "once round in"), tuple(rows), left=())
    yield _turned(room)
    yield from _facts(room)
    yield from _shifted(room)
    yield Say(
        "Because a key's angle is its own position's, and never changes, keys are turned first and kept turned. A "
        "cache of unturned keys would have to turn all of them again at every step."
    )
    kept = largest_difference(trace.cache_k_KSE, trace.rope_k_KTE)
    yield Claim("What is in the cache is the turned keys, number for number", kept == 0)
    yield Ask("Two words stand so far apart that the fastest point has gone round exactly once. Can the head tell?")
    turns = 2 * math.pi / frequency[0]
    slow = math.degrees(turns * frequency[-1])
    yield Say(
        f"The fastest point is back after {turns:.2f} positions and says nothing of that distance; the slowest has "
        f"turned {slow:.3g}° by then. It is back after {2 * math.pi / frequency[-1]:,.0f} positions. Together they "
        "tell every distance apart, as the hands of a clock tell minutes from hours."
    )
    yield Claim("No two distances of this text look alike to all points", _all_differ(frequency, len(room.ids)))
    yield Try(("glass dump-attn TEXT --step rope_k",))


def _turned(room: Room) -> Say:
    """How far the first point of the last word's key was turned."""
    layer, last = room.dump.layers[0], len(room.ids) - 1
    k = layer.k_KTE if layer.k_norm_KTE is None else layer.k_norm_KTE
    half = room.config.rotary_dim // 2
    before, after = (complex(x[0, last, 0], x[0, last, half]) for x in (k, layer.rope_k_KTE))
    angle = math.degrees(np.angle(after / before)) % 360 if before else 0.0
    return Say(
        f"The first point of the key of {room.quoted(last)}, at {last}: ({before.real:.2f}, {before.imag:.2f}) becomes "
        f"({after.real:.2f}, {after.imag:.2f}), turned by {angle:.1f}° (counting whole rounds off)."
    )


def _facts(room: Room) -> Iterator[Part]:
    layer, rope = room.dump.layers[0], room.config.ropes[0]
    if rope is None or rope.attention_factor != 1:
        yield Say("This model makes what it turns a little longer as well, so lengths are not kept here.")
        return
    q = layer.q_HTE if layer.q_norm_HTE is None else layer.q_norm_HTE
    before, after = (np.linalg.norm(x.astype(np.float64), axis=-1) for x in (q, layer.rope_q_HTE))
    gap = float((np.abs(after - before) / before.max()).max())
    yield Claim(f"Turning keeps lengths: {within(gap)}", gap < 1e-5)
    k = layer.k_KTE if layer.k_norm_KTE is None else layer.k_norm_KTE
    first = largest_difference(k[:, 0], layer.rope_k_KTE[:, 0])
    yield Claim(f"Position 0 is not turned at all: {within(first)}", first < 1e-5 * max(1.0, float(np.abs(k).max())))


def _shifted(room: Room) -> Iterator[Part]:
    """The text behind some others: in layer 0, where words know nothing of each other, its scores are the same."""
    rope, config = room.config.ropes[0], room.config
    shift = min(7, config.max_seq_len - len(room.ids), len(room.ids) - 1)
    if rope is None or rope.grows or shift < 1:
        return
    plain = room.dump.layers[0].scores_HTS
    mask = room.dump.layers[0].mask_TS
    ids = room.ids[1 : 1 + shift] + list(room.ids)
    later = watch(room.loaded, ids, (), layers=[0], last_only=True).layers[0].scores_HTS[:, shift:, shift:]
    gap = float(np.abs(np.where(mask, later.astype(np.float64) - plain, 0)).max())
    size = max(1.0, float(np.abs(plain[:, mask]).max()))
    yield Claim(
        f"Only distances count: {shift} positions later the text has the same scores in layer 0, {within(gap / size)}",
        gap < 1e-3 * size,
    )


def _all_differ(frequency: np.ndarray, n: int) -> bool:
    angles = np.exp(1j * np.arange(n)[:, None] * frequency)
    apart = np.abs(angles[:, None] - angles[None]).max(axis=-1)
    return bool(apart[~np.eye(n, dtype=bool)].min() > 1e-3)
