"""A score as the sum of its dimensions, and weights times the length of what they fetch."""

import math

import numpy as np
import pytest
from helpers import reference
from helpers.dump_cases import PROMPT, tiny_decode, tiny_dump
from helpers.odd_models import odd
from helpers.random_llama import settings

from glasscli import load_model
from glasscli.errors import UsageError
from glasscli.inspect.dump import dump_attention
from glasscli.inspect.measures import value_weighted
from glasscli.inspect.neurons import cell_terms, in_pairs


@pytest.mark.parametrize("kind", ["gqa", "mha", "mqa", "head_dim", "llama3"])
def test_the_terms_sum_to_the_score(kind: str) -> None:
    dump = tiny_dump(kind)
    (trace,), config = dump.layers, dump.config
    for head in range(config.n_heads):
        for query, key in ((0, 0), (7, 3), (14, 14), (14, 0)):
            cell = cell_terms(trace, config, head, query, key)
            assert cell.total == pytest.approx(trace.scores_HTS[head, query, key], abs=1e-5)
            assert cell.gap < 1e-5
            assert cell.kv_head == head * config.n_kv_heads // config.n_heads
            assert in_pairs(cell.terms).sum() == pytest.approx(cell.total)
            if query == key:  # at no distance rotation changes no score, pair by pair
                np.testing.assert_allclose(in_pairs(cell.plain_terms), in_pairs(cell.terms), atol=1e-5)


def test_rotating_the_plain_vectors_gives_the_others() -> None:
    """By the reference's own rotation, which shares no code."""
    dump = tiny_dump()
    cell = cell_terms(dump.layers[0], dump.config, 3, 12, 5)
    frequency = reference.frequencies(settings())
    q, k = reference.rotate(cell.plain_q, 12, frequency), reference.rotate(cell.plain_k, 5, frequency)
    np.testing.assert_allclose(q, cell.q, atol=1e-5)
    np.testing.assert_allclose(k, cell.k, atol=1e-5)
    assert cell.at_distance_0 == pytest.approx(cell.plain_q @ cell.plain_k / math.sqrt(8), abs=1e-9)
    turned = reference.rotate(cell.plain_q, 12 - 5, frequency) @ cell.plain_k / math.sqrt(8)
    assert cell.score == pytest.approx(turned, abs=1e-5)  # the score is of the distance alone


def test_normed_queries_are_what_is_rotated() -> None:
    loaded = odd("scaled residuals, q and k normed, no gate")
    dump = dump_attention(loaded, PROMPT, [1])
    cell = cell_terms(dump.layers[0], loaded.config, 2, 9, 9)
    assert cell.gap < 1e-5
    assert cell.at_distance_0 == pytest.approx(cell.score, abs=1e-5)


def test_a_key_from_the_cache_is_known_as_it_lies_there() -> None:
    dump = tiny_decode(2)
    trace = dump.layers[0]
    cached = cell_terms(trace, dump.config, 1, dump.start, 2)
    assert cached.gap < 1e-5
    assert cached.plain_k is None
    assert cached.at_distance_0 is None
    assert cell_terms(trace, dump.config, 1, dump.start + 1, dump.start).at_distance_0 is not None


def test_what_is_not_there_is_refused() -> None:
    dump = tiny_dump()
    for head, query, key, message in ((4, 0, 0, "no head 4"), (0, 15, 0, "no query"), (0, 0, -1, "no key")):
        with pytest.raises(UsageError, match=message):
            cell_terms(dump.layers[0], dump.config, head, query, key)


def test_weights_times_lengths_by_hand() -> None:
    pattern = np.array([[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.25, 0.75]]], np.float32)
    values = np.array([[[3.0, 4.0], [0.0, 2.0]]], np.float32)
    weighted, lengths = value_weighted(pattern, values)
    np.testing.assert_allclose(lengths, [[5, 2]])
    np.testing.assert_allclose(weighted, [[[5, 0], [2.5, 1]], [[5, 0], [1.25, 1.5]]])
    mixed = np.linalg.norm(pattern @ values[[0, 0]], axis=-1)
    assert (mixed <= weighted.sum(axis=-1) + 1e-6).all()


def test_the_opening_mark_has_little_to_give() -> None:
    """The shipped weights: what heads of the last layer put on the first token fetches a short vector."""
    trace = dump_attention(load_model(), "Once upon a time there was a little girl named Lily.", [3]).layers[0]
    _, lengths = value_weighted(trace.pattern_HTS, trace.cache_v_KSE)
    assert (lengths[:, 0] < lengths[:, 1:].min(axis=1) / 2).all()
