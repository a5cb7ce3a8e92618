"""How fast does each engine write, one token at a time, one sequence, one thread?"""

from collections.abc import Sequence

from engines import Engine
from tables import compare
from timing import medians, seconds_to_write, take_turns

N_TOKENS, ROUNDS = 128, 15
AIMS = {"llama.cpp": 0.9, "transformers": 15, "glassllm": 10}


def decode(engines: Sequence[Engine], prompt: list[int]) -> str:
    """Median tokens per second of greedy decoding, prefill excluded."""
    costs = medians(take_turns({e.name: lambda e=e: seconds_to_write(e, prompt, N_TOKENS) for e in engines}, ROUNDS))
    title = f"decode: {N_TOKENS} tokens behind a prompt of {len(prompt)}, medians of {ROUNDS} rounds"
    return compare(title, costs, "tokens/s", N_TOKENS, AIMS)
