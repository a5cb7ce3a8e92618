"""Sizes as people write and read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasscli.errors import UsageError
from glasscli.units import (
    format_bytes,
    format_seconds,
    parse_bandwidth,
    parse_bytes,
    parse_count,
    parse_counts,
)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1", 1),
        ("8192", 8192),
        ("8k", 8 * 1024),
        ("128K", 128 * 1024),
        ("1_000", 1000),
        ("1M", 1024 * 1024),
        ("1.5k", 1536),
        (" 4 k ", 4096),
        ("131,072", 131072),
        ("1,048,576", 1048576),
        ("1000000000000", 10**12),
    ],
)
def test_counts(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize(
    "text",
    ["", "0", "-1", "+1", "1e3", "nan", "inf", "0x10", "8kb", "1.3k", "8 8", "k", "٣", "_1", "9" * 30, "9" * 5000],
)
def test_counts_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_count(text)
    assert len(str(caught.value)) < 200


def test_the_largest_number_that_is_taken_for_no_slip() -> None:
    assert parse_count(str(10**18)) == 10**18
    with pytest.raises(UsageError, match="too large: at most 10"):
        parse_count(str(10**18 + 1))


def test_several_counts_in_the_order_given_without_doubles() -> None:
    assert parse_counts(["8k,1k", "8192", "2k"]) == (8192, 1024, 2048)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("131,072", (131072,)),
        ("1,048,576", (1048576,)),
        ("1,024k", (1048576,)),
        ("8k,128k", (8192, 131072)),
        ("1024,2048", (1024, 2048)),
        ("128, 256", (128, 256)),
        ("64,4k,16", (64, 4096, 16)),
    ],
)
def test_commas_between_thousands_and_between_numbers(text: str, counts: tuple[int, ...]) -> None:
    assert parse_counts([text]) == counts


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("202,752", "one number or several. Write 202752, or with spaces: '202, 752'"),
        ("128,256,512", "one number or several"),
        ("8k,131,072", "in a list"),
        ("1,024,2,048", "in a list"),
        ("8,192,128k", "one number or several"),
    ],
)
def test_commas_that_may_mean_either_are_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_counts([text])


@given(st.integers(min_value=1, max_value=10**18))
def test_a_number_as_we_print_it_is_itself_or_refused_in_a_list(n: int) -> None:
    assert parse_count(f"{n:,}") == n
    try:
        assert parse_counts([f"{n:,}"]) == (n,)
    except UsageError:
        assert n >= 1000


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("24GiB", 24 * 2**30),
        ("24gib", 24 * 2**30),
        ("24G", 24 * 2**30),
        ("24GB", 24 * 10**9),
        ("80GB", 80 * 10**9),
        ("1.5 MiB", 3 * 2**19),
        ("1048576", 2**20),
        ("1,073,741,824", 2**30),
        ("1,024 GiB", 2**40),
        ("100B", 100),
        ("0.5TB", 5 * 10**11),
    ],
)
def test_bytes(text: str, n_bytes: int) -> None:
    assert parse_bytes(text) == n_bytes


@pytest.mark.parametrize("text", ["80", "80.5", "1,024", "1048575"])
def test_a_forgotten_unit_is_asked_for(text: str) -> None:
    with pytest.raises(UsageError, match=f"'{text}' has no unit. Write {text}GiB or {text}GB, or {text}B"):
        parse_bytes(text)


@pytest.mark.parametrize("text", ["", "0", "0.1B", "-1GiB", "24 gigabytes", "GiB", "1e9", "24GiB/s", "9999999YiB"])
def test_bytes_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "speed"),
    [("3.35TB/s", 3_350_000_000_000), ("900GB/s", 9 * 10**11), ("200GiB/s", 200 * 2**30), ("1TB", 10**12)],
)
def test_bandwidths(text: str, speed: int) -> None:
    assert parse_bandwidth(text) == speed


@pytest.mark.parametrize("text", ["", "3.35", "0TB/s", "fast", "3TB/h", "-1TB/s"])
def test_bandwidths_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_bandwidth(text)


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1.0 KiB"),
        (131072, "128.0 KiB"),
        (70272, "68.6 KiB"),
        (1075, "1.0 KiB"),  # 1.0498
        (1076, "1.1 KiB"),  # 1.0508: half up
        (1024 * 1024 - 52, "1,023.9 KiB"),
        (1024 * 1024 - 51, "1.0 MiB"),  # 1,023.95 KiB would be shown as 1,024.0
        (2**20 - 1, "1.0 MiB"),
        (2**30 - 2**10, "1.0 GiB"),
        (2**30, "1.0 GiB"),
        (1023 * 2**30, "1,023.0 GiB"),
        (2**80, "1.0 YiB"),
        (2**100, "1,048,576.0 YiB"),
    ],
)
def test_shown_bytes(n_bytes: int, text: str) -> None:
    assert format_bytes(n_bytes) == text


@given(st.integers(min_value=0, max_value=2**90))
def test_shown_bytes_are_near(n_bytes: int) -> None:
    number, unit = format_bytes(n_bytes).replace(",", "").split(" ")
    shown = float(number) * 1024 ** ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB").index(unit)
    assert abs(shown - n_bytes) <= max(0.0501 * 1024 ** (shown > 0 and len(unit) > 1), 0.05 * n_bytes)
    assert unit == "YiB" or float(number) < 1024


@pytest.mark.parametrize(
    ("numerator", "denominator", "text"),
    [
        (0, 1, "0.00 ns"),
        (2**30, 3_350_000_000_000, "321 µs"),
        (1, 10**9, "1.00 ns"),
        (5, 1000, "5.00 ms"),
        (59, 1, "59.0 s"),
        (3600, 1, "3,600 s"),
        (7199, 1, "7,199 s"),
        (9_994, 10**6, "9.99 ms"),
        (99_949, 10**6, "99.9 ms"),
        (100_049, 10**6, "100 ms"),
        (7200, 1, "2.0 h"),
        (9_999, 10**7, "1.00 ms"),  # 999.9 µs
        (9_995, 10**7, "1.00 ms"),
        (9_994, 10**7, "999 µs"),
        (9_997, 10**6, "10.0 ms"),  # 9.997 ms
        (99_970, 10**6, "100 ms"),
        (9_996, 10**4, "1.00 s"),  # 999.6 ms
    ],
)
def test_shown_times(numerator: int, denominator: int, text: str) -> None:
    assert format_seconds(numerator, denominator) == text
