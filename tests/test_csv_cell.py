"""What a spreadsheet would take for a formula is spelled out."""

import pytest

from glasscli.csv_cell import cell


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "<U+003D>1+1"),
        ("+cmd", "<U+002B>cmd"),
        ("-2", "<U+002D>2"),
        ("@SUM(A1)", "<U+0040>SUM(A1)"),
        ("\tx", "<U+0009>x"),
        ("\rx", "<U+000D>x"),
    ],
)
def test_what_begins_like_a_formula(text: str, shown: str) -> None:
    assert cell(text) == shown


@pytest.mark.parametrize("text", ["", "=", "-", "a=b", "llama-3.1-8b", "1-2", "·the", " =1"])
def test_what_does_not_stays(text: str) -> None:
    assert cell(text) == text
