"""What each layer would say: its last row is the model's own word, its other rows that of a model cut short."""

import numpy as np
import pytest
from helpers import reference
from helpers.dump_cases import PROMPT, tiny
from helpers.odd_models import ODD, odd
from helpers.random_llama import settings, tensors

from glasscli.errors import UsageError
from glasscli.inspect.lens import read_lens
from glasscli.inspect.predictions import log_softmax, one_token


def test_a_row_says_what_a_model_of_so_many_layers_says() -> None:
    """The stream after layer i, read by the head, is what a model whose last layer is i says."""
    loaded = tiny()
    token = one_token(loaded, "t")
    (lens,) = read_lens(loaded, PROMPT, token=token, n_top=4)
    config = settings(vocab_size=257)
    weights, ids = tensors(config), loaded.encode(PROMPT)
    assert [(row.layer, row.place) for row in lens.rows] == [
        (None, "embedding"),
        *((layer, place) for layer in range(3) for place in ("resid_mid", "resid_post")),
    ]
    for n_layers, row in [(0, lens.rows[0]), (1, lens.rows[2]), (2, lens.rows[4]), (3, lens.rows[6])]:
        logits = reference.logits({**config, "num_hidden_layers": n_layers}, weights, ids)[-1]
        p = np.exp(logits - np.logaddexp.reduce(logits))
        assert [guess.token.id for guess in row.top] == np.argsort(-p, kind="stable")[:4].tolist()
        np.testing.assert_allclose([guess.p for guess in row.top], np.sort(p)[::-1][:4], atol=1e-5)
        assert row.entropy_bits == pytest.approx(-(p * np.log2(p)).sum(), abs=1e-4)
        assert row.watched is not None
        assert row.watched.p == pytest.approx(p[token.id], abs=1e-5)
        assert row.rank == 1 + (p > p[token.id]).sum()
    embedded = weights["model.embed_tokens.weight"][ids[-1]]
    assert lens.rows[0].norm == pytest.approx(np.linalg.norm(embedded), rel=1e-6)


def test_without_an_mlp_nothing_happens_between_its_two_rows() -> None:
    (lens,) = read_lens(tiny(), PROMPT, edit=lambda _, place, x: np.zeros_like(x) if place == "down" else x)
    for mid, post in zip(lens.rows[1::2], lens.rows[2::2], strict=True):
        assert (mid.top, mid.norm) == (post.top, post.norm)


@pytest.mark.parametrize("kind", ODD)
def test_the_last_row_is_the_model(kind: str) -> None:
    loaded = odd(kind)
    ids = loaded.encode(PROMPT)
    logits = loaded.model(ids)
    for lens in read_lens(loaded, PROMPT, range(len(ids)), n_top=3):
        expected = log_softmax(logits[lens.position])
        assert [guess.token.id for guess in lens.rows[-1].top] == np.argsort(-expected, kind="stable")[:3].tolist()
        np.testing.assert_allclose([g.logprob for g in lens.rows[-1].top], np.sort(expected)[::-1][:3], atol=1e-4)


def test_positions_count_from_either_end() -> None:
    n_tokens = len(tiny().encode(PROMPT))
    first, last, also_last = read_lens(tiny(), PROMPT, (0, -1, n_tokens - 1))
    assert last == also_last
    assert (first.position, last.position) == (0, n_tokens - 1)
    with pytest.raises(UsageError, match=f"no position {n_tokens}"):
        read_lens(tiny(), PROMPT, (n_tokens,))
