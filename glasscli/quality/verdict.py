"""What the rows of a table say together: the smallest cache that costs little enough, and what to beware of.

Imports no NumPy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glasscli.cache.choice import RESIDUAL, CacheChoice
from glasscli.cache.formats.names import BLOCK, KIVI
from glasscli.dtypes import ALIASES, DTYPES

if TYPE_CHECKING:
    from glasscli.quality.trial import Result

MAX_KLD = 0.01
FORGETS = 0.5  # a cache that copies less than this share of what the full one does has lost its memory
SURE = 2.0  # standard errors


@dataclass(frozen=True)
class Verdict:
    """Which cache to take.

    Attributes:
        max_kld: the most that a cache may cost.
        best: the smallest that costs no more and keeps every token; None if there is none.
        shorter: the smallest that costs no more and drops tokens, if it is smaller than `best`.
    """

    max_kld: float
    best: "Result | None"
    shorter: "Result | None"


def judge(results: "Sequence[Result]", context: int, max_kld: float = MAX_KLD) -> Verdict:
    """The smallest that passes, by what a chunk takes.

    A cache that loses nothing at all is no answer, nor is one that chunks of `context` tokens did not try.
    """

    def smallest(passing: "list[Result]") -> "Result | None":
        return min(passing, key=lambda result: result.chunk_bytes, default=None)

    tried = [result for result in results if not result.choice.is_full and not is_untried(result.choice, context)]
    passing = [result for result in tried if passes(result, max_kld)]
    best = smallest([result for result in passing if result.choice.keeps == "all"])
    limit = None if best is None else best.chunk_bytes
    droppers = [result for result in passing if result.choice.keeps != "all"]
    shorter = smallest([r for r in droppers if limit is None or r.chunk_bytes < limit])
    return Verdict(max_kld, best, shorter)


def is_untried(choice: CacheChoice, context: int) -> bool:
    """Whether chunks of so many tokens are too short for a cache to drop or to pack any of them."""
    if choice.keeps != "all":
        return choice.tokens + choice.sinks >= context - 1  # the last token predicts nothing that is scored
    return bool({choice.k, choice.v} & KIVI) and context - 1 < choice.residual + BLOCK


def passes(result: "Result", max_kld: float) -> bool:
    """Whether a cache costs no more than that."""
    return result.divergence.kld <= max_kld


def flatters(result: "Result", max_kld: float) -> bool:
    """Whether perplexity improves while predictions change more than they may: other, not better."""
    return result.divergence.delta_nats < 0 and not passes(result, max_kld)


def forgets(result: "Result", full_copied: float) -> bool:
    """Whether a random string that the full cache repeats is lost, or most of it."""
    return result.copied is not None and result.copied < FORGETS * full_copied


def frontier(results: "Sequence[Result]") -> "list[Result]":
    """Those that no other beats in bytes and in divergence both, smallest first."""
    found: list[Result] = []
    for result in sorted(results, key=lambda r: (r.chunk_bytes, r.divergence.kld)):
        if not found or result.divergence.kld < found[-1].divergence.kld:
            found.append(result)
    return found


def budget_flags(choice: CacheChoice) -> list[str] | None:
    """Words for `glass kv-budget` that size this cache; None where that can't tell its type, tokens or heads."""
    k, v = (name if name in DTYPES else ALIASES.get(name, "") for name in (choice.k, choice.v))
    if choice.keeps != "all" or choice.kv_heads is not None or not k or not v:
        return None
    words = ["--dtype", k] if k == v else ["--k-dtype", k, "--v-dtype", v]
    return words + (["-s", f"residual={choice.residual}"] if choice.residual != RESIDUAL else [])
