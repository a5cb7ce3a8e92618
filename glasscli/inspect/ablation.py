"""What a part of the model is needed for: set a head or an MLP to zero, or to its mean, and see what changes.

A head is taken out where its mixed values enter the output matrix, an MLP where its result enters the stream. Zero
asks what happens without it; its mean asks what happens when it no longer tells one place from another, which leaves
what later layers have come to expect of it. A high weight in a pattern is no proof of cause; this is one.

Source: Michel et al. 2019, arXiv:1905.10650 (heads removed one at a time); Wang et al. 2022, arXiv:2211.00593,
section 2.1 (zero and mean ablation).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.config.model_config import ModelConfig
from glasscli.errors import UsageError
from glasscli.generation.prompts import read_prompt
from glasscli.inspect.dump import Token
from glasscli.inspect.predictions import Guess, guesses, kl_bits, log_softmax, tokens_of
from glasscli.inspect.repeats import repeated_pairs, repeated_words
from glasscli.inspect.runs import last_logits, watch
from glasscli.inspect.scoring import TextScore, score_text
from glasscli.inspect.trace import Edit
from glasscli.progress import Progress, told

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

METHODS = ("zero", "mean")


@dataclass(frozen=True, order=True)
class Part:
    """A head of a layer, or its MLP where `head` is None."""

    layer: int
    head: int | None = None

    @property
    def label(self) -> str:
        """`3.2`, or `mlp 3`."""
        return f"mlp {self.layer}" if self.head is None else f"{self.layer}.{self.head}"

    @property
    def place(self) -> str:
        """Where it is taken out, see `model.places`."""
        return "down" if self.head is None else "mix"


@dataclass(frozen=True)
class PromptEffect:
    """What the next token becomes without one part.

    Attributes:
        watched: the token that was asked about, as likely as it is now.
        top: the likeliest tokens now.
        kl_bits: KL(whole model ‖ without the part), over the next token.
    """

    part: Part
    watched: Guess
    top: tuple[Guess, ...]
    kl_bits: float


@dataclass(frozen=True)
class PromptAblation:
    """Every part of a model taken out of one prompt, one at a time, largest KL first.

    Attributes:
        whole: the watched token, as likely as the whole model holds it.
        top: the whole model's likeliest tokens.
    """

    tokens: tuple[Token, ...]
    method: str
    whole: Guess
    top: tuple[Guess, ...]
    effects: tuple[PromptEffect, ...]


@dataclass(frozen=True)
class TextEffect:
    """How much worse a text is foreseen without one part, in nats per token: positive where the part helps.

    Attributes:
        delta: over all tokens.
        on_words: over tokens of words that the text has used before; None where there are none.
        on_pairs: over tokens that followed the same token before: what an induction head can know.
    """

    part: Part
    delta: float
    on_words: float | None
    on_pairs: float | None


@dataclass(frozen=True)
class TextAblation:
    """Every part taken out of one text, one at a time, largest change first.

    Attributes:
        score: of the whole model.
        n_words, n_pairs: how many tokens `on_words` and `on_pairs` are means over.
    """

    score: TextScore
    method: str
    n_words: int
    n_pairs: int
    effects: tuple[TextEffect, ...]


def all_parts(config: ModelConfig) -> tuple[Part, ...]:
    """The heads of each layer, then its MLP."""
    return tuple(Part(layer, head) for layer in range(config.n_layers) for head in (*range(config.n_heads), None))


def check_part(part: Part, config: ModelConfig) -> None:
    """See that the model has it.

    Raises:
        UsageError: it has not.
    """
    if not 0 <= part.layer < config.n_layers:
        raise UsageError(f"there is no layer {part.layer}: this model has layers 0 to {config.n_layers - 1}")
    if part.head is not None and not 0 <= part.head < config.n_heads:
        raise UsageError(f"there is no head {part.label}: a layer of this model has heads 0 to {config.n_heads - 1}")


def remove(parts: Sequence[Part], means: Mapping[Part, Array] | None = None) -> Edit:
    """The edit of a run that takes `parts` out, for `Trace` and all that takes an edit.

    Args:
        means: what to put in their place, [E] of a head or [D] of an MLP, see `mean_outputs`; None for zeros.
    """
    wanted: dict[tuple[int, str], list[Part]] = {}
    for part in parts:
        wanted.setdefault((part.layer, part.place), []).append(part)

    def edit(layer: int | None, place: str, array: Array) -> Array:
        if layer is None or (layer, place) not in wanted:
            return array
        array = array.copy()
        for part in wanted[layer, place]:
            value: Array | float = 0.0 if means is None else means[part]
            if part.head is None:
                array[:] = value
            else:
                array[part.head] = value
        return array

    return edit


def mean_outputs(loaded: "LoadedModel", ids: Sequence[int], parts: Sequence[Part]) -> dict[Part, Array]:
    """What each part gives on average over the tokens of `ids`: [E] of a head, [D] of an MLP."""
    trace = watch(loaded, ids[: loaded.config.max_seq_len], ("mix", "down"), last_only=True)
    outputs = {part: trace.kept[part.layer, part.place] for part in parts}
    return {
        part: (array if part.head is None else array[part.head]).mean(axis=0, dtype=np.float64)
        for part, array in outputs.items()
    }


def ablate_prompt(
    loaded: "LoadedModel",
    prompt: str | Sequence[int],
    *,
    token: Token | None = None,
    method: str = "zero",
    parts: Sequence[Part] | None = None,
    n_top: int = 3,
    progress: Progress | None = None,
) -> PromptAblation:
    """Take each part out and see what the next token becomes.

    Args:
        token: the token to watch (default: the whole model's likeliest).
        method: "zero", or "mean" over the tokens of the prompt.
        parts: which (default: every head and MLP).
        progress: hears how many are done.

    Raises:
        UsageError: an unknown method or part, or what `read_prompt` refuses.
    """
    ids = read_prompt(loaded, prompt).token_ids
    parts, means = _prepare(loaded, ids, method, parts)
    logits_V = loaded.model(ids, last_only=True)[-1]
    whole, top = log_softmax(logits_V), guesses(loaded, logits_V, max(n_top, 1))
    watched = top[0].token if token is None else token
    effects = []
    for part in told(parts, "parts taken out", progress):
        changed_V = last_logits(loaded, ids, remove([part], means))
        logprobs = log_softmax(changed_V)
        guess = Guess(watched, float(logprobs[watched.id]))
        effects.append(PromptEffect(part, guess, guesses(loaded, changed_V, n_top), float(kl_bits(whole, logprobs))))
    effects.sort(key=lambda effect: (-effect.kl_bits, effect.part.label))
    tokens = tokens_of(loaded.tokenizer, ids)
    return PromptAblation(tokens, method, Guess(watched, float(whole[watched.id])), top[:n_top], tuple(effects))


def ablate_text(
    loaded: "LoadedModel",
    text: str | Sequence[int],
    *,
    method: str = "zero",
    parts: Sequence[Part] | None = None,
    context: int | None = None,
    progress: Progress | None = None,
) -> TextAblation:
    """Take each part out and see how much worse the text is foreseen.

    Args:
        method: "zero", or "mean" over the tokens of the text, up to the length of the context.
        parts: which (default: every head and MLP).
        context: as in `scoring.score_text`.
        progress: hears how many are done.

    Raises:
        UsageError, CheckpointError: as `score_text`; an unknown method or part.
    """
    ids = loaded.encode(text) if isinstance(text, str) else list(text)
    loaded.check_ids(ids)
    parts, means = _prepare(loaded, ids, method, parts)
    whole = score_text(loaded, text, context=context)
    words, pairs = repeated_words(loaded.tokenizer, ids)[1:], repeated_pairs(ids)[1:]
    effects = []
    for part in told(parts, "parts taken out", progress):
        changed = score_text(loaded, text, context=context, edit=remove([part], means))
        losses = [a.logprob - b.logprob for a, b in zip(whole.tokens, changed.tokens, strict=True)]
        on_words, on_pairs = (
            _mean([loss for loss, counts in zip(losses, mask, strict=True) if counts]) for mask in (words, pairs)
        )
        effects.append(TextEffect(part, _mean(losses) or 0.0, on_words, on_pairs))
    effects.sort(key=lambda effect: (-abs(effect.delta), effect.part.label))
    return TextAblation(whole, method, sum(words), sum(pairs), tuple(effects))


def _prepare(
    loaded: "LoadedModel", ids: Sequence[int], method: str, parts: Sequence[Part] | None
) -> tuple[tuple[Part, ...], dict[Part, Array] | None]:
    if method not in METHODS:
        raise UsageError(f"no ablation {method!r}. There are: {', '.join(METHODS)}.")
    chosen = all_parts(loaded.config) if parts is None else tuple(parts)
    for part in chosen:
        check_part(part, loaded.config)
    return chosen, mean_outputs(loaded, ids, chosen) if method == "mean" else None


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
