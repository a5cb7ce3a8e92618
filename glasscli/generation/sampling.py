"""From logits to one token: biases, penalties, temperature, three filters, one draw.

Last stop but one of a step: logits in, a `Pick` out. The stages and their order are those of Hugging Face's
`generate`: biases of tokens, repetition penalty, temperature, top-k, top-p, min-p, renormalise, draw; OpenAI's two
penalties, which it lacks, stand where vLLM has them, behind the repetition penalty. (llama.cpp and mlx-lm apply the
temperature last, so the same settings keep other tokens there.) Knows nothing of models or text, and holds no random
state: the caller brings one number `u` a token.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from glasscli.arrays import Array
from glasscli.config.writing import WritingDefaults
from glasscli.errors import GlassError, UsageError
from glasscli.generation.filters import ban, bias, keep_min_p, keep_top_k, keep_top_p, penalize, penalize_counts
from glasscli.generation.raw_model import figures

# float32 logits around 10 are 1e-6 apart: below this, a temperature can only tell exact ties from the rest.
GREEDY_BELOW = 1e-6


class NumbersError(GlassError):
    """Logits that are NaN or infinite."""


@dataclass(frozen=True)
class SamplingParams:
    """How to choose a token. Checked when made: `UsageError` says what is out of range.

    Args:
        temperature: divides the logits. 0, or anything below 1e-6, is greedy: the most likely token, of equals
            the one with the lowest id.
        top_k: keep the k most likely tokens and all that tie with the k-th. 0 keeps all.
        top_p: keep the fewest tokens whose probabilities sum to top_p. 1 keeps all, 0 the best alone.
        min_p: drop tokens less likely than min_p times the best one. 0 keeps all.
        repetition_penalty: divide the positive logits of tokens that were seen, multiply the negative ones
            (Keskar et al. 2019, arXiv:1909.05858, section 4.1, as Hugging Face mended it). Tokens of the prompt count.
            1 changes nothing.
        frequency_penalty: taken from the logit of a token once for each time it was written. 0 changes nothing.
        presence_penalty: taken once from every token that was written, however often. As OpenAI and vLLM have the
            two, tokens of the prompt don't count (in llama.cpp they do). 0 changes nothing.
        logit_bias: what is added to the logits of single tokens, by id; -inf forbids one.
    """

    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 0.95
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    logit_bias: Mapping[int, float] = field(default_factory=dict, hash=False)  # so that settings can be keys

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise UsageError(f"temperature is {self.temperature}; expected a finite number, 0 (greedy) or more")
        if self.top_k < 0:
            raise UsageError(f"top-k is {self.top_k}; expected 0 (all tokens) or more")
        if not 0 <= self.top_p <= 1:
            raise UsageError(f"top-p is {self.top_p}; expected 0 to 1 (1 keeps all tokens)")
        if not 0 <= self.min_p <= 1:
            raise UsageError(f"min-p is {self.min_p}; expected 0 to 1 (0 keeps all tokens)")
        if not 0 < self.repetition_penalty < math.inf:
            raise UsageError(
                f"repetition penalty is {self.repetition_penalty}; expected a finite number above 0 (1 is off)"
            )
        for name, value in (("frequency", self.frequency_penalty), ("presence", self.presence_penalty)):
            if not math.isfinite(value):
                raise UsageError(f"{name} penalty is {value}; expected a finite number (0 is off)")
        for token_id, value in self.logit_bias.items():
            if not value < math.inf:
                raise UsageError(f"the bias of token {token_id} is {value}; expected a finite number, or -inf")

    @classmethod
    def of(
        cls,
        defaults: WritingDefaults,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        frequency_penalty: float = 0.0,
        presence_penalty: float = 0.0,
        logit_bias: Mapping[int, float] | None = None,
    ) -> "SamplingParams":
        """What is given here, and a model's `defaults` for the rest.

        A temperature of 0 that is given asks for the likeliest token and nothing else: a model's repetition penalty,
        which is for drawing, is then left out.
        """
        if temperature is not None and abs(temperature) < GREEDY_BELOW and repetition_penalty is None:
            repetition_penalty = 1.0
        return cls(
            defaults.temperature if temperature is None else temperature,
            defaults.top_k if top_k is None else top_k,
            defaults.top_p if top_p is None else top_p,
            defaults.min_p if min_p is None else min_p,
            defaults.repetition_penalty if repetition_penalty is None else repetition_penalty,
            frequency_penalty,
            presence_penalty,
            logit_bias or {},
        )

    @property
    def greedy(self) -> bool:
        """Whether the most likely token is taken without a draw."""
        return self.temperature < GREEDY_BELOW


@dataclass(frozen=True, slots=True)
class Pick:
    """A chosen token and how likely it was.

    `logprob`, `rank` (1 + how many tokens are likelier) and `entropy_bits` describe the raw model: temperature 1,
    no penalty, no filter. `p_sampled` is the token's share among the `n_kept` tokens that every stage kept.
    """

    token_id: int
    logprob: float
    p_sampled: float
    rank: int
    entropy_bits: float
    n_kept: int


def pick(
    logits_V: Array,
    params: SamplingParams,
    seen_ids: Sequence[int] = (),
    u: float = 0.0,
    banned_ids: Sequence[int] = (),
    written_ids: Sequence[int] = (),
) -> Pick:
    """Choose the next token.

    Args:
        logits_V: finite scores of every token, as the model gave them.
        seen_ids: tokens of the prompt and the text so far, for the repetition penalty.
        u: a uniform number in [0, 1); unused when greedy.
        banned_ids: tokens that must not be chosen. They still count for the raw model's numbers.
        written_ids: tokens of the text so far, each as often as it stands there, for the two other penalties.

    Raises:
        NumbersError: a logit is not finite.
        GlassError: nothing is left to choose.
    """
    raw = logits_V.astype(np.float64)
    if not np.isfinite(raw).all():
        raise NumbersError(f"{np.count_nonzero(~np.isfinite(raw))} of {raw.size} logits are not finite numbers")
    if params.greedy:
        scores = changed(raw, params, seen_ids, banned_ids, written_ids)
        token_id, p_sampled, n_kept = int(scores.argmax()), 1.0, 1
    else:
        weights = kept_weights(raw, params, seen_ids, banned_ids, written_ids)
        token_id, p_sampled, n_kept = draw(weights, u)
    logprob, rank, entropy_bits = figures(raw, token_id)
    return Pick(token_id, logprob, p_sampled, rank, entropy_bits, n_kept)


def changed(
    raw: Array,
    params: SamplingParams,
    seen_ids: Sequence[int],
    banned_ids: Sequence[int],
    written_ids: Sequence[int],
) -> Array:
    """The logits [V] behind biases and penalties, -inf for what must not be chosen; `raw` itself if nothing is on."""
    scores = bias(raw, params.logit_bias)
    scores = penalize(scores, seen_ids, params.repetition_penalty)
    scores = penalize_counts(scores, written_ids, params.frequency_penalty, params.presence_penalty)
    forbidden = [token_id for token_id, value in params.logit_bias.items() if value == -math.inf]
    return ban(scores, (*banned_ids, *forbidden))


def kept_weights(
    raw: Array,
    params: SamplingParams,
    seen_ids: Sequence[int] = (),
    banned_ids: Sequence[int] = (),
    written_ids: Sequence[int] = (),
) -> Array:
    """What is drawn from: unnormalised probabilities [V], the best 1, tokens dropped by a stage 0."""
    for _, weights in stages(raw, params, seen_ids, banned_ids, written_ids):  # noqa: B007
        pass
    return weights


def stages(
    raw: Array,
    params: SamplingParams,
    seen_ids: Sequence[int] = (),
    banned_ids: Sequence[int] = (),
    written_ids: Sequence[int] = (),
) -> Iterator[tuple[str, Array]]:
    """Every stage that is on, from temperature to the last filter, with the weights [V] it leaves.

    It is one array, changed in place: look at it before asking for the next stage.
    """
    scores = changed(raw, params, seen_ids, banned_ids, written_ids)
    with np.errstate(over="ignore"):
        # The best is taken away before dividing, so that a tiny temperature gives exp(-inf) = 0, never inf - inf.
        weights = np.exp((scores - scores.max()) / params.temperature)
    yield "temperature", weights
    if 0 < params.top_k < weights.size:
        keep_top_k(weights, params.top_k)
        yield "top_k", weights
    if params.top_p < 1:
        keep_top_p(weights, params.top_p)
        yield "top_p", weights
    if params.min_p > 0:
        keep_min_p(weights, params.min_p)
        yield "min_p", weights


def kept_by_stage(
    logits_V: Array,
    params: SamplingParams,
    seen_ids: Sequence[int] = (),
    banned_ids: Sequence[int] = (),
    written_ids: Sequence[int] = (),
) -> dict[str, int]:
    """How many tokens each filter that is on has left, in order; nothing when greedy."""
    if params.greedy:
        return {}
    found = stages(logits_V.astype(np.float64), params, seen_ids, banned_ids, written_ids)
    counts = {name: int(np.count_nonzero(weights)) for name, weights in found}
    return {name: count for name, count in counts.items() if name != "temperature"}


def draw(weights: Array, u: float) -> tuple[int, float, int]:
    """The token at which the running sum of `weights` [V], in order of ids, passes the share u of the whole.

    In order of ids, not of weights: a rounding difference in the logits then moves the borders a little, but
    never makes two tokens change places.

    Returns:
        the token, its share of the whole, and how many weights are above 0.
    """
    kept = weights.nonzero()[0]
    shares = weights[kept]
    mass = shares.cumsum()
    place = min(int(mass.searchsorted(u * mass[-1], side="right")), kept.size - 1)
    return int(kept[place]), float(shares[place] / mass[-1]), kept.size
