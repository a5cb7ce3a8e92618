"""Chapter 14: a previous-token head and a head that copies what it points at."""

import math
from collections.abc import Iterator

import numpy as np

from glasscli.inspect.ablation import Part as Piece
from glasscli.inspect.ablation import ablate_prompt, remove
from glasscli.inspect.circuits import Feed, find_feeds
from glasscli.inspect.predictions import log_softmax
from glasscli.inspect.probes import Probed, probe_heads, probe_uniform, repeat_probes
from glasscli.inspect.runs import watch
from glasscli.inspect.trace import Edit
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room

SHOWN = 3
FEED_DRAWS, FEW_DRAWS = 16, 2  # each head is taken out of each
MANY_HEADS = 64


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    probes = repeat_probes(room.loaded)
    if not all(len(set(probe)) < len(probe) for probe in probes) or room.config.n_layers < 2:
        yield Say("Copying takes two layers and a few words; this model is too small for this chapter.")
        return
    probed, uniform = probe_heads(room.loaded, probes), probe_uniform(probes)
    yield Say(
        "A B … A: what comes next? Whoever has seen A B once says B. To find that B a head must look for a place whose "
        "previous word was A. But a key knows only its own word, unless an earlier head has written into it what "
        "stood before. So it takes two heads, one behind the other."
    )
    yield Formula(
        "layer i   previous-token head: “before me stood A”\nlayer j>i induction head: “who had an A before?” → B"
    )
    yield Say(f"On {len(probes)} draws of random words that come twice, mean and standard deviation:")
    heads = [(layer, h, probed[layer][h]) for layer in range(len(probed)) for h in range(len(probed[layer]))]
    heads.sort(key=lambda head: -(head[2].mean.induct or 0))
    base = uniform.mean.induct or 0
    yield Table(("head", "copies", "sd", "times chance"), tuple(_row(*head, base) for head in heads[:SHOWN]))
    draws = FEED_DRAWS if room.config.n_layers * room.config.n_heads <= MANY_HEADS else FEW_DRAWS
    feeds = find_feeds(room.loaded, draws).pairs
    feed = next((f for f in feeds if f.role == "induct" and f.change < 0), None)
    if feed is None:
        yield Say("No head's removal makes another copy less: this model has no such pair.")
        return
    previous = probed[feed.writer.layer][feed.writer.head or 0].mean.prev or 0
    yield Say(
        f"On {draws} of these draws: take out head {feed.writer.label}, which gives {previous:.2f} "
        f"of its weight to the word before, and head {feed.reader.label} copies {feed.after:.3f} instead of "
        f"{feed.before:.3f}. That is the pair."
    )
    others = [f for f in feeds if f.role == "induct" and f.reader == feed.reader and f is not feed]
    most = max((abs(f.change) for f in others), default=0.0)
    yield Claim(
        f"No other head's removal moves {feed.reader.label}'s copying as far: at most {most:.3f}, this one "
        f"{abs(feed.change):.3f}",
        most <= abs(feed.change),
    )
    yield from _on_the_text(room, feed)
    yield Ask(
        f"What does the second reading of random words cost, in bits a word, with and without {feed.reader.label}?"
    )
    yield from _answer(room, probes, feed)
    yield Try(("glass ablate --feeds", "glass lens TEXT"))


def _row(layer: int, head: int, probed: Probed, base: float) -> tuple[str, ...]:
    value = probed.mean.induct or 0
    times = value / base if base else math.inf
    return f"{layer}.{head}", f"{value:.3f}", f"{probed.induct_sd:.3f}", f"{times:.1f}"


def _on_the_text(room: Room, feed: Feed) -> Iterator[Part]:
    """What the pair does to the word that the reader points at: the one that a head which copies would say."""
    row = room.dump.layers[feed.reader.layer].pattern_HTS[feed.reader.head or 0, -1].copy()
    row[0] = 0  # the first of all is where a head looks that finds nothing
    key = int(row.argmax())
    found = ablate_prompt(room.loaded, room.ids, token=room.tokens[key], parts=[feed.reader, feed.writer])
    whole = found.whole
    yield Say(
        f"At the end of the text {feed.reader.label} looks at {room.quoted(key)} at {key}, with {float(row[key]):.2f} "
        "of its weight. How likely is that word next, as the model is and without one of the two?"
    )
    rows = [("whole model", f"{whole.p:.3f}", "")]
    reader, writer = (next(e for e in found.effects if e.part == part) for part in (feed.reader, feed.writer))
    rows += [(f"without {e.part.label}", f"{e.watched.p:.3f}", f"{e.kl_bits:.2f}") for e in (reader, writer)]
    yield Table(("", f"p of {whole.token.label}", "KL, bits"), tuple(rows))
    if reader.kl_bits > 4 * writer.kl_bits and reader.watched.p < whole.p:
        yield Say(
            f"{feed.reader.label} is needed here, {feed.writer.label} hardly: on words that make sense a head finds "
            "its place by what they mean as well. The pair is what is left where nothing means anything."
        )


def _answer(room: Room, probes: list[list[int]], feed: Feed) -> Iterator[Part]:
    rows, costs = [], []
    for name, pieces in (("whole model", []), (f"without {feed.reader.label}", [feed.reader])):
        first, second = _bits(room, probes, pieces)
        costs.append(second)
        rows.append((name, f"{first:.2f}", f"{second:.2f}"))
    yield Table(("", "first reading", "second"), tuple(rows))
    chance = math.log2(room.config.vocab_size)
    more = costs[1] - costs[0]
    yield Say(
        f"The one head is worth {more:.2f} bits a word here."
        if more > 0
        else f"Without it the words are foreseen no worse ({more:+.2f} bits): others can do it too."
    )
    if costs[0] > chance:
        yield Say(
            f"A blind guess among {room.config.vocab_size:,} tokens would cost {chance:.2f} bits, which is less: of "
            "words that make no text the model is sure all the same, and wrong."
        )


def _bits(room: Room, probes: list[list[int]], pieces: list[Piece]) -> tuple[float, float]:
    """Mean bits a word of the first and of the second copy, whose first word nobody can know."""
    edit: Edit | None = remove(pieces) if pieces else None
    firsts, seconds = [], []
    for probe in probes:
        n = len(probe) // 2
        mark = len(probe) - 2 * n
        logits = watch(room.loaded, probe, ("logits",), edit).kept[None, "logits"]
        logprobs = log_softmax(logits)[range(len(probe) - 1), probe[1:]]
        bits = -logprobs / math.log(2)
        firsts.append(float(np.mean(bits[: mark + n - 1][max(0, mark - 1) :])))
        seconds.append(float(np.mean(bits[mark + n :])))
    return math.fsum(firsts) / len(firsts), math.fsum(seconds) / len(seconds)
