"""Numbers on the screens of dump-attn: how many digits, and from where on an exponent."""

import numpy as np
import pytest

from glasscli.cli.commands.dump_attn.figures import bits, number, percent, reach, share
from glasscli.cli.commands.dump_attn.numbers import matrix
from glasscli.cli.page.page import Page


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.00"), (0.05, "0.05"), (0.01, "0.01"), (0.0099, "9.9e-03"), (-0.05, "-0.05"), (999.99, "999.99"),
        (1000.0, "1000"), (99_999.0, "99999"), (100_000.0, "1.0e+05"), (-123_456.0, "-1.2e+05"),
    ],
)  # fmt: skip
def test_a_number_has_about_three_digits(value: float, shown: str) -> None:
    assert number(value) == shown


def test_a_share_has_no_zero_in_front() -> None:
    assert [share(x) for x in (0.0, 0.214, 0.999, 1.0, None)] == [".00", ".21", "1.00", "1.00", "–"]
    assert [bits(1.584), percent(0.625), reach(2.25), bits(None)] == ["1.58 b", "62 %", "2.2", "–"]


def test_a_matrix_writes_out_numbers_below_a_hundred_thousand() -> None:
    values = np.array([[99_999.0, 100_000.0, -250_000.0, -0.001]])
    (_, row) = matrix(Page(100), [(0, "t")], values)
    assert "".join(text for text, _ in row).split() == ["t", "0", "99999.00", "1.0e+05", "-2.5e+05", "0.00"]
