"""Measures of what a smaller cache costs, against numbers worked out by hand."""

import math

import numpy as np
import pytest

from glasscli.arrays import Array
from glasscli.errors import UsageError
from glasscli.quality.divergence import Chunk, compare, kl_divergence, log_softmax, mean_nats, standard_error


def logits_of(*rows: list[float]) -> Array:
    """Logits whose softmax is `rows`."""
    return np.log(np.array(rows)).astype(np.float32)


def test_kl_divergence_by_hand() -> None:
    """p = (½, ¼, ¼), q = (¼, ½, ¼): ½ ln 2 − ¼ ln 2 = ¼ ln 2; and it is not the same the other way round for all."""
    p, q = logits_of([0.5, 0.25, 0.25]), logits_of([0.25, 0.5, 0.25])
    assert kl_divergence(p, q)[0] == pytest.approx(0.25 * math.log(2), rel=1e-6)
    p, q = logits_of([0.9, 0.1]), logits_of([0.5, 0.5])
    forward = 0.9 * math.log(1.8) + 0.1 * math.log(0.2)
    backward = 0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(5)
    assert kl_divergence(p, q)[0] == pytest.approx(forward, rel=1e-5)
    assert kl_divergence(q, p)[0] == pytest.approx(backward, rel=1e-5)
    assert forward != pytest.approx(backward, rel=0.1)


def test_logits_may_be_large_and_a_constant_changes_nothing() -> None:
    logits = np.array([[1e4, 1e4 - 1, -1e4]], np.float32)
    assert np.isfinite(log_softmax(logits)).all()
    np.testing.assert_allclose(kl_divergence(logits, logits + 5), 0, atol=1e-9)


def test_perplexity_of_an_ignorant_and_of_a_surer_model() -> None:
    assert mean_nats(np.zeros((3, 8), np.float32), [1, 2, 3]) == pytest.approx(math.log(8))
    found = mean_nats(logits_of([0.5, 0.25, 0.25], [0.1, 0.8, 0.1]), [0, 1])
    assert found == pytest.approx(-(math.log(0.5) + math.log(0.8)) / 2, rel=1e-6)


def test_two_chunks_by_hand() -> None:
    full, tested = [0.5, 0.25, 0.25], [0.25, 0.5, 0.25]
    chunks = [
        Chunk(logits_of(full, full), logits_of(tested, full), [0, 0]),
        Chunk(logits_of(full), logits_of(full), [2]),
    ]
    found = compare(chunks)
    assert found.n_tokens == 3
    assert found.delta_nats == pytest.approx(math.log(2) / 3, rel=1e-6)  # ln ½ − ln ¼, over three tokens
    assert found.kld == pytest.approx(0.25 * math.log(2) / 3, rel=1e-5)
    assert found.kld_max == pytest.approx(0.25 * math.log(2), rel=1e-5)
    assert found.same_top == pytest.approx(2 / 3)
    # The chunks' means are ln 2 / 2 and 0: their standard deviation is their distance over √2, the error that over √2.
    assert found.delta_error == pytest.approx(math.log(2) / 4, rel=1e-6)


def test_errors_of_means() -> None:
    assert standard_error([1.0]) is None
    assert standard_error([1.0, 2.0, 3.0]) == pytest.approx(1 / math.sqrt(3))
    with pytest.raises(UsageError, match="no scored tokens"):
        compare([])
