"""Rounds that take turns, and medians of them.

A machine's speed drifts; a peer measured a minute later is measured on another machine. So every round measures
each engine once, and only ratios of medians over the same rounds are worth quoting.

What counts is CPU time. Every engine computes on one thread, so on an idle machine it is the time on the clock;
on a busy one it leaves out what other programs took.
"""

import gc
from collections.abc import Callable, Mapping
from statistics import median
from time import process_time

from engines import BatchEngine, Engine


def seconds(run: Callable[[], object]) -> float:
    """CPU time of one call, all threads of this process together, without a pause for garbage."""
    gc.collect()
    gc.disable()
    try:
        started = process_time()
        run()
        return process_time() - started
    finally:
        gc.enable()


def take_turns(measures: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Call every measure once a round, after one round that does not count. What each gave, by name."""
    given: dict[str, list[float]] = {name: [] for name in measures}
    for turn in range(rounds + 1):
        for name, measure in measures.items():
            value = measure()
            if turn:
                given[name].append(value)
    return given


def medians(given: Mapping[str, list[float]]) -> dict[str, float]:
    """The median of each."""
    return {name: median(values) for name, values in given.items()}


def seconds_to_write(engine: Engine | BatchEngine, prompt: list[int] | list[list[int]], n_tokens: int) -> float:
    """Seconds for `n_tokens` behind `prompt`, prefill excluded, each token fed back; of every sequence, if several."""
    first = engine.prefill(prompt)

    def write() -> None:
        chosen = first
        for _ in range(n_tokens):
            chosen = engine.step(chosen)

    return seconds(write)
