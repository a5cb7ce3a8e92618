"""What a row of logits says, in float64: probabilities, ranks, the likeliest tokens, how far two rows differ.

The measures that scoring, lens, ablation and comparison share. A row is the raw model's: temperature 1, no filter.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.errors import CheckpointError, UsageError
from glasscli.inspect.dump import Token, token_of

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel
    from glasscli.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True)
class Guess:
    """One token that a model may say next, and how likely it holds it."""

    token: Token
    logprob: float

    @property
    def p(self) -> float:
        """Its probability."""
        return math.exp(self.logprob)


def log_softmax(logits: Array) -> Array:
    """ln softmax along the last axis, in float64, whatever `logits` are.

    Raises:
        CheckpointError: a logit is not a finite number.
    """
    if not np.isfinite(logits).all():
        raise CheckpointError("the model's logits hold NaN or infinity; its weights may be damaged")
    centred = logits.astype(np.float64)
    centred -= centred.max(axis=-1, keepdims=True)
    centred -= np.log(np.exp(centred).sum(axis=-1, keepdims=True))
    return centred


def entropy_bits(logprobs: Array) -> Array:
    """−Σ p·log2 p along the last axis."""
    return np.maximum(0.0, -(np.exp(logprobs) * logprobs).sum(axis=-1) / math.log(2))


def kl_bits(logprobs: Array, others: Array) -> Array:
    """KL(p ‖ q) = Σ p·log2(p/q) along the last axis: the bits lost by believing `others` where `logprobs` is true.

    Source: Kullback & Leibler 1951, equation 2.4.
    """
    return np.maximum(0.0, (np.exp(logprobs) * (logprobs - others)).sum(axis=-1) / math.log(2))


def ranks_of(logits_TV: Array, token_ids: Sequence[int]) -> list[int]:
    """For each row the rank of one token: 1 + how many are likelier. Equals share a rank."""
    own = logits_TV[range(len(token_ids)), token_ids]
    ranks: list[int] = (1 + np.count_nonzero(logits_TV > own[:, None], axis=1)).tolist()
    return ranks


def guesses(loaded: "LoadedModel", logits_V: Array, n: int) -> tuple[Guess, ...]:
    """The `n` likeliest tokens, best first; of equals the lower id first. Rows that are no token are left out."""
    return guesses_of_rows(loaded, log_softmax(logits_V)[None], n)[0]


def guesses_of_rows(loaded: "LoadedModel", logprobs_TV: Array, n: int) -> list[tuple[Guess, ...]]:
    """The same for each row of ln p."""
    n = min(n, logprobs_TV.shape[1] - len(loaded.unused_ids))
    if n < 1:
        return [()] * len(logprobs_TV)
    if loaded.unused_ids:
        logprobs_TV = logprobs_TV.copy()
        logprobs_TV[:, loaded.unused_ids] = -np.inf
    found = []
    for row, least in zip(logprobs_TV, np.partition(logprobs_TV, -n, axis=1)[:, -n], strict=True):
        ids = np.flatnonzero(row >= least)
        ids = ids[np.argsort(-row[ids], kind="stable")[:n]]
        found.append((ids.tolist(), row[ids].tolist()))
    tokens = {token_id: token_of(loaded.tokenizer, token_id) for ids, _ in found for token_id in ids}
    return [tuple(Guess(tokens[i], logprob) for i, logprob in zip(*pair, strict=True)) for pair in found]


def tokens_of(tokenizer: "Tokenizer", token_ids: Sequence[int]) -> tuple[Token, ...]:
    """Token ids with their bytes."""
    return tuple(token_of(tokenizer, token_id) for token_id in token_ids)


def one_token(loaded: "LoadedModel", text: str | int) -> Token:
    """The one token that a text is in mid-sentence, or that has this id.

    A word there opens with its space: "Lily" is taken as " Lily" if that is one token, else as it stands. The token
    without the space, which most tokenizers have too, is named by its id.

    Raises:
        UsageError: several tokens, none, or an id that is none.
    """
    if isinstance(text, int):
        loaded.check_ids([text])
        return token_of(loaded.tokenizer, text)
    for spelled in (text,) if text[:1].isspace() else (f" {text}", text):
        ids = loaded.encode(spelled, parse_special=True)
        marks = loaded.tokenizer.special_ids
        if len(ids) > 1 and ids[0] in marks:  # what the tokenizer puts in front of a text
            ids = ids[1:]
        if len(ids) == 1:
            return token_of(loaded.tokenizer, ids[0])
    pieces = " ".join(loaded.tokenizer.label(token_id) for token_id in loaded.encode(text)[-8:])
    raise UsageError(f"{text!r} is not one token of this model ({pieces}); give a word that is, or a token's id")
