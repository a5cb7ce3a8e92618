"""Where learning starts: how the loss answers a push on each logit.

    loss = −ln p_y        ∂ loss / ∂ logit_i = p_i − y_i        y: 1 for the token that came, 0 for all others

The Jacobian of softmax and the derivative of the logarithm collapse into one difference. It is computed here, and found
again by pushing each logit up and down a little (central differences), all in float64.

Source: Bridle 1990, "Probabilistic interpretation of feedforward classification network outputs", equation 13.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array
from glasscli.errors import UsageError
from glasscli.generation.prompts import read_prompt
from glasscli.inspect.dump import Token
from glasscli.inspect.predictions import log_softmax, tokens_of
from glasscli.inspect.runs import pick_position, watch

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

STEP = 1e-4  # of a push: the error of central differences is about step² / 6, that of rounding 1e-16 / step
_AT_ONCE = 256  # logits pushed at once
MOST_TRIED, FEW_TRIED = 4096, 64


@dataclass(frozen=True)
class LossGradient:
    """The gradient of the loss at one position, with what must be true of it.

    Attributes:
        tokens: the text; `position`: whose prediction it is; `target`: the token that came next.
        loss: −ln p of the target, in nats.
        gradient: p − y, [V], float64.
        pulled: the tokens the loss pushes down hardest, as (token, gradient), largest first; the target, which it
            pulls up, is the only one below 0.
        total: Σ of the gradient: 0, since a push on all logits alike changes nothing.
        numeric_gap: the largest distance from central differences, see `most_pushed`.
    """

    tokens: tuple[Token, ...]
    position: int
    target: Token
    loss: float
    gradient: Array
    pulled: tuple[tuple[Token, float], ...]
    total: float
    numeric_gap: float

    @property
    def at_target(self) -> float:
        """p − 1 of the token that came: how hard it is pulled up."""
        return float(self.gradient[self.target.id])


def loss_gradient(
    loaded: "LoadedModel",
    text: str | Sequence[int],
    *,
    position: int = -1,
    target: Token | None = None,
    n_top: int = 5,
) -> LossGradient:
    """The gradient of −ln p(`target`) at the logits after `position`.

    Args:
        target: the token that should come (default: the text's next one, so the last position needs it said).
        n_top: how many of the tokens pushed down hardest to name.

    Raises:
        UsageError: no position or no target, or what `read_prompt` refuses.
        CheckpointError: the logits are not finite.
    """
    ids = read_prompt(loaded, text).token_ids
    at = pick_position(position, len(ids))
    if target is None and at + 1 == len(ids):
        raise UsageError("nothing follows the last token of the text: say which token should, or take an earlier one")
    tokens = tokens_of(loaded.tokenizer, ids)
    wanted = tokens[at + 1] if target is None else target
    logits_V = watch(loaded, ids, ("logits",)).kept[None, "logits"][at].astype(np.float64)
    gradient = gradient_of(logits_V, wanted.id)
    tried = most_pushed(gradient)
    numeric = central_differences(logits_V, wanted.id, only=tried)
    unused = frozenset(loaded.unused_ids)
    order = [int(i) for i in np.argsort(-gradient, kind="stable") if int(i) not in unused and int(i) != wanted.id]
    named = order[: max(n_top, 0)]
    return LossGradient(
        tokens=tokens,
        position=at,
        target=wanted,
        loss=loss_of(logits_V, wanted.id),
        gradient=gradient,
        pulled=tuple(zip(tokens_of(loaded.tokenizer, named), gradient[named].tolist(), strict=True)),
        total=float(gradient.sum()),
        numeric_gap=float(np.abs(gradient[tried] - numeric).max()),
    )


def loss_of(logits_V: Array, target: int) -> float:
    """−ln softmax(logits) at the target, in nats."""
    return -float(log_softmax(logits_V)[target])


def gradient_of(logits_V: Array, target: int) -> NDArray[np.float64]:
    """p − y, [V], in float64."""
    gradient: NDArray[np.float64] = np.exp(log_softmax(logits_V)).astype(np.float64)
    gradient[target] -= 1
    return gradient


def most_pushed(gradient_V: Array) -> NDArray[np.intp]:
    """The logits that central differences are taken of: all of up to 4,096, else those pushed hardest.

    The time that differences take grows with their number times V.
    """
    order: NDArray[np.intp] = np.argsort(-np.abs(gradient_V), kind="stable")
    return np.arange(len(gradient_V)) if len(gradient_V) <= MOST_TRIED else order[:FEW_TRIED]


def central_differences(
    logits_V: Array, target: int, step: float = STEP, only: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """(loss(logit_i + step) − loss(logit_i − step)) / 2 step for each i, [V], without the formula above.

    Args:
        only: the logits to try, in place of all; the result then has one number for each.
    """
    logits = logits_V.astype(np.float64)
    tried = np.arange(len(logits)) if only is None else only
    numeric = np.empty(len(tried))
    for first in range(0, len(tried), _AT_ONCE):
        rows = tried[first : first + _AT_ONCE]
        up, down = np.tile(logits, (len(rows), 1)), np.tile(logits, (len(rows), 1))
        up[range(len(rows)), rows] += step
        down[range(len(rows)), rows] -= step
        numeric[first : first + len(rows)] = (log_softmax(down)[:, target] - log_softmax(up)[:, target]) / (2 * step)
    return numeric
