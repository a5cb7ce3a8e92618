"""Where vLLM's rules changed, and since which version.

Groups: kinds of layers whose numbers differ by less than a quarter formed groups of the larger number, since 0.18 by
less than a half (vllm-project/vllm#36684; the version is inferred from the date of that change). Windows: charged for
the tokens of one step, since 0.26 for those of all steps that may be under way at once, which are two where steps are
scheduled ahead and one more than there are pipeline stages (#47728, #49878: what 0.25.1 and 0.26.0 printed for one
command). Pool: its check at the start leaves out the block that stays empty (#47272, of the same weeks as #47728 and
in 0.29's source; taken from 0.26 on). Log: the size of the cache in tokens was its blocks, shared evenly among groups,
times the smallest page; since 0.20 it is the requests that fit side by side, times their length (0.19.0 printed the
one, 0.24.0 the other, #40691). Share of a device: 0.9, and 0.92 since 0.21, when graphs began to be counted (the
default in the documentation of 2026; the version is that of the counting).
"""

import re
from fractions import Fraction
from typing import NamedTuple

from glasscli.errors import UsageError

NEWEST = "0.29"
VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.[\w.+-]+)?")


class Rules(NamedTuple):
    """What depends on the version.

    Attributes:
        near: groups are as large as the most of a kind where that is less than so many times the fewest.
        ahead: whether windows are charged for all the steps that may be under way.
        empty: blocks of a pool that no request gets, as the check at the start sees it.
        by_groups: whether the log gives each group an equal share of the blocks.
        share: of a device that it takes unless told otherwise.
    """

    near: Fraction
    ahead: bool
    empty: int
    by_groups: bool
    share: Fraction


def rules_of(version: str) -> Rules:
    """The rules of a version such as `0.25`, `v0.26.0` or `0.29.1rc1`. Raises UsageError for anything else."""
    found = VERSION.fullmatch(version)
    if found is None:
        raise UsageError(f"version is {version[:24]!r}; write one of vLLM's, like 0.25 or {NEWEST}")
    number = int(found[1]), int(found[2])
    ahead = number >= (0, 26)
    return Rules(
        near=Fraction(3, 2) if number >= (0, 18) else Fraction(5, 4),
        ahead=ahead,
        empty=1 if ahead else 0,
        by_groups=number < (0, 20),
        share=Fraction(92, 100) if number >= (0, 21) else Fraction(9, 10),
    )
