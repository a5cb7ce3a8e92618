"""One text in the making: logits in, `Step` objects out, until there is a reason to stop.

Last stop of a step: it chooses the token, turns it into text, and knows why and when to end. It neither runs the
model nor prints; whoever holds the cache (`generate`, `batch`) brings the logits.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from glasscli.arrays import Array
from glasscli.errors import UsageError
from glasscli.generation.raw_model import top_alternatives
from glasscli.generation.sampling import SamplingParams, kept_by_stage, pick
from glasscli.generation.stopping import StopText

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel


@dataclass(frozen=True, slots=True)
class Step:
    """One token that was written.

    Attributes:
        index: 0 for the first new token.
        token_id: the token.
        text: what can be shown now. Empty while a character is incomplete or a stop string may be beginning; the
            texts of all steps joined are the whole text.
        logprob, rank, entropy_bits: of the raw model (temperature 1, no penalty, no filter), natural logarithm.
        p_sampled: the token's probability after all stages of the sampler, among the `n_kept` that were left.
        top: the likeliest tokens of the raw model as (id, logprob), if any were asked for.
        kept: how many tokens each filter that is on had left ("top_k", "top_p", "min_p"), if `top` was asked for.
        finish_reason: set on the last step: "eos", "stop" (a stop string or a stop token), "length" (as many tokens
            as asked for) or "context" (the context is full).
    """

    index: int
    token_id: int
    text: str
    logprob: float
    p_sampled: float
    rank: int
    entropy_bits: float
    n_kept: int
    top: tuple[tuple[int, float], ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)
    finish_reason: str | None = None

    @property
    def surprise_bits(self) -> float:
        """How unexpected the token was to the raw model: −log2 of its probability."""
        return -self.logprob / math.log(2)


@dataclass(frozen=True)
class Ending:
    """When to stop. Checked when made.

    Args:
        max_new_tokens: after so many tokens.
        room: after so many, because the context is full.
        stop: before any of these texts.
        ignore_eos: not at an end-of-text token: none is ever chosen.
        stop_tokens: at any of these tokens too, which like an end-of-text token have no part in the text.
    """

    max_new_tokens: int
    room: int
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    stop_tokens: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.max_new_tokens < 0:
            raise UsageError(f"{self.max_new_tokens} tokens asked for; expected 0 or more")


class Continuation:
    """The state of one text: its random stream, its tokens, what is held back.

    Attributes:
        params, ending: how tokens are chosen, and when it stops.
        token_ids: the tokens written so far.
        text: what may be shown so far.
        finish_reason: None while the text goes on; see `Step`, and "interrupted".
        stop_string, stop_token: the stop string or the stop token that ended it.
        logprob_sum: of all tokens written.
    """

    def __init__(
        self,
        loaded: "LoadedModel",
        prompt_ids: Sequence[int],
        params: SamplingParams,
        seed: int,
        ending: Ending,
        n_top: int = 0,
    ) -> None:
        """`n_top` is how many of the likeliest tokens each step tells."""
        if n_top < 0:
            raise UsageError(f"{n_top} alternatives asked for; expected 0 or more")
        self.params, self.ending, self.token_ids, self.text = params, ending, list[int](), ""
        self.logprob_sum = 0.0
        self.stop_string: str | None = None
        self.stop_token: int | None = None
        self._random = random.Random(seed)
        # A prompt given as ids may hold rows of the embedding that are no token: they have no text and can't be chosen.
        unused = frozenset(loaded.unused_ids)
        self._seen = [token_id for token_id in prompt_ids if token_id not in unused]
        # The last tokens of the prompt tell the decoder that it stands in mid-text, perhaps in mid-character.
        self._decoder, self._stops = loaded.tokenizer.stream(after=self._seen[-8:]), StopText(ending.stop)
        self._eos = frozenset(loaded.config.eos_ids)
        self._n_real, holes = _real_rows(loaded.config.vocab_size, loaded.unused_ids)
        self._banned = (*holes, *self._eos) if ending.ignore_eos else holes
        self._n_top = n_top
        self.finish_reason: str | None = self._reason()

    @property
    def most_tokens(self) -> int:
        """How many tokens there can be at most."""
        return min(self.ending.max_new_tokens, self.ending.room)

    @property
    def perplexity(self) -> float | None:
        """exp of the mean surprise of the tokens written, to the raw model; None while there are none."""
        return math.exp(-self.logprob_sum / len(self.token_ids)) if self.token_ids else None

    def take(self, logits_V: Array) -> Step:
        """Choose the next token from the model's logits [V]; rows past the tokenizer's last token are left out.

        Raises:
            GlassError: the logits are not finite numbers.
        """
        logits = logits_V[: self._n_real]
        u = 0.0 if self.params.greedy else self._random.random()
        chosen = pick(logits, self.params, self._seen, u, self._banned, self.token_ids)
        kept = kept_by_stage(logits, self.params, self._seen, self._banned, self.token_ids) if self._n_top else {}
        self.token_ids.append(chosen.token_id)
        self._seen.append(chosen.token_id)
        self.logprob_sum += chosen.logprob
        text = self._text(chosen.token_id)
        self.text += text
        return Step(
            index=len(self.token_ids) - 1,
            token_id=chosen.token_id,
            text=text,
            logprob=chosen.logprob,
            p_sampled=chosen.p_sampled,
            rank=chosen.rank,
            entropy_bits=chosen.entropy_bits,
            n_kept=chosen.n_kept,
            top=top_alternatives(logits, self._n_top) if self._n_top else (),
            kept=kept,
            finish_reason=self.finish_reason,
        )

    def interrupt(self) -> str:
        """End the text here. Returns what was held back."""
        rest = "" if self.finish_reason else self._flush()
        self.text += rest
        self.finish_reason = self.finish_reason or "interrupted"
        return rest

    def _text(self, token_id: int) -> str:
        """The text that `token_id` lets out; sets `finish_reason` if it is the last."""
        if token_id in self._eos:
            self.finish_reason = "eos"
            return self._flush()
        if token_id in self.ending.stop_tokens:
            self.finish_reason, self.stop_token = "stop", token_id
            return self._flush()
        text = self._stops.push(self._decoder.push(token_id))
        if self._stops.matched is None:
            self.finish_reason = self._reason()
            text += self._flush() if self.finish_reason else ""
        if self._stops.matched is not None:
            self.finish_reason, self.stop_string = "stop", self._stops.matched
        return text

    def _reason(self) -> str | None:
        if len(self.token_ids) >= self.ending.max_new_tokens:
            return "length"
        return "context" if len(self.token_ids) >= self.ending.room else None

    def _flush(self) -> str:
        text = self._stops.push(self._decoder.finish())
        return text + self._stops.finish()


def _real_rows(n_rows: int, unused_ids: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """How many rows there are up to the last token, and the unused ids among them."""
    unused = set(unused_ids)
    while n_rows - 1 in unused:
        n_rows -= 1
    return n_rows, tuple(i for i in unused_ids if i < n_rows)
