"""Chapter 1: queries, keys and values are learned projections of the normed stream; the way through the layer."""

from collections.abc import Iterator

import numpy as np

from glasscli.inspect.checks import largest_difference
from glasscli.inspect.runs import watch
from glasscli.inspect.steps import steps_of
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room, within
from glasscli.model.ops import linear


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    config, trace, last = room.config, room.trace, len(room.ids) - 1
    yield Say(
        f"The text is {len(room.ids)} tokens, words or pieces of words{_marks(room)}. In the model each is a row of "
        f"{config.dim:,} numbers that flows through {config.n_layers} layers: the residual stream. Layer {room.layer} "
        "brings every row to the same size (the norm) and multiplies it by three matrices that were learned. What "
        "comes out is called query, key and value."
    )
    yield Formula("q = norm(x)·W_Q     k = norm(x)·W_K     v = norm(x)·W_V")
    rows = [(name, trace_array[0, last]) for name, trace_array in _vectors(room).items()]
    headers = ("head 0 of", *(f"[{i}]" for i in range(5)), "…")
    yield Table(headers, tuple((f"{name} {room.label(last)}", *map(_number, row[:5]), "…") for name, row in rows))
    yield Say(
        "The names are an analogy: a query is what a word looks for, a key what it can be found by, a value what it "
        "hands over. No number here says “noun” or “subject”. What they mean is what the dot products make of them."
    )
    weights = room.loaded.model.weights.blocks[room.layer]
    n_v = config.n_kv_heads * config.head_dim
    bias = None if weights.qkv_bias is None else weights.qkv_bias[-n_v:]
    ours = linear(trace.normed_TD.astype(np.float64), weights.qkv[:, -n_v:].astype(np.float64), bias)
    gap = largest_difference(ours.reshape(-1, config.n_kv_heads, config.head_dim).swapaxes(0, 1), trace.v_KTE)
    size = max(1.0, float(np.abs(trace.v_KTE).max()))
    yield Claim(f"v, multiplied out again from the normed rows and W_V: largest difference {within(gap / size)}",
                gap < 1e-4 * size)  # fmt: skip
    yield Say("From there the numbers take this way, and the rest of the course is about its stops:")
    yield Table(("step", "formula", "shape"), tuple(_steps(room)), left=(0, 1))
    yield Ask("The same word stands in a text twice. In which layer do its two keys first differ?")
    yield from _answer(room)
    yield Try(("glass dump-attn TEXT --step q", "glass dump-attn TEXT --explain"))


def _marks(room: Room) -> str:
    """What in the labels of tokens is not the text."""
    opening = room.loaded.encode("")
    said = [f"{room.quoted(0)} at 0 opens every text"] if opening and room.ids[: len(opening)] == opening else []
    said += ["· is a space"] if any("·" in token.label for token in room.tokens) else []
    return f" ({', '.join(said)})" if said else ""


def _vectors(room: Room) -> dict[str, np.ndarray]:
    return {"q": room.trace.q_HTE, "k": room.trace.k_KTE, "v": room.trace.v_KTE}


def _steps(room: Room) -> Iterator[tuple[str, str, str]]:
    n = len(room.ids)
    for name, step in steps_of(room.config, room.layer).items():
        yield name, step.equation(room.config), " × ".join(map(str, step.shape(room.config, n, n)))


def _answer(room: Room) -> Iterator[Part]:
    """The text twice, one behind the other: the keys of each word in both copies, before rotation."""
    mark = room.loaded.encode("")
    body = [i for i in room.ids if i not in mark] or room.ids
    ids = mark + body + body
    if len(ids) > room.config.max_seq_len or room.loaded.model.weights.positions is not None:
        ids = mark + body[:8] + body[:8]
    n = (len(ids) - len(mark)) // 2
    kept = watch(room.loaded, ids, ("k",), last_only=True).kept
    gaps = []
    for layer in range(room.config.n_layers):
        k = kept[layer, "k"].astype(np.float64)[:, len(mark) :]
        apart = np.linalg.norm(k[:, n:] - k[:, :n]) / np.linalg.norm(k[:, :n])
        gaps.append(float(apart))
    yield Table(("layer", "keys differ by"), tuple((str(i), f"{100 * gap:.1f} %") for i, gap in enumerate(gaps)))
    if room.loaded.model.weights.positions is None:
        yield Claim("In layer 0 the keys of the two are the same: no word has seen another yet", gaps[0] < 1e-5)
        yield Say(
            f"So the difference begins in layer {next((i for i, gap in enumerate(gaps) if gap > 1e-5), 0)}: it reads a "
            "stream into which attention has already written what stands before. A word's vectors are of the word in "
            "its place, not of the word."
        )
    else:
        yield Say("Here even layer 0 tells them apart: this model adds an embedding of the position to the word's.")


def _number(value: float) -> str:
    return f"{value:.2f}"
