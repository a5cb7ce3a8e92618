"""What a model would say if it stopped early: the residual stream after each half block, read as a prediction.

    logits after a place = head · final norm(stream at that place)        the norm is computed anew for each

The first row is the embedding, the last is what the model says. Between them stands, for each layer, the stream after
attention and after the MLP.

Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.generation.prompts import read_prompt
from glasscli.inspect.dump import Token
from glasscli.inspect.predictions import Guess, entropy_bits, guesses, log_softmax, ranks_of, tokens_of
from glasscli.inspect.runs import pick_position, watch
from glasscli.inspect.trace import Edit

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

STREAM_PLACES = ("resid_mid", "resid_post")


@dataclass(frozen=True)
class LensRow:
    """The stream at one place and what it would say.

    Attributes:
        layer: None for the embedding.
        place: "embedding", "resid_mid" (after attention) or "resid_post" (after the MLP).
        norm: length of the stream's vector, before the final norm.
        entropy_bits: of the whole prediction; log2 of the vocabulary's size where it knows nothing.
        top: the likeliest tokens.
        watched: the token that was asked about, as likely as it is here.
        rank: its rank.
    """

    layer: int | None
    place: str
    norm: float
    entropy_bits: float
    top: tuple[Guess, ...]
    watched: Guess | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Lens:
    """The stream behind one position, from the embedding to the last layer.

    Attributes:
        tokens: the prompt.
        position: which of its tokens the prediction follows.
    """

    tokens: tuple[Token, ...]
    position: int
    rows: tuple[LensRow, ...]


def read_lens(
    loaded: "LoadedModel",
    prompt: str | Sequence[int],
    positions: Sequence[int] = (-1,),
    *,
    token: Token | None = None,
    n_top: int = 5,
    edit: Edit | None = None,
) -> tuple[Lens, ...]:
    """What each layer would say after `positions` of a prompt (negative ones count from the end).

    Args:
        token: a token to watch, see `predictions.one_token`; None for none.
        n_top: how many of the likeliest tokens to tell.
        edit: changes the run, see `Trace`.

    Raises:
        UsageError: a position that the prompt doesn't have, or what `read_prompt` refuses.
        CheckpointError: a prediction is not finite.
    """
    ids = read_prompt(loaded, prompt).token_ids
    places = [pick_position(position, len(ids)) for position in positions]
    trace = watch(loaded, ids, ("embedding", *STREAM_PLACES), edit)
    tokens = tokens_of(loaded.tokenizer, ids)
    streams = [(None, "embedding"), *((i, place) for i in range(loaded.config.n_layers) for place in STREAM_PLACES)]
    found: list[list[LensRow]] = [[] for _ in places]
    for layer, place in streams:
        x_TD = trace.kept[layer, place][places]
        for rows, x_D, logits_V in zip(found, x_TD, loaded.model.logits(x_TD), strict=True):
            rows.append(_row(loaded, layer, place, x_D, logits_V, token, n_top))
    return tuple(Lens(tokens, at, tuple(rows)) for at, rows in zip(places, found, strict=True))


def _row(
    loaded: "LoadedModel", layer: int | None, place: str, x_D: Array, logits_V: Array, token: Token | None, n_top: int
) -> LensRow:
    logprobs = log_softmax(logits_V)
    return LensRow(
        layer=layer,
        place=place,
        norm=float(np.linalg.norm(x_D.astype(np.float64))),
        entropy_bits=float(entropy_bits(logprobs)),
        top=guesses(loaded, logits_V, n_top),
        watched=None if token is None else Guess(token, float(logprobs[token.id])),
        rank=None if token is None else ranks_of(logits_V[None], [token.id])[0],
    )
