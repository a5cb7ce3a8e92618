"""The inverse of a plan: the longest context and the largest batch that a number of bytes has room for.

The most that a device holds never shrinks as sequences get longer or more, so both are found by bisection on
the plan itself, exactly: one token more, or one sequence more, does not fit. Engines that round up to pages
therefore answer with whole pages.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from glasscli.budget.engines import ENGINES
from glasscli.budget.engines.engine import Capacity, Paged
from glasscli.budget.request import Request
from glasscli.budget.sizer import Sizer
from glasscli.errors import UsageError

ENDLESS = 10**18  # what still fits at this length or batch is not bounded by memory


@dataclass(frozen=True)
class Fit:
    """What fits in `budget_bytes` on each device. None: nothing bounds it.

    `max_tokens` is the longest context for the request's batch, `max_batch` the largest batch for its context,
    `tokens_in_all` the tokens that the whole batch holds at the longest context. 0 means that not even one fits.
    `bytes` are those that decide: what an engine leaves unused but asks for is among them. `pool` is the smallest
    budget that would do.
    """

    budget_bytes: int
    bytes: int
    fits: bool
    max_tokens: int | None
    max_batch: int | None
    tokens_in_all: int | None
    pool: int


def fit(request: Request, budget_bytes: int) -> Fit:
    """How much of `request` fits in `budget_bytes` on the fullest device.

    Raises UsageError for a negative budget, ConfigError as `plan` does.
    """
    if budget_bytes < 0:
        raise UsageError(f"a budget of {budget_bytes} bytes is not possible")
    sizer = Sizer(strict(request))
    tokens, batch, room = request.tokens, request.batch, budget_bytes - sizer.kept_empty
    most_tokens = largest(lambda length: sizer.peak(length, batch) <= room)
    most_batch = largest(lambda count: sizer.peak(tokens, count) <= room)
    needed = sizer.peak(tokens, batch)
    in_all = None if most_tokens is None else most_tokens * batch
    pool = needed + sizer.kept_empty
    return Fit(budget_bytes, needed, needed <= room, most_tokens, most_batch, in_all, pool)


def strict(request: Request) -> Request:
    """The request as its engine counts it when it decides whether it fits."""
    return replace(request, options={**request.options, **ENGINES[request.engine].strict})


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


def capacity(request: Request, budget_bytes: int) -> Capacity:
    """How a paged engine would divide `budget_bytes` of one device into blocks, for requests of `request.tokens`.

    Raises UsageError for an engine that has no blocks.
    """
    sizer = Sizer(request)
    if not isinstance(sizer.engine, Paged):
        owners = ", ".join(engine.title for engine in ENGINES.values() if issubclass(engine, Paged))
        raise UsageError(f"blocks are {owners}'s; {request.engine} has none")
    counts = [(part, count) for part, count in sizer.parts.items() if sizer.hold(part, request.tokens, 1)]
    layers = [(sizer.shards[part], count) for part, count in counts]
    return sizer.engine.capacity(layers, request.tokens, budget_bytes)
