"""Lines that compare medians, and what was aimed at."""

from collections.abc import Mapping, Sequence


def compare(
    title: str, costs: Mapping[str, float], unit: str, per_second: float, aims: Mapping[str, float] | None = None
) -> str:
    """A table of speeds, the first engine's as a multiple of each other's.

    Args:
        costs: seconds, by engine.
        unit: what is counted, such as "tokens/s".
        per_second: how many of them one cost stands for.
        aims: the least multiple aimed at, by the start of an engine's name.
    """
    first = next(iter(costs.values()))
    rows = [("", unit, "glass is", "aim")]
    for name, cost in costs.items():
        speed, ratio = f"{per_second / cost:,.0f}", "" if cost is first else f"{cost / first:.2f} ×"
        aim = next((f"≥ {least:g} ×" for start, least in (aims or {}).items() if name.startswith(start)), "")
        rows.append((name, speed, ratio, aim))
    return grid(title, rows)


def grid(title: str, rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells under a title, the first column flush left, the others right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
    return "\n".join([title, *(f"  {line}".rstrip() for line in lines)])
