"""How fast does each engine read a prompt?"""

from collections.abc import Sequence

from engines import Engine
from tables import compare
from timing import medians, seconds, take_turns

ROUNDS = 15
AIMS = {"llama.cpp": 1, "transformers": 1, "glassllm": 5}


def prefill(engines: Sequence[Engine], prompt: list[int]) -> str:
    """Median tokens per second of reading `prompt`; only what follows its last token is asked for."""
    costs = medians(take_turns({e.name: lambda e=e: seconds(lambda: e.prefill(prompt)) for e in engines}, ROUNDS))
    title = f"prefill: {len(prompt)} tokens at once, medians of {ROUNDS} rounds"
    return compare(title, costs, "tokens/s", len(prompt), AIMS)
