"""Several prompts at once: each read alone, equal ones once, then all decoded together, one matrix product for all.

The texts are those of single runs with the same seeds, as far as float32 sums in another order allow.
"""

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.choice import FULL, CacheChoice
from glasscli.errors import UsageError
from glasscli.generation.continuation import Step
from glasscli.generation.loop import Generation, checked_seed, generate
from glasscli.generation.open_cache import open_cache
from glasscli.generation.prompts import Overflow
from glasscli.generation.sampling import SamplingParams

if TYPE_CHECKING:
    from glasscli.cache.kv_cache import KVCache
    from glasscli.checkpoint.load import LoadedModel

# Sequences side by side: enough for matrix products to pay, few enough for their caches to stay small.
GROUP = 32


class Batch(Iterator[tuple[int, Step]]):
    """Texts being written: iterate to get steps as (number of the prompt, step), group after group.

    Attributes:
        runs: one `Generation` a prompt, in order; ask them for text and reason. They are not iterated themselves.
        prefill_s, decode_s: seconds spent on reading the prompts, and on every token after the first.
        n_decoded: tokens after the first, over all prompts.
        kv_bytes: the most bytes allocated for keys and values at a time, kept as `choice` says.
    """

    def __init__(self, loaded: "LoadedModel", runs: Sequence[Generation], choice: CacheChoice = FULL) -> None:
        """Use `generate_batch`."""
        self.loaded, self.runs, self.choice = loaded, runs, choice
        self.prefill_s = self.decode_s = 0.0
        self.n_decoded = self.kv_bytes = 0
        self._steps = self._all_steps()

    def __next__(self) -> tuple[int, Step]:
        return next(self._steps)

    def interrupt(self) -> None:
        """End all texts that go on, with the reason "interrupted"."""
        for run in self.runs:
            run.interrupt()

    def _all_steps(self) -> Iterator[tuple[int, Step]]:
        waiting = [i for i, run in enumerate(self.runs) if run.finish_reason is None]
        for at in range(0, len(waiting), GROUP):
            yield from self._group(waiting[at : at + GROUP])

    def _group(self, numbers: list[int]) -> Iterator[tuple[int, Step]]:
        lengths = [len(self.runs[i].prompt.token_ids) + self.runs[i].written.most_tokens for i in numbers]
        places = _places([self.runs[i].prompt.token_ids for i in numbers])
        cache = open_cache(self.loaded, self.choice, max(lengths), max(places) + 1)
        self.kv_bytes = max(self.kv_bytes, cache.nbytes)
        read: dict[int, Array] = {}
        for place, i in zip(places, numbers, strict=True):
            if place not in read:
                read[place] = self._read(self.runs[i], cache, place)
            yield i, self.runs[i].take(read[place])
        if cache.batch < len(numbers):
            cache = cache.select(places)
            self.kv_bytes = max(self.kv_bytes, cache.nbytes)
        while True:
            going = [place for place, i in enumerate(numbers) if self.runs[i].finish_reason is None]
            if not going:
                return
            if len(going) < len(numbers):
                numbers, cache = [numbers[place] for place in going], cache.select(going)
            yield from zip(numbers, self._next([self.runs[i] for i in numbers], cache), strict=True)

    def _read(self, run: Generation, cache: "KVCache", place: int) -> Array:
        """Read a prompt alone, into its place of the cache: logits [V]."""
        started = perf_counter()
        row = cache.row(place)
        with np.errstate(over="ignore", invalid="ignore"):
            logits_V: Array = self.loaded.model(run.prompt.token_ids, row, last_only=True)[0]
        cache.lengths[place] = row.length
        self.prefill_s += perf_counter() - started
        return logits_V

    def _next(self, runs: list[Generation], cache: "KVCache") -> Iterator[Step]:
        """One token more for each, chosen when it is asked for."""
        started = perf_counter()
        with np.errstate(over="ignore", invalid="ignore"):
            logits_BV = self.loaded.model.decode_batch([run.token_ids[-1] for run in runs], cache)
        self.decode_s += perf_counter() - started
        for run, logits_V in zip(runs, logits_BV, strict=True):
            started = perf_counter()
            step = run.take(logits_V)
            self.n_decoded += 1
            self.decode_s += perf_counter() - started
            yield step


def _places(prompts: Sequence[tuple[int, ...]]) -> list[int]:
    """For each prompt the number of the first that is like it, all different ones counted on from 0."""
    known: dict[tuple[int, ...], int] = {}
    return [known.setdefault(prompt, len(known)) for prompt in prompts]


def generate_batch(
    loaded: "LoadedModel",
    prompts: Sequence[str | Sequence[int]],
    *,
    params: SamplingParams | None = None,
    max_new_tokens: int | None = None,
    seed: int | None = None,
    stop: str | Sequence[str] = (),
    stop_tokens: Sequence[int] = (),
    ignore_eos: bool = False,
    overflow: str = "error",
    cache: CacheChoice = FULL,
    parse_special: bool = False,
    n_top: int = 0,
) -> Batch:
    """Continue several prompts together, as `generate` would each of them.

    Args:
        seed: prompt i, counted from 0, gets the seed `seed` + i.
        cache: how keys and values are kept, those of each text by themselves.

    Raises:
        UsageError: as `generate`, with the number of the prompt, counted from 1; for one text in place of several; or
            for sliding, which is for one text at a time.
    """
    if isinstance(prompts, str):
        raise UsageError("generate_batch takes a list of prompts, and got one text; generate takes one")
    if overflow == Overflow.slide:
        raise UsageError("sliding past the context is for one text at a time, not for a batch")
    open_cache(loaded, cache, 1)  # to refuse it before anything runs
    first_seed = checked_seed(seed)
    runs = []
    for i, prompt in enumerate(prompts):
        try:
            run = generate(
                loaded,
                prompt,
                params=params,
                max_new_tokens=max_new_tokens,
                seed=first_seed + i,
                stop=stop,
                stop_tokens=stop_tokens,
                ignore_eos=ignore_eos,
                overflow=overflow,
                use_cache=False,  # the batch has one for all
                parse_special=parse_special,
                n_top=n_top,
            )
        except UsageError as error:
            raise type(error)(f"prompt {i + 1}: {error}") from None
        run.seed_given = seed is not None
        runs.append(run)
    return Batch(loaded, runs, cache)
