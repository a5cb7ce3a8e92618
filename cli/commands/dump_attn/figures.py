"""Numbers as the screens of `dump-attn` write them."""

DOT = "."  # what stands for a middle dot without Unicode: here it multiplies


def share(value: float | None) -> str:
    """A share of one with two digits and no zero in front: `.21`, `1.00`; `–` for none."""
    if value is None:
        return "–"
    text = f"{value:.2f}"
    return text[1:] if text.startswith("0") else text


def number(value: float) -> str:
    """A number with about three digits."""
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.2f}"
    return f"{value:.1e}" if abs(value) < 0.01 or abs(value) >= 1e5 else f"{value:.0f}"


def bits(value: float | None) -> str:
    """Entropy in bits."""
    return "–" if value is None else f"{value:.2f} b"


def percent(value: float | None) -> str:
    """A share in whole per cent."""
    return "–" if value is None else f"{100 * value:.0f} %"


def reach(value: float | None) -> str:
    """A mean distance in tokens."""
    return "–" if value is None else f"{value:.1f}"
