"""What does a token cost when many came before it?"""

from collections.abc import Sequence

from engines import Engine
from tables import grid
from timing import medians, seconds_to_write, take_turns

CONTEXTS, N_TOKENS, ROUNDS = (64, 512, 2048), 24, 5
AIM = 3.0  # the last context's token at most so many times the first's


def context(engines: Sequence[Engine], prompt: list[int]) -> str:
    """Median microseconds per token behind each of `CONTEXTS` tokens of `prompt`."""
    costs: dict[str, list[float]] = {e.name: [] for e in engines}
    for length in CONTEXTS:
        given = take_turns(
            {e.name: lambda e=e, n=length: seconds_to_write(e, prompt[:n], N_TOKENS) for e in engines}, ROUNDS
        )
        for name, cost in medians(given).items():
            costs[name].append(cost / N_TOKENS * 1e6)
    rows = [("µs per token behind", *(f"{n:,}" for n in CONTEXTS), "last / first", "aim")]
    for name, row in costs.items():
        aim = f"≤ {AIM:g} ×" if name.startswith("glass ") else ""
        rows.append((name, *(f"{cost:,.0f}" for cost in row), f"{row[-1] / row[0]:.2f} ×", aim))
    return grid(f"context: {N_TOKENS} tokens behind so many, medians of {ROUNDS} rounds", rows)
