"""Do all engines compute the same model? Asked before any of them is timed."""

from collections.abc import Sequence

from engines import BatchEngine, Engine
from tables import grid

N_TOKENS = 256


def agree(engines: Sequence[Engine], prompt: list[int]) -> str:
    """How many greedy tokens of each engine equal glass's before the first that doesn't."""
    texts = {engine.name: greedy(engine, prompt) for engine in engines}
    ours = next(iter(texts.values()))
    rows = [(name, f"{same(ours, theirs)} of {N_TOKENS}") for name, theirs in texts.items()]
    return grid("the same model? greedy tokens equal to glass's", rows)


def agree_batch(engines: Sequence[BatchEngine], single: Engine, prompts: list[list[int]]) -> str:
    """How many sequences of a batch equal those that glass writes alone, over a few tokens."""
    alone = [greedy(single, prompt, 16) for prompt in prompts]
    rows = []
    for engine in engines:
        steps = [engine.prefill(prompts)]
        while len(steps) < 16:
            steps.append(engine.step(steps[-1]))
        together = list(map(list, zip(*steps, strict=True)))
        n_same = sum(a == b for a, b in zip(alone, together, strict=True))
        rows.append((engine.name, f"{n_same} of {len(prompts)}"))
    return grid("the same batch? sequences equal to glass's single ones over 16 tokens", rows)


def greedy(engine: Engine, prompt: list[int], n: int = N_TOKENS) -> list[int]:
    """The `n` likeliest tokens behind `prompt`, each fed back."""
    chosen = [engine.prefill(prompt)]
    while len(chosen) < n:
        chosen.append(engine.step(chosen[-1]))
    return chosen


def same(ours: list[int], theirs: list[int]) -> int:
    """Tokens before the first difference."""
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a != b:
            return i
    return len(ours)
