"""The loop: read the prompt, then one token at a time, through a KV cache.

    prompt ─ token ids ─ model ─ logits ─ sampler ─ token ─ text
                           └───── cache ◄──────────────┘

It yields `Step` objects and prints nothing; the caller decides whether to show, time or stop.
"""

import os
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.choice import FULL, CacheChoice
from glasscli.errors import UsageError
from glasscli.generation.continuation import Continuation, Ending, Step
from glasscli.generation.nan_report import bad_numbers
from glasscli.generation.open_cache import open_cache
from glasscli.generation.prompts import Overflow, Prompt, read_prompt
from glasscli.generation.sampling import NumbersError, SamplingParams

if TYPE_CHECKING:
    from glasscli.cache.kv_cache import KVCache
    from glasscli.checkpoint.load import LoadedModel
    from glasscli.inspect.trace import Trace
    from glasscli.model.decode import Decoder

# How many of the first tokens a sliding cache never forgets: attention sinks, Xiao et al. 2023,
# arXiv:2309.17453, section 3.2 finds that 4 suffice.
SINKS = 4


class Generation(Iterator[Step]):
    """A text being written: iterate to get its steps, and ask it anything at any time.

    Attributes:
        prompt: the tokens that were read, and how many were cut off.
        written: the text so far, its tokens, why it ended.
        seed: what the random draws come from; it replays the text. `seed_given` says whether it was asked for.
        cache: keys and values, kept as `choice` says; None without a cache.
        prefill_s, decode_s: seconds spent on reading the prompt, and on every token after the first.
        n_slid: tokens that a sliding cache has forgotten.
        trace: sees each step, that of the prompt's last token first; None where nobody looks.
    """

    written: Continuation

    def __init__(self, loaded: "LoadedModel", prompt: Prompt, seed: int, seed_given: bool) -> None:
        """Use `generate`."""
        self.loaded, self.prompt, self.seed, self.seed_given = loaded, prompt, seed, seed_given
        self.cache: KVCache | None = None
        self.choice = FULL
        self._decoder: Decoder | None = None
        self.slides = False
        self.prefill_s = self.decode_s = 0.0
        self.n_slid = 0
        self.trace: Trace | None = None

    @property
    def text(self) -> str:
        """The text so far, without the prompt."""
        return self.written.text

    @property
    def token_ids(self) -> list[int]:
        """The tokens so far, without the prompt."""
        return self.written.token_ids

    @property
    def finish_reason(self) -> str | None:
        """Why the text ended: see `Step`. None while it goes on."""
        return self.written.finish_reason

    def open_cache(self, max_new_tokens: int, slides: bool, use_cache: bool, choice: CacheChoice = FULL) -> None:
        """Allocate for prompt and text, the whole context at most."""
        if slides and not use_cache:
            raise UsageError("sliding keeps keys that saw tokens since forgotten: it can't be computed without a cache")
        if not (use_cache or choice.is_full):
            raise UsageError(f"without a cache there is nothing that could be kept as {choice.text}")
        self.slides, self.choice = slides, choice
        if use_cache:
            most = min(self.loaded.config.max_seq_len, len(self.prompt.token_ids) + max_new_tokens)
            self.cache = open_cache(self.loaded, choice, most, slides=slides)
            self._decoder = self.loaded.model.decoder() if self.loaded.model.has_fast_form else None

    def __next__(self) -> Step:
        if self.finish_reason is not None:
            raise StopIteration
        started = perf_counter()
        first = not self.token_ids
        # Numbers out of range are caught when a token is chosen; `take` says where they began.
        with np.errstate(over="ignore", invalid="ignore"):
            logits_V = self._read(self.prompt.token_ids) if first else self._read(self.token_ids[-1:])
        if first:
            self.prefill_s = perf_counter() - started
            return self.take(logits_V)
        step = self.take(logits_V)
        self.decode_s += perf_counter() - started
        return step

    def take(self, logits_V: Array) -> Step:
        """Choose the next token from logits [V]; see `Continuation.take`.

        Raises:
            CheckpointError: the logits are not finite. It names the first tensor that isn't.
        """
        try:
            return self.written.take(logits_V)
        except NumbersError:
            raise bad_numbers(self) from None

    def interrupt(self) -> str:
        """End the text here, with the reason "interrupted". Returns the text that was still held back."""
        return self.written.interrupt()

    def _read(self, token_ids: Sequence[int]) -> Array:
        """What may follow `token_ids`, which come after all that was read before: logits [V]."""
        if self.cache is None:
            return self.loaded.model([*self.prompt.token_ids, *self.token_ids], last_only=True)[0]
        if self.trace is not None:  # through the blocks, not the fast form, which can't be watched
            if len(token_ids) > 1:
                self.loaded.model(token_ids[:-1], self.cache, last_only=True)
            return self.loaded.model(token_ids[-1:], self.cache, last_only=True, trace=self.trace)[0]
        while True:
            room = self.cache.max_tokens - self.cache.length
            if self.slides and not room:
                room = self._slide(self.cache)
            if len(token_ids) == 1 and self._decoder is not None:
                return self._decoder.step(token_ids[0], self.cache)
            logits_V = self.loaded.model(token_ids[:room], self.cache, last_only=True)[0]
            token_ids = token_ids[room:]
            if not token_ids:
                return logits_V

    def _slide(self, cache: "KVCache") -> int:
        """Forget an eighth of the context, the oldest tokens after the sinks. Returns how many.

        Forgetting many at once, seldom, costs as little per token as a window of constant length would, and
        less than moving every key at every step.
        """
        sinks = min(SINKS, cache.max_tokens // 2)
        n_dropped = max(1, cache.max_tokens // 8)
        self.loaded.model.slide_window(cache, sinks, n_dropped)
        self.n_slid += n_dropped
        return n_dropped


def generate(
    loaded: "LoadedModel",
    prompt: str | Sequence[int] = "",
    *,
    params: SamplingParams | None = None,
    max_new_tokens: int | None = None,
    seed: int | None = None,
    stop: str | Sequence[str] = (),
    stop_tokens: Sequence[int] = (),
    ignore_eos: bool = False,
    overflow: str = "error",
    use_cache: bool = True,
    cache: CacheChoice = FULL,
    parse_special: bool = False,
    n_top: int = 0,
    trace: "Trace | None" = None,
) -> Generation:
    """Continue `prompt`: an iterator of `Step` objects, one a token.

    Prompt and text together never exceed the context: a prompt that fills it exactly gets no token more, and
    the finish reason "context".

    Args:
        params: how to choose tokens (default: as the model's own files say, see `WritingDefaults`).
        prompt: a text, or token ids. An empty one starts from the beginning-of-text token.
        max_new_tokens: how many at most (default: as the model's own files say, else 256).
        seed: the same seed gives the same text, and a shorter run the start of a longer one. None takes one at
            random; `Generation.seed` tells it.
        stop: a text, or several, that ends the run; it is not part of the text.
        stop_tokens: ids of tokens that end the run as the end-of-text token does; they have no part in the text.
        ignore_eos: never choose an end-of-text token.
        overflow: "error", "left" or "slide"; see `Overflow`.
        use_cache: False computes everything anew at each step, to the same end.
        cache: how keys and values are kept; see `cache.choice_text`.
        parse_special: names of special tokens in the prompt count as those tokens.
        n_top: how many of the likeliest tokens each step tells.
        trace: sees every step as it is computed, in a slower form; what it holds after a step is of that step.

    Raises:
        UsageError: a setting is out of range, or the prompt empty or too long. All before the first step.
        ConfigError: the cache can't be for this model.
    """
    policy = overflow_named(overflow)
    params = params or SamplingParams.of(loaded.defaults)
    max_new_tokens = loaded.defaults.max_new_tokens if max_new_tokens is None else max_new_tokens
    read = read_prompt(loaded, prompt, policy, parse_special)
    slides = policy is Overflow.slide
    if trace is not None and (slides or not use_cache):
        raise UsageError("a trace looks at steps behind a cache whose tokens stay where they are")
    if slides and not loaded.model.can_slide:
        raise UsageError(
            "overflow slide moves what was read, and each position of this model has an embedding of its own: "
            "use error or left"
        )
    room = max_new_tokens if slides else loaded.config.max_seq_len - len(read.token_ids)
    loaded.check_ids([*stop_tokens, *params.logit_bias])
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    ending = Ending(max_new_tokens, room, stops, ignore_eos, tuple(stop_tokens))
    run = Generation(loaded, read, checked_seed(seed), seed is not None)
    run.written = Continuation(loaded, read.token_ids, params, run.seed, ending, n_top)
    run.open_cache(max_new_tokens, slides, use_cache, cache)
    run.trace = trace
    return run


def overflow_named(name: str) -> Overflow:
    """The policy called `name`."""
    try:
        return Overflow(name)
    except ValueError:
        raise UsageError(f"overflow is {name!r}; expected one of {', '.join(Overflow)}") from None


def checked_seed(seed: int | None) -> int:
    """`seed`, or a random one, short enough to type. Refuses negative ones: Python's `Random` takes −1 for 1."""
    if seed is None:
        return int.from_bytes(os.urandom(8), "big") % 1_000_000
    if seed < 0:
        raise UsageError(f"the seed is {seed}; expected 0 or more")
    return seed
