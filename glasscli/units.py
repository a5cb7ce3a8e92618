"""Sizes as people write them: `8k` tokens, `24GiB`, `3.35TB/s`; and back again, for a screen.

Everything is exact: text becomes a `Fraction` and then an integer, never a float.
"""

import re
from fractions import Fraction

from glasscli.errors import UsageError

LARGEST = 10**18  # one more than any machine will hold; past it a number is taken for a slip
TOKENS = {"": 1, "k": 1024, "m": 1024**2}
BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB")
DECIMAL = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "pb": 10**15}
BYTES = (
    DECIMAL
    | {unit.lower(): 1024**power for power, unit in enumerate(BINARY[:6])}
    | {unit[0].lower(): 1024**power for power, unit in enumerate(BINARY[:6]) if power}
    | {"": 1}
)
NUMBER = re.compile(r"\s*((?:\d{1,3}(?:,\d{3})+|\d[\d_]*)(?:\.\d+)?)\s*([a-zA-Z/]*)\s*", re.ASCII)
# What may be one number with commas in it or several: and where it is one for certain, no count starting with 0.
COMMAS = re.compile(r"(?<![\d.])\d{1,3},\d{3}(?![\d.])", re.ASCII)
THOUSANDS = re.compile(r"\s*[1-9]\d{0,2}(?:,\d{3})+\s*[a-zA-Z]?\s*", re.ASCII)
LEADING_ZERO = re.compile(r",0\d", re.ASCII)
LEAST_BARE = 2**20  # a size without a unit below this is taken for one whose unit was forgotten


def parse_count(text: str, what: str = "a number of tokens") -> int:
    """`8192`, `8,192`, `1_000`, `8k` or `128K` (k = 1024), `1M` (1024²) as an integer of at least 1."""
    number, unit = split(text, what, "like 4096, 8k or 128K (k = 1024)")
    if unit not in TOKENS:
        raise UsageError(f"{show(text)} is not {what}: the suffixes are k (1024) and m (1024²)")
    value = number * TOKENS[unit]
    if value.denominator != 1 or value < 1:
        raise UsageError(f"{show(text)} is not {what}: it must be a whole number from 1 up")
    return bounded(int(value), text)


def parse_counts(texts: list[str], what: str = "a number of tokens") -> tuple[int, ...]:
    """Several counts, given apart or with commas between, each once and in the order given.

    `131,072` is one number, for none starts with 0. Raises UsageError for `128,256`, which may be one or two.
    """
    parts = [part for text in texts for part in listed(text)]
    return tuple(dict.fromkeys(parse_count(part, what) for part in parts))


def listed(text: str) -> list[str]:
    """The numbers in a text with commas, which stand between numbers or, as in what we print, between thousands."""
    if not COMMAS.search(text):
        return text.split(",")
    if THOUSANDS.fullmatch(text) and LEADING_ZERO.search(text):
        return [text]
    if THOUSANDS.fullmatch(text):
        bare = text.replace(",", "").strip()
        apart = ", ".join(part.strip() for part in text.split(","))
        raise UsageError(f"{show(text)} may be one number or several. Write {bare}, or with spaces: '{apart}'.")
    raise UsageError(f"{show(text)}: in a list, write numbers without commas of their own, like 8192,131072.")


def parse_bytes(text: str) -> int:
    """`24GiB` or `24G` (binary, as in coreutils), `24GB` (decimal), `1073741824` as bytes, rounded down.

    A number without a unit is bytes where that can be meant, from 1 MiB on.
    """
    number, unit = split(text, "a size", "like 24GiB, 80GB or 1073741824")
    if not unit and 0 < number < LEAST_BARE:
        n = text.strip()
        raise UsageError(f"{show(text)} has no unit. Write {n}GiB or {n}GB, or {n}B if so few bytes are meant.")
    if unit not in BYTES:
        raise UsageError(f"{show(text)} is not a size: the units are B, KiB, MiB, GiB, TiB and kB, MB, GB, TB")
    size = int(number * BYTES[unit])
    if size < 1:
        raise UsageError(f"{show(text)} is less than one byte")
    return bounded(size, text)


def parse_bandwidth(text: str) -> int:
    """`3.35TB/s`, `900GB/s`, `200GiB/s` as bytes a second, rounded down. The `/s` may be left out."""
    number, unit = split(text, "a bandwidth", "like 3.35TB/s or 900GB/s")
    unit = unit.removesuffix("/s")
    if unit not in BYTES or not unit:
        raise UsageError(f"{show(text)} is not a bandwidth: write it like 3.35TB/s or 900GB/s")
    speed = int(number * BYTES[unit])
    if speed < 1:
        raise UsageError(f"{show(text)} is less than one byte a second")
    return bounded(speed, text)


def split(text: str, what: str, example: str) -> tuple[Fraction, str]:
    """The number and the lower-case unit of `text`. Raises UsageError that says what was expected."""
    match = NUMBER.fullmatch(text)
    if match is None or len(text) > 40:
        raise UsageError(f"{show(text)} is not {what}. Write it {example}.")
    return Fraction(match[1].replace("_", "").replace(",", "")), match[2].lower()


def bounded(value: int, text: str) -> int:
    """`value`, unless it is beyond anything real."""
    if value > LARGEST:
        raise UsageError(f"{show(text)} is too large: at most 10^18")
    return value


def show(text: str) -> str:
    """`text` quoted for a message, shortened when it is long."""
    return repr(text if len(text) <= 24 else text[:21] + "...")


def format_bytes(n_bytes: int, digits: int = 1) -> str:
    """`n_bytes` in the largest binary unit that keeps it at 1 or more: `576 B`, `68.6 KiB`, `4.0 GiB`."""
    power = min(max(n_bytes.bit_length() - 1, 0) // 10, len(BINARY) - 1)
    if power and power < len(BINARY) - 1 and rounded(n_bytes, 1024**power, digits) >= 1024 * 10**digits:
        power += 1  # 1023.97 KiB would be shown as 1024.0 KiB
    if not power:
        return f"{n_bytes:,} B"
    return f"{decimal(n_bytes, 1024**power, digits)} {BINARY[power]}"


def short_bytes(n_bytes: int) -> str:
    """`format_bytes` without a `.0` that says nothing: `128 KiB`, `1.6 GiB`."""
    return format_bytes(n_bytes).replace(".0 ", " ")


def decimal(numerator: int, denominator: int, digits: int = 1) -> str:
    """`numerator / denominator` to `digits` decimals, half up, with thousands separators."""
    scaled = rounded(numerator, denominator, digits)
    whole, part = divmod(scaled, 10**digits)
    return f"{whole:,}" + (f".{part:0{digits}d}" if digits else "")


def rounded(numerator: int, denominator: int, digits: int) -> int:
    """`numerator / denominator × 10^digits` as the nearest integer, half up."""
    return (2 * numerator * 10**digits + denominator) // (2 * denominator)


def format_seconds(numerator: int, denominator: int) -> str:
    """`numerator / denominator` seconds in ns, µs, ms, s or h, with about three digits.

    Unit and digits are chosen of what is shown: 999.5 µs rounds to 1.00 ms.
    """
    if numerator >= 7200 * denominator:
        return f"{decimal(numerator, denominator * 3600)} h"
    scales = (("ns", 10**9), ("µs", 10**6), ("ms", 10**3))
    unit, scale = next((s for s in scales if rounded(numerator * s[1], denominator, 0) < 1000), ("s", 1))
    value = numerator * scale
    digits = next((n for n in (2, 1) if rounded(value, denominator, n) < 1000), 0)
    return f"{decimal(value, denominator, digits)} {unit}"
