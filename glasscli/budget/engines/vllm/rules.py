"""What vLLM does with each class of spec: how many pages of tokens, or how large a state. No rule: refused by name.

Source: vLLM's `v1/kv_cache_interface.py` (`max_memory_usage_bytes`).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from glasscli.specs.attention_specs import (
    CacheSpec,
    ChunkedAttention,
    CrossAttention,
    FullAttention,
    IndexKeys,
    LatentAttention,
    SlidingAttention,
)
from glasscli.specs.state_specs import KDA, DeltaNet, Mamba1, Mamba2, ShortConv


class Ask(NamedTuple):
    """How much is to be held: `step` is the tokens that one step may add, None where windows are not used."""

    tokens: int
    encoder_tokens: int
    prefix: int
    step: int | None


class Pages(NamedTuple):
    """How large the pages of one model are: tokens of each attention part, bytes of a state's page."""

    tokens: dict[CacheSpec, int]
    state_bytes: int | None


def every_token(part: CacheSpec, ask: Ask, block: int) -> tuple[int, int]:
    """All tokens; whole pages of a common prefix are kept once."""
    return -(-ask.tokens // block), min(ask.prefix, ask.tokens) // block


def window(part: SlidingAttention, ask: Ask, block: int) -> tuple[int, int]:
    """The window and all the tokens that one step may add, plus one page."""
    if ask.step is None:
        return every_token(part, ask, block)
    return -(-min(part.size - 1 + ask.step, ask.tokens) // block) + 1, 0


def chunk(part: ChunkedAttention, ask: Ask, block: int) -> tuple[int, int]:
    """The chunk and all the tokens that one step may add."""
    if ask.step is None:
        return every_token(part, ask, block)
    return -(-min(part.size + ask.step, ask.tokens) // block), 0


def encoder(part: CrossAttention, ask: Ask, block: int) -> tuple[int, int]:
    """The encoder's tokens, whatever the sequence."""
    return -(-ask.encoder_tokens // block), 0


def as_it_is(part: CacheSpec, drafted: int) -> CacheSpec:
    """A state as the mathematics needs it."""
    return part


def inputs_of_drafts(part: DeltaNet, drafted: int) -> CacheSpec:
    """The convolution also keeps the inputs of drafted tokens."""
    return replace(part, kernel=part.kernel + drafted)


# (part, ask, tokens of a page) → pages of one sequence, and those of them that sequences with the same prefix share
PAGES: Mapping[type[CacheSpec], Callable[[Any, Ask, int], tuple[int, int]]] = {
    FullAttention: every_token,
    SlidingAttention: window,
    ChunkedAttention: chunk,
    LatentAttention: every_token,
    IndexKeys: every_token,
    CrossAttention: encoder,
}
# (part, drafted tokens) → the state that is kept
STATES: Mapping[type[CacheSpec], Callable[[Any, int], CacheSpec]] = {
    ShortConv: as_it_is,
    Mamba1: as_it_is,
    Mamba2: as_it_is,
    DeltaNet: inputs_of_drafts,
    KDA: as_it_is,
}
IN_FLOAT32 = frozenset({KDA})  # whatever dtype other states are kept in
EVERYTHING: Mapping[type[CacheSpec], object] = {**PAGES, **STATES}
