"""One option's value, from what was typed: a count, a size, a rate, a dtype. A mistake names the option."""

from glasscli.cli.commands.kv_budget.options import Options
from glasscli.dtypes import dtype_named
from glasscli.errors import UsageError
from glasscli.units import LARGEST, parse_bandwidth, parse_bytes, parse_count, parse_counts

BANDWIDTH = "3.35TB/s"  # an H100 SXM's
OF_TOKENS = ("--encoder-tokens", "--prefix-shared", "--page")


def count(option: str, text: str | None, default: int = 1, most: int = LARGEST) -> int:
    """The whole number that `option` was given, from 1 to `most`."""
    if text is None:
        return default
    try:
        found = parse_count(text, "a number of tokens" if option in OF_TOKENS else "a count")
    except UsageError as error:
        counts = text.split(",")
        if len(counts) > 1 and all(part.strip() for part in counts):
            raise UsageError(f"{option} takes one number, found {text!r}") from None
        raise UsageError(f"{option}: {error}") from None
    if found > most:
        raise UsageError(f"{option} {text}: at most {most:,}")
    return found


def counts_of(option: str, texts: list[str]) -> tuple[int, ...]:
    """The whole numbers that `option` was given; a mistake names the option."""
    try:
        return parse_counts(texts)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None


def size(option: str, text: str | None) -> int | None:
    """The bytes that `option` was given."""
    try:
        return None if text is None else parse_bytes(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None


def bandwidth(options: Options) -> int:
    """Bytes a second that a rank reads."""
    try:
        return parse_bandwidth(options.bandwidth or BANDWIDTH)
    except UsageError as error:
        raise UsageError(f"--bandwidth: {error}") from None


def dtype(option: str, text: str | None) -> str | None:
    """The name of the dtype that `option` was given, as we write it; `auto`, as engines say it, is the model's."""
    try:
        return None if text in (None, "auto") else dtype_named(text).name
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None
