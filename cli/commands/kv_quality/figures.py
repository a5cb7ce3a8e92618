"""Figures of a cache as they are shown: nats, divergences, shares, bytes."""

from glasscli.quality.trial import Result
from glasscli.units import format_bytes

TINY = 0.00005


def nats(value: float) -> str:
    """A divergence: four decimals, as many as its standard error deserves; .0 is exactly nothing."""
    if value == 0:
        return "0"
    return "<.0001" if value < TINY else bare(f"{value:.4f}")


def wide_nats(value: float) -> str:
    """A divergence that one position may have."""
    if value == 0:
        return "0"
    return "<.001" if value < 0.0005 else bare(f"{value:.3f}")


def delta(value: float, error: float | None) -> str:
    """What a token costs more, and its standard error."""
    if value == 0 and not error:
        return "0"
    return signed(value) + ("" if error is None else f" ±{bare(f'{error:.4f}')}")


def signed(value: float) -> str:
    """A difference in nats with its sign."""
    return ("−" if value < 0 else "+") + bare(f"{abs(value):.4f}")


def bare(text: str) -> str:
    """A decimal fraction without the zero in front."""
    return text.removeprefix("0") if text.startswith("0.") else text


def share(value: float) -> str:
    """A share in per cent: one decimal, and never 100 % of what is less."""
    text = f"{100 * value:.1f}"
    return f"{'>99.9' if text == '100.0' and value < 1 else text} %"


def percent(value: float) -> str:
    """A share in whole per cent."""
    return f"{100 * value:.0f} %" if value >= 0.095 else f"{100 * value:.1f} %"


def copied(result: Result) -> str:
    """How much of a random string it repeats."""
    return "n/a" if result.copied is None else f"{100 * result.copied:.0f} %"


def sizes(result: Result) -> tuple[str, str]:
    """What a token adds, and what is constant."""
    grown = format_bytes(result.bytes_per_token) if result.bytes_per_token else "–"
    return grown, format_bytes(result.constant_bytes) if result.constant_bytes else "–"


def size(result: Result) -> str:
    """Both in one."""
    parts = []
    if result.bytes_per_token:
        parts.append(f"{format_bytes(result.bytes_per_token)} a token")
    if result.constant_bytes:
        parts.append(f"{format_bytes(result.constant_bytes)} fixed")
    return " + ".join(parts)
