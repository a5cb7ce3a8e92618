"""How many tokens a second when several sequences are decoded together?"""

from collections.abc import Sequence

from engines import BatchEngine
from tables import compare
from timing import medians, seconds_to_write, take_turns

N_SEQUENCES, N_TOKENS, ROUNDS = 32, 48, 7
AIMS = {"transformers": 2}


def batch(engines: Sequence[BatchEngine], prompts: list[list[int]]) -> str:
    """Median tokens per second over all sequences, prefill excluded."""
    costs = medians(take_turns({e.name: lambda e=e: seconds_to_write(e, prompts, N_TOKENS) for e in engines}, ROUNDS))
    shortest, longest = min(map(len, prompts)), max(map(len, prompts))
    title = (
        f"batch: {len(prompts)} sequences, {N_TOKENS} tokens each behind prompts of {shortest} to {longest}, "
        f"medians of {ROUNDS} rounds"
    )
    return compare(title, costs, "tokens/s", N_TOKENS * len(prompts), AIMS)
