"""How many tokens a second when several sequences are decoded together?"""

from collections.abc import Sequence

from engines import BatchEngine
from tables import compare
from timing import medians, seconds, take_turns

N_SEQUENCES, N_TOKENS, ROUNDS = 32, 48, 7
AIMS = {"transformers": 2}


def batch(engines: Sequence[BatchEngine], prompts: list[list[int]]) -> str:
    """Median tokens per second over all sequences, prefill excluded."""
    costs = medians(take_turns({e.name: lambda e=e: one_batch(e, prompts) for e in engines}, ROUNDS))
    shortest, longest = min(map(len, prompts)), max(map(len, prompts))
    title = (
        f"batch: {len(prompts)} sequences, {N_TOKENS} tokens each behind prompts of {shortest} to {longest}, "
        f"medians of {ROUNDS} rounds"
    )
    return compare(title, costs, "tokens/s", N_TOKENS * len(prompts), AIMS)


def one_batch(engine: BatchEngine, prompts: list[list[int]]) -> float:
    """Seconds to write `N_TOKENS` in every sequence."""
    first = engine.prefill(prompts)

    def write() -> None:
        chosen = first
        for _ in range(N_TOKENS):
            chosen = engine.step(chosen)

    return seconds(write)
