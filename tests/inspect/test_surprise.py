"""Sums over parts of a scored text, by hand."""

import math

import pytest

from glasscli.inspect.dump import Token
from glasscli.inspect.scoring import ScoredToken, TextScore
from glasscli.inspect.surprise import by_position, by_surprise, most_surprising

BITS = (0.5, 1.0, 2.0, 8.0, 3.0, 0.0)


def score(bits: tuple[float, ...] = BITS) -> TextScore:
    """A text whose tokens after the first have these surprises."""
    token = Token(7, b"x")
    scored = [ScoredToken(i, token, -b * math.log(2), 1) for i, b in enumerate(bits, 1)]
    return TextScore((token,), tuple(scored), len(bits), 1, 16, 8)


def test_by_place_spans_double() -> None:
    shares = by_position(score(), first=2)
    assert [(s.start, s.stop, s.n_tokens) for s in shares] == [(1, 2, 1), (2, 4, 2), (4, None, 3)]
    assert [s.bits for s in shares] == pytest.approx([0.5, 3.0, 11.0])
    assert shares[1].nats_per_token == pytest.approx(1.5 * math.log(2))
    assert [(s.start, s.stop) for s in by_position(score())] == [(1, None)]


def test_by_surprise_each_step_begins_at_its_bound() -> None:
    shares = by_surprise(score(), (1.0, 3.0, 9.0))
    assert [s.n_tokens for s in shares] == [2, 2, 2, 0]
    assert [s.bits for s in shares] == pytest.approx([0.5, 3.0, 11.0, 0.0])
    assert shares[-1].nats_per_token is None
    assert sum(s.bits for s in shares) == pytest.approx(score().nats / math.log(2))


def test_the_least_expected_come_first_and_of_equals_the_earlier() -> None:
    assert [token.position for token in most_surprising(score((1.0, 4.0, 2.0, 4.0)), 3)] == [2, 4, 3]
