"""Two prompts side by side: which heads look elsewhere, which predictions move, how far.

    change of a row   ½ Σ |a − b|        total variation of two patterns: the share of weight that moved
    change of a word  KL(A ‖ B)          bits lost by believing B's prediction where A's is true

Position by position this needs prompts of the same length. Of others, what is told is: the tokens both begin with
(where nothing can differ, since no token sees a later one), the tokens both end with, and the last prediction.

What carries the difference from A to B is asked by `patching`.

Source: Levin & Peres 2017, "Markov chains and mixing times", section 4.1 (total variation).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.errors import UsageError
from glasscli.generation.prompts import read_prompt
from glasscli.inspect.ablation import Part
from glasscli.inspect.dump import Token
from glasscli.inspect.predictions import Guess, guesses, kl_bits, log_softmax, tokens_of
from glasscli.inspect.runs import watch

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel


@dataclass(frozen=True)
class HeadChange:
    """How differently one head looks in the two prompts.

    Attributes:
        mean: total variation, mean over positions; `last`: at the last position.
        by_position: at each.
    """

    part: Part
    mean: float
    last: float
    by_position: tuple[float, ...]


@dataclass(frozen=True)
class Comparison:
    """Two prompts.

    Attributes:
        n_first: how many tokens both begin with.
        n_last: how many of the others both end with.
        heads: the largest mean change first; empty where lengths differ.
        kl_bits: KL(A ‖ B) of what follows each position; of prompts of different lengths for the `n_first` and, from
            the end, the `n_last` they share.
        last_kl_bits: of what follows the whole prompt.
        top_a, top_b: the likeliest tokens there.
    """

    a: tuple[Token, ...]
    b: tuple[Token, ...]
    n_first: int
    n_last: int
    heads: tuple[HeadChange, ...]
    kl_bits: tuple[float, ...]
    last_kl_bits: float
    top_a: tuple[Guess, ...]
    top_b: tuple[Guess, ...]

    @property
    def same_length(self) -> bool:
        """Whether positions can be told apart one by one."""
        return len(self.a) == len(self.b)


@dataclass(frozen=True)
class Movement:
    """Which positions a change of tokens reaches: the length of the difference of the streams, |A − B|.

    Attributes:
        changed: the positions whose tokens differ.
        whole: [layer][position], behind each layer.
        without_attention: the same in runs in which attention writes nothing into the stream: only `changed` differ.
    """

    changed: tuple[int, ...]
    whole: tuple[tuple[float, ...], ...]
    without_attention: tuple[tuple[float, ...], ...]


def compare(loaded: "LoadedModel", a: str | Sequence[int], b: str | Sequence[int], *, n_top: int = 5) -> Comparison:
    """What changes from prompt `a` to prompt `b`.

    Raises:
        UsageError: what `read_prompt` refuses.
        CheckpointError: a prediction is not finite.
    """
    ids_a, ids_b = (read_prompt(loaded, prompt).token_ids for prompt in (a, b))
    traces = [watch(loaded, ids, ("softmax", "logits")) for ids in (ids_a, ids_b)]
    logits = [trace.kept[None, "logits"] for trace in traces]
    shared = min(len(ids_a), len(ids_b))
    n_first = n_shared(ids_a, ids_b)
    n_last = min(shared - n_first, n_shared(ids_a[::-1], ids_b[::-1]))
    logprobs = [log_softmax(rows) for rows in logits]
    heads: list[HeadChange] = []
    if len(ids_a) == len(ids_b):
        bits = kl_bits(*logprobs)
        for layer in range(loaded.config.n_layers):
            moved = total_variation(*(trace.kept[layer, "softmax"] for trace in traces))
            heads += [
                HeadChange(Part(layer, head), float(row.mean()), float(row[-1]), tuple(row.tolist()))
                for head, row in enumerate(moved)
            ]
    else:
        ends = [np.concatenate([rows[:n_first], rows[len(rows) - n_last :]]) for rows in logprobs]
        bits = kl_bits(*ends)
    heads.sort(key=lambda head: (-head.mean, head.part.label))
    return Comparison(
        a=tokens_of(loaded.tokenizer, ids_a),
        b=tokens_of(loaded.tokenizer, ids_b),
        n_first=n_first,
        n_last=n_last,
        heads=tuple(heads),
        kl_bits=tuple(bits.tolist()),
        last_kl_bits=float(kl_bits(logprobs[0][-1], logprobs[1][-1])),
        top_a=guesses(loaded, logits[0][-1], n_top),
        top_b=guesses(loaded, logits[1][-1], n_top),
    )


def total_variation(a: Array, b: Array) -> Array:
    """½ Σ |a − b| along the last axis, in float64: 0 for equal patterns, 1 for patterns that share no key."""
    found: Array = np.abs(a.astype(np.float64) - b.astype(np.float64)).sum(axis=-1) / 2
    return found


def movement(loaded: "LoadedModel", a: str | Sequence[int], b: str | Sequence[int]) -> Movement:
    """How far a change of tokens spreads through the stream, with attention and without.

    Raises:
        UsageError: prompts of different lengths, or what `read_prompt` refuses.
    """
    ids_a, ids_b = same_length_ids(loaded, a, b)

    def silent(_: int | None, place: str, array: Array) -> Array:
        return np.zeros_like(array) if place in ("out", "attn_post_norm") else array

    found = []
    for edit in (None, silent):
        kept = [watch(loaded, ids, ("resid_post",), edit, last_only=True).kept for ids in (ids_a, ids_b)]
        gaps = [
            np.linalg.norm(kept[0][layer, "resid_post"].astype(np.float64) - kept[1][layer, "resid_post"], axis=-1)
            for layer in range(loaded.config.n_layers)
        ]
        found.append(tuple(tuple(row.tolist()) for row in gaps))
    changed = tuple(at for at, (x, y) in enumerate(zip(ids_a, ids_b, strict=True)) if x != y)
    return Movement(changed, *found)


def n_shared(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def same_length_ids(
    loaded: "LoadedModel", a: str | Sequence[int], b: str | Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    ids_a, ids_b = (read_prompt(loaded, prompt).token_ids for prompt in (a, b))
    if len(ids_a) != len(ids_b):
        raise UsageError(
            f"the prompts have {len(ids_a)} and {len(ids_b)} tokens; what is taken from one into the other needs the "
            "same number, so that each position has its own"
        )
    return ids_a, ids_b
