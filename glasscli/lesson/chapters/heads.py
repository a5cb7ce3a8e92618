"""Chapter 7: why several heads, what they do here, and who reads a pronoun."""

from collections.abc import Iterator

import numpy as np

from glasscli.inspect.checks import largest_difference
from glasscli.inspect.head_roles import HeadReport, head_census
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room, within
from glasscli.model.ops import softmax

SHOWN = 8


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    config = room.config
    yield Say(
        "One softmax makes one average, and one strong score drowns all others. A word that needs its verb and its "
        "subject can't ask for both with one query. Two keys that it wants alike, and what a third does to them:"
    )
    rows = []
    for third in (0.0, 3.0, 6.0, 9.0):
        weights = softmax(np.array([4.0, 4.0, third]))
        rows.append((f"4, 4, {third:g}", *(f"{w:.3f}" for w in weights)))
    yield Table(("scores", "first", "second", "third"), tuple(rows))
    yield Say(
        f"So a layer has several heads, here {config.n_heads}, each with a query of its own {config.head_dim} numbers "
        "wide. Their mixed values are laid side by side and multiplied by W_O."
    )
    yield Formula("out = [O₀ … O_H]·W_O = O₀·W_O⁰ + O₁·W_O¹ + …")
    yield _adds_up(room)
    yield Say("What the heads of this model do: on random words that come twice (copy), and on the text.")
    n_heads = config.n_heads * config.n_layers
    reports = sorted(head_census(room.loaded, room.ids).reports, key=lambda report: report.role is None)
    yield Table(("head", "copy", "previous", "first", "itself", "called"), tuple(map(_row, reports[:SHOWN])), (0, 5))
    yield Say(
        "Copy: weight on the word after an earlier copy of this one. Previous, first, itself: weight on the word "
        "before, on the first of all, on the word itself. A name is given only to what is far from chance."
        + (f" These are {SHOWN} of {n_heads} heads." if n_heads > SHOWN else "")
    )
    last = len(room.ids) - 1
    asked = _pronoun(room, last)
    yield Ask(f"Which words does {room.quoted(asked)} at {asked} read, head by head, leaving out itself and the first?")
    yield from _answer(room, asked, [f"{r.layer}.{r.text.head}" for r in reports if r.role == "previous"])
    yield Try(("glass dump-attn TEXT --heads", "glass dump-attn TEXT --all -o heads.html"))


def _adds_up(room: Room) -> Claim:
    weights, trace = room.loaded.model.weights.blocks[room.layer], room.trace
    width = room.config.head_dim
    parts = [
        trace.mix_HTE[h].astype(np.float64) @ weights.out[h * width : (h + 1) * width]
        for h in range(room.config.n_heads)
    ]
    whole = np.sum(parts, axis=0)
    if weights.out_bias is not None:
        whole = whole + weights.out_bias
    size = max(1.0, float(np.abs(trace.out_TD).max()))
    gap = largest_difference(whole, trace.out_TD)
    return Claim(
        f"Each head's own part, multiplied out and summed, is the layer's output: {within(gap / size)}",
        gap < 1e-4 * size,
    )


def _row(report: HeadReport) -> tuple[str, ...]:
    def share(value: float | None) -> str:
        return "–" if value is None else f"{value:.2f}"

    text = report.text
    numbers = (report.probe.induct, text.prev, text.sink, text.self_weight)
    return f"{report.layer}.{text.head}", *map(share, numbers), report.role or ""


def _pronoun(room: Room, last: int) -> int:
    """Where “it” stands, for the text that has one; else the last word."""
    places = [i for i, token in enumerate(room.tokens) if token.raw.strip() in (b"it", b"It")]
    return places[-1] if places else last


def _answer(room: Room, asked: int, previous: list[str]) -> Iterator[Part]:
    """Where each head looks; the hardest look, and the next but for heads that read the word before by habit."""
    read: list[tuple[float, int, int, int]] = []  # weight, layer, head, key
    for trace in room.dump.layers:
        for h, pattern in enumerate(trace.pattern_HTS[:, asked, : asked + 1]):
            seen = pattern.copy()
            seen[[0, asked]] = 0
            key = int(seen.argmax())
            read.append((float(seen[key]), trace.layer, h, key))
    yield _of_each_head(room, read) if room.config.n_heads <= SHOWN >= room.config.n_layers else _hardest(room, read)
    weight, layer, head, key = max(read)
    habit = ""
    if key == asked - 1 and f"{layer}.{head}" in previous:
        others = [of for of in read if of[3] != key]
        habit = " That is habit: it reads the word before, whatever that is."
        if others:
            weight_of, in_layer, by, at = max(others)
            habit += f" Next comes {room.quoted(at)} at {at}: {weight_of:.2f}, by head {in_layer}.{by}."
    yield Say(
        f"Most goes to {room.quoted(key)} at {key}: {weight:.2f}, by head {layer}.{head}.{habit} Whether that is "
        f"understanding{'' if habit else ' or habit'} a weight can't tell; the chapter “cause” can."
    )


def _of_each_head(room: Room, read: list[tuple[float, int, int, int]]) -> Table:
    n = room.config.n_heads
    cells = [f"{room.tokens[key].label} {weight:.2f}" for weight, _, _, key in read]
    rows = ((str(layer), *cells[layer * n : (layer + 1) * n]) for layer in range(room.config.n_layers))
    return Table(("layer", *(f"head {h}" for h in range(n))), tuple(rows), left=tuple(range(1, n + 1)))


def _hardest(room: Room, read: list[tuple[float, int, int, int]]) -> Table:
    """Where all heads are too many for a table: those that read one word hardest."""
    rows = [(f"{layer}.{h}", room.label(key), f"{weight:.2f}") for weight, layer, h, key in sorted(read)[::-1][:SHOWN]]
    return Table((f"head ({SHOWN} of {len(read)})", "reads most", "weight"), tuple(rows), left=(0, 1))
