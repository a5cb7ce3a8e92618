"""Chapter 6: the loss at one place, and the gradient that softmax and −ln p collapse to."""

import math
from collections.abc import Iterator

import numpy as np

from glasscli.inspect.gradients import MOST_TRIED, LossGradient, loss_gradient
from glasscli.inspect.predictions import log_softmax
from glasscli.inspect.whatif import softmax_jacobian
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room, within

SHOWN = 5


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    at = len(room.ids) - 2
    found = loss_gradient(room.loaded, room.ids, position=at)
    p = math.exp(-found.loss)
    yield Say(
        f"After {room.quoted(at)} came {room.quoted(at + 1)}. The model had given it {p:.3f}. What it is charged is "
        f"−ln {p:.3f} = {found.loss:.3f} nats: nothing where it was sure and right, much where it was sure and wrong."
    )
    yield Formula("loss = −ln p_y      ∂loss/∂logit_i = p_i − y_i      y: 1 for the word that came, 0 for others")
    yield Say("Each logit is pushed by what the model believed minus what happened. Learning goes the other way:")
    rows = [(found.target.label, f"{p:.3f}", "1", f"{found.at_target:+.3f}", "up")]
    rows += [(token.label, f"{g:.3f}", "0", f"{g:+.3f}", "down") for token, g in found.pulled[:SHOWN]]
    yield Table(("token", "p", "y", "p − y", "it goes"), tuple(rows), left=(0, 4))
    yield Claim(f"All {len(found.gradient):,} numbers sum to 0 ({within(abs(found.total))})", abs(found.total) < 1e-9)
    yield Claim(
        f"They are what pushing each logit up and down gives: central differences, {within(found.numeric_gap)}",
        found.numeric_gap < 1e-7,
    )
    yield from _collapse(found)
    yield Ask("At which word of this text would the model learn most?")
    yield from _answer(room)
    yield Try(("glass score TEXT",))


def _collapse(found: LossGradient) -> Iterator[Part]:
    """The chain rule written out: the Jacobian of softmax times the gradient of −ln."""
    yield Say(
        "It is so short because two factors cancel. −ln p_y alone has the derivative −1/p_y, which explodes when p_y "
        "is small; the Jacobian of softmax has p_y in the word's row, which vanishes as fast."
    )
    yield Formula("J · (0, …, −1/p_y, …, 0) = p − y")
    p = found.gradient.copy()
    p[found.target.id] += 1
    push = np.zeros_like(p)
    push[found.target.id] = -1 / p[found.target.id]
    # Of a large vocabulary J is not built: row i of diag(p) − p·pᵀ times push is p_i · (push_i − p·push).
    product = softmax_jacobian(p) @ push if len(p) <= MOST_TRIED else p * (push - p @ push)
    gap = float(np.abs(product - found.gradient).max())
    yield Claim(
        f"−1/p_y is {push[found.target.id]:.1f} here; the {len(p):,} × {len(p):,} Jacobian times it is p − y "
        f"({within(gap)})",
        gap < 1e-12,
    )


def _answer(room: Room) -> Iterator[Part]:
    probabilities = np.exp(log_softmax(room.loaded.model(room.ids)[:-1]))
    found = []
    for position, row in enumerate(probabilities, start=1):
        came = room.ids[position]
        gradient = row.copy()
        gradient[came] -= 1
        found.append((float(np.linalg.norm(gradient)), position, float(row[came])))
    found.sort(reverse=True)
    rows = [(room.label(position), f"{p:.3f}", f"{-math.log(p):.2f}", f"{norm:.3f}") for norm, position, p in found]
    yield Table(("word", "p", "loss", "‖p − y‖"), tuple(rows[:SHOWN]))
    yield Say(
        f"The push is longest at {room.quoted(found[0][1])}, shortest at {room.quoted(found[-1][1])} "
        f"({found[-1][0]:.3f}). It can't be longer than √2 = {math.sqrt(2):.3f}: sure of one word, and another came."
    )
    yield Claim("None is", all(norm <= math.sqrt(2) for norm, _, _ in found))
