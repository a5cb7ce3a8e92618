"""Numbers as several screens write them."""


def probability(p: float, digits: int = 3) -> str:
    """A probability without its zero; one too small to show says so."""
    if p >= 1 - 0.5 * 10**-digits:
        return "1" + "." + "0" * (digits - 1)
    if 0 < p < 0.5 * 10**-digits:
        return "<" + f"{10**-digits:.{digits}f}"[1:]
    return f"{p:.{digits}f}"[1:]


def count(n: int, noun: str) -> str:
    """`1 token`, `1,024 tokens`."""
    return f"{n:,} {noun}{'s' * (n != 1)}"
