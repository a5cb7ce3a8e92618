"""The inverse of a plan: the longest context and the largest batch that a number of bytes has room for.

The most that a device holds never shrinks as sequences get longer or more, so both are found by bisection on
the plan itself, exactly: one token more, or one sequence more, does not fit. Engines that round up to pages
therefore answer with whole pages.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from glasscli.budget.engines.vllm import Vllm, group_size
from glasscli.budget.request import Request
from glasscli.budget.sizer import Sizer
from glasscli.errors import UsageError

ENDLESS = 10**18  # what still fits at this length or batch is not bounded by memory


@dataclass(frozen=True)
class Fit:
    """What fits in `budget_bytes` on each device. None: nothing bounds it.

    `max_tokens` is the longest context for the request's batch, `max_batch` the largest batch for its context,
    `tokens_in_all` the tokens that the whole batch holds at the longest context. 0 means that not even one fits.
    """

    budget_bytes: int
    bytes: int
    fits: bool
    max_tokens: int | None
    max_batch: int | None
    tokens_in_all: int | None


def fit(request: Request, budget_bytes: int) -> Fit:
    """How much of `request` fits in `budget_bytes` on the fullest device.

    Raises UsageError for a negative budget, ConfigError as `plan` does.
    """
    if budget_bytes < 0:
        raise UsageError(f"a budget of {budget_bytes} bytes is not possible")
    sizer = Sizer(request)
    tokens, batch = request.tokens, request.batch
    most_tokens = largest(lambda length: sizer.peak(length, batch) <= budget_bytes)
    most_batch = largest(lambda count: sizer.peak(tokens, count) <= budget_bytes)
    needed = sizer.peak(tokens, batch)
    in_all = None if most_tokens is None else most_tokens * batch
    return Fit(budget_bytes, needed, needed <= budget_bytes, most_tokens, most_batch, in_all)


def largest(holds: Callable[[int], bool]) -> int | None:
    """The largest number from 1 on that `holds`; 0 if none does, None if all up to ENDLESS do.

    `holds` must not come true again once it is false.
    """
    if not holds(1):
        return 0
    low = 1
    while holds(high := low * 2):
        low = high
        if low > ENDLESS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@dataclass(frozen=True)
class Capacity:
    """vLLM's own account of a device: blocks of its pool, blocks that one request of this length takes.

    `concurrency` is what it logs as the maximum concurrency, `tokens` as the size of the cache.
    """

    page_tokens: int
    n_blocks: int
    blocks_per_request: int

    @property
    def concurrency(self) -> Fraction:
        return Fraction(self.n_blocks, self.blocks_per_request)

    def tokens(self, max_model_len: int) -> int:
        return self.n_blocks * max_model_len // self.blocks_per_request


def capacity(request: Request, budget_bytes: int) -> Capacity:
    """How vLLM would divide `budget_bytes` of one device into blocks, for requests of `request.tokens`.

    Layers that keep the same thing form groups of equal size, and a block is one page of every layer of a group.
    """
    sizer = Sizer(request)
    engine = sizer.engine
    if not isinstance(engine, Vllm):
        raise UsageError(f"blocks are vLLM's; {request.engine} has none")
    counts = {part: count for part, count in sizer.parts.items() if sizer.hold(part, request.tokens, 1)}
    in_group = group_size(counts.values())
    blocks = largest_page = 0
    for part, count in counts.items():
        page = engine.page_bytes(sizer.shards[part])
        pages = -(-sum(sizer.hold(part, request.tokens, 1).values()) // page)
        blocks += -(-count // in_group) * pages
        largest_page = max(largest_page, page)
    return Capacity(engine.span, budget_bytes // (in_group * largest_page), blocks)
