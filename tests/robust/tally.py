"""What was tried, how it ended, and what was found."""

from collections import Counter
from dataclasses import dataclass, field

SHOWN = 20  # findings printed in full


@dataclass
class Tally:
    """The figures of one part.

    Attributes:
        ends: how runs ended, in words, with how often.
        found: everything that should not have happened.
        remarks: what may happen and is worth a number.
    """

    part: str
    ends: Counter[str] = field(default_factory=Counter)
    found: list[str] = field(default_factory=list)
    remarks: Counter[str] = field(default_factory=Counter)

    @property
    def tried(self) -> int:
        """How many runs there were."""
        return self.ends.total()

    def count(self, end: str, faults: list[str], how: str) -> None:
        """One run more: how it ended, what was wrong with it, and how to repeat it."""
        self.ends[end] += 1
        self.found += [f"{fault}\n      {how}" for fault in faults]

    def lines(self) -> list[str]:
        """Its rows of the table."""
        first = f"{self.part:<42}{self.tried:>8,}{len(self.found):>8,}"
        return [first, *(f"    {end:<38}{n:>8,}" for end, n in sorted((self.ends + self.remarks).items()))]


def table(tallies: list[Tally]) -> str:
    """All parts, with what was found below."""
    lines = [f"{'part':<42}{'tried':>8}{'found':>8}"]
    for tally in tallies:
        lines += tally.lines()
    for tally in tallies:
        for finding in tally.found[:SHOWN]:
            lines.append(f"\n{tally.part}: {finding}")
        if len(tally.found) > SHOWN:
            lines.append(f"\n{tally.part}: and {len(tally.found) - SHOWN:,} more")
    return "\n".join(lines)
