"""Where a sweep samples, and what it finds there."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from glasscli.budget.questions import Settings
from glasscli.budget.subjects import from_name
from glasscli.budget.sweep import curve, spaced


@given(st.integers(1, 10**6), st.integers(0, 10**9), st.integers(2, 300), st.booleans())
def test_samples_go_from_end_to_end_in_order(first: int, more: int, count: int, log: bool) -> None:
    last = first + more
    lengths = spaced(first, last, count, log)
    assert (lengths[0], lengths[-1]) == (first, last) if more else lengths == (last,)
    assert all(a <= b for a, b in pairwise(lengths))
    assert len(lengths) in (1, count)


def test_even_on_either_axis() -> None:
    assert spaced(1, 1024, 11, log=True) == tuple(2**n for n in range(11))
    assert spaced(0, 100, 5, log=False) == (0, 25, 50, 75, 100)


def test_a_curve_is_what_the_plan_says() -> None:
    subject, settings = from_name("gemma-3-27b"), Settings(batch=3)
    lengths = (128, 1024, 1500, 32768)
    found = curve(subject, settings, lengths)
    assert found.sizes == tuple(settings.budget(subject, n).bytes_total for n in lengths)
    assert found.knees == (1024,)
    assert curve(subject, settings, (1, 1000)).knees == ()
