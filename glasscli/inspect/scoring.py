"""How well a model predicts a text that is given: p, rank and bits of each token, and the sums over all.

    nats per token  = −Σ ln p / tokens scored        perplexity    = e^(nats per token)
    bits per byte   = −Σ log2 p / bytes of the text  (compares models whose tokenizers differ)

A text longer than the context is read in windows that share half of it, or as much as is asked for: each token is
scored once, and after the first window with at least that much before it. A corpus is told story by story, see
`score_stories`.

Source: Gao et al. 2020, arXiv:2101.00027, section 3.1 (bits per byte).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.errors import UsageError
from glasscli.inspect.dump import Token, check_size
from glasscli.inspect.predictions import Guess, guesses_of_rows, log_softmax, ranks_of, tokens_of
from glasscli.inspect.trace import Edit, Trace
from glasscli.progress import Progress

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

CHUNK = 256  # tokens whose logits are held at once
MAX_LOGPROBS = 2**22  # numbers in float64 beside them: 32 MiB


@dataclass(frozen=True)
class ScoredToken:
    """One token of the text, as the model foresaw it.

    Attributes:
        position: in its text or story, 0 for the opening token.
        text: in which story, 0 for the first.
        logprob: ln of its probability.
        rank: 1 if it was the likeliest.
        top: the likeliest tokens in its place.
        window: which window it was read in, 0 for the first.
    """

    position: int
    token: Token
    logprob: float
    rank: int
    top: tuple[Guess, ...] = ()
    window: int = 0
    text: int = 0

    @property
    def p(self) -> float:
        """Its probability."""
        return math.exp(self.logprob)

    @property
    def bits(self) -> float:
        """How unexpected it was: −log2 p."""
        return -self.logprob / math.log(2)


@dataclass(frozen=True)
class TextScore:
    """A text, or a corpus of them, scored.

    Attributes:
        opening: the first token of each text, which nothing comes before and so nothing predicts.
        tokens: all others, in order.
        n_bytes: UTF-8 bytes of what was scored; marks have none.
        n_texts: 1, or how many stories.
        context: how many tokens a prediction could see at most.
        stride: how far each window moves on.
    """

    opening: tuple[Token, ...]
    tokens: tuple[ScoredToken, ...]
    n_bytes: int
    n_texts: int
    context: int
    stride: int

    @property
    def nats(self) -> float:
        """−Σ ln p."""
        return -math.fsum(token.logprob for token in self.tokens)

    @property
    def nats_per_token(self) -> float:
        """The mean of −ln p: what other programs call the loss."""
        return self.nats / len(self.tokens)

    @property
    def perplexity(self) -> float:
        """e to the nats per token: among how many equally likely tokens it was a guess, so to say. ∞ past 10^308."""
        return math.exp(self.nats_per_token) if self.nats_per_token < 709 else math.inf

    @property
    def bits_per_byte(self) -> float | None:
        """−Σ log2 p over the bytes; None where there are none."""
        return self.nats / math.log(2) / self.n_bytes if self.n_bytes else None

    @property
    def top1_share(self) -> float:
        """Share of tokens that were the model's likeliest."""
        return sum(token.rank == 1 for token in self.tokens) / len(self.tokens)


@dataclass(frozen=True)
class Window:
    """Tokens `start` to `stop` − 1 are read; those after position `done` are scored, up to position `stop`."""

    start: int
    stop: int
    done: int


def cut_windows(n_tokens: int, context: int, stride: int | None = None) -> Iterator[Window]:
    """Windows over a text of `n_tokens`, each of at most `context`; each token but the first is scored once.

    Args:
        stride: how far each window moves on (default: half the context, rounded up).
    """
    start = done = 0
    while done < n_tokens - 1:
        stop = min(start + context, n_tokens - 1)
        yield Window(start, stop, done)
        start, done = start + (stride or context - context // 2), stop


def score_text(
    loaded: "LoadedModel",
    text: str | Sequence[int],
    *,
    context: int | None = None,
    stride: int | None = None,
    n_top: int = 0,
    edit: Edit | None = None,
    progress: Progress | None = None,
) -> TextScore:
    """Score every token of `text` (or of token ids) but the first, which nothing predicts.

    A tokenizer that puts a mark in front makes that mark the first, so that all of the text is scored.

    Args:
        context: tokens a window reads (default: as many as the model was trained for).
        stride: how far each window moves on, 1 to `context` (default: half of it).
        n_top: how many of the likeliest tokens to tell at each place.
        edit: changes the run, see `Trace`; such as an ablation.
        progress: is told how many bytes of the text are scored.

    Raises:
        UsageError: fewer than two tokens, a context the model doesn't have, or a stride past it.
        CheckpointError: a logit is not a finite number.
    """
    ids = loaded.encode(text) if isinstance(text, str) else list(text)
    loaded.check_ids(ids)
    shown = text if isinstance(text, str) else loaded.tokenizer.decode(ids)
    if len(ids) < 2:
        raise UsageError(f"{len(ids)} token: there is nothing to score, since nothing predicts the first one")
    n_bytes = len(shown.encode())
    if ids[0] not in loaded.tokenizer.special_ids:
        n_bytes -= len(loaded.tokenizer.piece_bytes(ids[0], True))
    reading = _reading(loaded, context, stride)
    tokens: list[ScoredToken] = []
    with _telling(progress, n_bytes) as tell:
        for token in _score(loaded, ids, reading, n_top, edit):
            tokens.append(token)
            tell(n_bytes * len(tokens) // len(ids))
    return TextScore(tokens_of(loaded.tokenizer, ids[:1]), tuple(tokens), n_bytes, 1, *reading)


def score_stories(
    loaded: "LoadedModel",
    corpus: str,
    *,
    context: int | None = None,
    stride: int | None = None,
    n_top: int = 0,
    edit: Edit | None = None,
    progress: Progress | None = None,
) -> TextScore:
    """Score a corpus whose stories are separated by the model's end-of-text mark, each as if alone.

    Each story stands between two marks. Every token after the first mark is scored once, the closing one included.
    Line ends around a mark belong to no story.

    Raises:
        UsageError: the model has no end-of-text token, or there is no story.
    """
    if not loaded.config.eos_ids:
        raise UsageError("this model has no end-of-text token to tell stories apart by")
    mark = loaded.config.eos_ids[0]
    parts = (part.strip("\n") for part in corpus.split(loaded.tokenizer.piece(mark)))
    stories = [story for story in parts if story.strip()]
    if not stories:
        raise UsageError("there is no story in this text")
    reading, n_bytes = _reading(loaded, context, stride), 0
    opening: list[int] = []
    tokens: list[ScoredToken] = []
    with _telling(progress, sum(len(story.encode()) for story in stories)) as tell:
        for number, story in enumerate(stories):
            ids = loaded.encode(story)
            ids = [*([] if ids[0] in loaded.tokenizer.special_ids else [mark]), *ids, mark]
            tokens += _score(loaded, ids, reading, n_top, edit, number)
            opening.append(ids[0])
            n_bytes += len(story.encode())
            tell(n_bytes)
    return TextScore(tokens_of(loaded.tokenizer, opening), tuple(tokens), n_bytes, len(stories), *reading)


def has_stories(loaded: "LoadedModel", text: str) -> bool:
    """Whether the model's end-of-text mark is written in `text`, so that `score_stories` should read it."""
    return any(loaded.tokenizer.piece(mark) in text for mark in loaded.config.eos_ids[:1])


@contextmanager
def _telling(progress: Progress | None, n_bytes: int) -> Iterator[Callable[[int], None]]:
    """What to call with the bytes scored so far."""
    progress = progress or Progress()
    try:
        yield lambda done: progress.moved("scoring", done, n_bytes)
    finally:
        progress.over()


def _reading(loaded: "LoadedModel", context: int | None, stride: int | None) -> tuple[int, int]:
    """How many tokens a window has, and how far it moves on."""
    most = loaded.config.max_seq_len
    context = most if context is None else context
    if not 2 <= context <= most:
        raise UsageError(f"a context of {context:,} tokens; expected 2 to {most:,}, which this model was trained for")
    stride = context - context // 2 if stride is None else stride
    if not 1 <= stride <= context:
        raise UsageError(f"a stride of {stride:,} tokens; expected 1 to {context:,}, the length of a window")
    return context, stride


def _score(
    loaded: "LoadedModel",
    ids: Sequence[int],
    reading: tuple[int, int],
    n_top: int,
    edit: Edit | None,
    text: int = 0,
) -> Iterator[ScoredToken]:
    tokens = tokens_of(loaded.tokenizer, ids)
    n_rows = max(1, MAX_LOGPROBS // loaded.config.vocab_size)
    for number, window in enumerate(cut_windows(len(ids), *reading)):
        for first, logits_TV in window_logits(loaded, ids[window.start : window.stop], edit):
            skipped = max(0, window.done - window.start - first)
            for row in range(skipped, len(logits_TV), n_rows):
                at = window.start + first + row + 1
                logits = logits_TV[row : row + n_rows]
                told = ids[at : at + len(logits)]
                logprobs_TV = log_softmax(logits)
                logprobs = logprobs_TV[range(len(told)), told].tolist()
                tops = guesses_of_rows(loaded, logprobs_TV, n_top)
                for i, found in enumerate(zip(logprobs, ranks_of(logits, told), tops, strict=True), at):
                    yield ScoredToken(i, tokens[i], *found, number, text)


def window_logits(loaded: "LoadedModel", ids: Sequence[int], edit: Edit | None = None) -> Iterator[tuple[int, Array]]:
    """What follows each of `ids`, in stretches of 256: (place of the first, logits [T, V]).

    Stretches keep long windows and large vocabularies out of memory; the cache joins them.
    """
    cache = loaded.model.new_cache(len(ids))
    if edit is not None:
        check_size(loaded.config, min(CHUNK, len(ids)), len(ids), 1)
    trace = None if edit is None else Trace(edit=edit)
    for first in range(0, len(ids), CHUNK):
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused in `log_softmax`
            logits_TV = loaded.model(ids[first : first + CHUNK], cache, trace=trace)
        yield first, logits_TV
