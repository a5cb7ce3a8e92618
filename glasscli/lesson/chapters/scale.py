"""Chapter 3: dot products grow with the width of a head, and softmax does not forgive it."""

import math
from collections.abc import Iterator

import numpy as np

from glasscli.inspect.whatif import Sharpness, sharpness, what_if_pattern
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room
from glasscli.model.ops import softmax

WIDTHS, DRAWS, KEYS, SEED = (2, 32, 128), 20_000, 16, 0


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    width = room.config.head_dim
    yield Say(
        "Take vectors of d random numbers, independent, with mean 0 and variance 1. A dot product adds d products of "
        "variance 1, so its variance is d. Divided by √d it is 1 again, whatever the width."
    )
    yield Formula("Var(q·k) = d      Var(q·k / √d) = 1")
    rows, near = [], True
    for d in WIDTHS:
        q, k = np.random.default_rng(SEED).standard_normal((2, DRAWS, d))
        variance = float((q * k).sum(axis=1).var())
        near &= abs(variance / d - 1) < 0.05
        rows.append((str(d), f"{variance:.2f}", f"{variance / d:.3f}"))
    yield Table(("d", "Var(q·k)", "Var(q·k / √d)"), tuple(rows), left=())
    yield Claim(f"{DRAWS:,} random pairs of each width: all within 5 % of d", near)
    rms = _score_rms(room)
    yield Say(
        "That is an argument about random vectors, and learned ones are free not to be like them. The scaled scores "
        f"of this model have a root mean square of {', '.join(f'{x:.2f}' for x in rms)} in layers 0 to "
        f"{len(rms) - 1}, not 1. The division sets where training starts, not where it ends."
    )
    yield Say("Why care? Because softmax turns differences into ratios. The same scores with the division, without:")
    yield from _with_and_without(room)
    yield Say("On random vectors the effect of the width is seen alone, 16 keys for each query:")
    yield Table(
        ("d", "largest weight ÷√d", "without", "Σa(1−a) ÷√d", "without"),
        tuple(_by_width(d) for d in (2, 8, 32, 128, 512)),
        left=(),
    )
    yield Say(
        "Σa(1−a) is how strongly a row's weights answer its scores, and so what learning gets through. Where one key "
        "has all the weight it is 0: the row has decided, and can't be told that it is wrong."
    )
    yield Ask(f"By what would each layer of this model have to divide, instead of √{width} = {math.sqrt(width):.2f}, "
              "for its scores to have variance 1 on this text?")  # fmt: skip
    yield from _answer(room)
    yield Try(("glass dump-attn TEXT --what-if no-scale", "glass dump-attn TEXT --step jacobian"))


def _scale(room: Room) -> float:
    config = room.config
    return 1 / math.sqrt(config.head_dim) if config.attention_scale is None else config.attention_scale


def _score_rms(room: Room) -> list[float]:
    found = []
    for trace in room.dump.layers:
        seen = trace.scores_HTS[:, trace.mask_TS].astype(np.float64)
        found.append(float(np.sqrt((seen**2).mean())))
    return found


def _with_and_without(room: Room) -> Iterator[Part]:
    trace, softcap = room.trace, room.config.attention_softcap
    scores, mask, pattern = what_if_pattern(trace, "no-scale", _scale(room), softcap)
    heads = range(room.config.n_heads)
    before = [sharpness(trace.last_scores[h], trace.mask_TS, trace.pattern_HTS[h], 0) for h in heads]
    after = [sharpness(scores[h], mask, pattern[h], 0) for h in heads]
    rows = [(name, _mean(before, field, form), _mean(after, field, form)) for name, field, form in (
        ("largest weight of a row", "largest", ".2f"),
        ("rows with one above .99", "saturated", ".0%"),
        ("entropy, bits", "entropy_bits", ".2f"),
        ("Σa(1−a)", "gradient", ".3f"),
    )]  # fmt: skip
    yield Table((f"layer {room.layer}, all heads", "with", "without"), tuple(rows))
    sharper = _value(after, "gradient") < _value(before, "gradient")
    yield Claim("Without the division the rows are sharper, and less gets through them", sharper)


def _value(found: list[Sharpness], field: str) -> float:
    return sum(getattr(each, field) for each in found) / len(found)


def _mean(found: list[Sharpness], field: str, form: str) -> str:
    return format(_value(found, field), form).replace("%", " %")


def _by_width(d: int) -> tuple[str, ...]:
    rng = np.random.default_rng(SEED)
    q, k = rng.standard_normal((500, 1, d)), rng.standard_normal((500, KEYS, d))
    scores = (q * k).sum(axis=-1)
    scaled, plain = softmax(scores / math.sqrt(d)), softmax(scores)
    through = [float((a * (1 - a)).sum(axis=1).mean()) for a in (scaled, plain)]
    largest = [float(a.max(axis=1).mean()) for a in (scaled, plain)]
    return str(d), f"{largest[0]:.2f}", f"{largest[1]:.2f}", f"{through[0]:.2f}", f"{through[1]:.2f}"


def _answer(room: Room) -> Iterator[Part]:
    rows = []
    for trace in room.dump.layers:
        raw = trace.scores_HTS[:, trace.mask_TS].astype(np.float64) / _scale(room)
        rows.append((str(trace.layer), f"{raw.var():.1f}", f"{raw.std():.2f}"))
    yield Table(("layer", "Var(q·k)", "divide by"), tuple(rows), left=())
    yield Say("Training has made the vectors as long as it needed them: a layer may want sharp rows, and buys them.")
