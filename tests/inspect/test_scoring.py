"""Scores of given texts: against the reference in float64, by hand, and in windows."""

import math

import numpy as np
import pytest
from helpers import reference
from helpers.dump_cases import tiny
from helpers.random_llama import KINDS, settings, tensors

from glasscli import load_model
from glasscli.errors import CheckpointError, UsageError
from glasscli.inspect.predictions import (
    entropy_bits,
    guesses,
    guesses_of_rows,
    kl_bits,
    log_softmax,
    one_token,
    ranks_of,
)
from glasscli.inspect.scoring import cut_windows, has_stories, score_stories, score_text
from glasscli.progress import Progress

TEXT = "one two one two, three"


def expected_logprobs(ids: list[int], kind: str = "gqa") -> list[float]:
    """ln p of each token but the first, by the reference."""
    config = settings(vocab_size=257, **KINDS[kind])
    logits = reference.logits(config, tensors(config), ids)
    return [float(row[i] - np.logaddexp.reduce(row)) for row, i in zip(logits, ids[1:], strict=False)]


@pytest.mark.parametrize("kind", ["gqa", "untied", "biases"])
def test_every_token_is_as_likely_as_the_reference_says(kind: str) -> None:
    loaded = tiny(kind)
    ids = loaded.encode(TEXT)
    expected = expected_logprobs(ids, kind)
    score = score_text(loaded, TEXT)
    assert [score.opening[0].id, *(token.token.id for token in score.tokens)] == ids
    np.testing.assert_allclose([token.logprob for token in score.tokens], expected, atol=2e-5)
    assert score.nats_per_token == pytest.approx(-sum(expected) / len(expected), abs=1e-5)
    assert score.perplexity == pytest.approx(math.exp(score.nats_per_token))
    # Nothing is put in front of a text here, so its first byte is not scored.
    assert score.n_bytes == len(TEXT) - 1
    assert score.bits_per_byte == pytest.approx(-sum(expected) / math.log(2) / (len(TEXT) - 1), abs=1e-5)


def test_ranks_and_alternatives() -> None:
    loaded = tiny()
    ids = loaded.encode(TEXT)
    config = settings(vocab_size=257)
    logits = reference.logits(config, tensors(config), ids)
    for row, token in zip(logits, score_text(loaded, TEXT, n_top=3).tokens, strict=False):
        assert token.rank == 1 + sum(other > row[token.token.id] for other in row)
        assert [guess.token.id for guess in token.top] == np.argsort(-row, kind="stable")[:3].tolist()
        assert token.top[0].p == pytest.approx(np.exp(row.max() - np.logaddexp.reduce(row)), abs=1e-5)
        assert (token.rank == 1) == (token.top[0].token == token.token)


def test_windows_share_half_and_score_each_token_once() -> None:
    """The protocol written out: the model reads a window, and what an earlier one has scored is left out."""
    loaded = tiny()
    ids = loaded.encode("a cat and a dog and a cow and a cat")
    expected, done = [], 0
    for start in range(0, len(ids), 4):
        row = expected_logprobs(ids[start : start + 9])  # 8 are read, the ninth is predicted
        if start + len(row) > done:
            expected += row[done - start :]
            done = start + len(row)
    score = score_text(loaded, ids, context=8)
    assert [token.position for token in score.tokens] == list(range(1, len(ids)))
    np.testing.assert_allclose([token.logprob for token in score.tokens], expected, atol=2e-5)
    assert [(w.start, w.stop, w.done) for w in cut_windows(15, 8)] == [(0, 8, 0), (4, 12, 8), (8, 14, 12)]
    assert list(cut_windows(1, 8)) == []


def test_a_stride_says_how_much_windows_share() -> None:
    """Windows of 6, moved on by 5: after the first, each scores five tokens behind one that it has read again."""
    loaded = tiny()
    ids = loaded.encode("a cat and a dog")
    expected = expected_logprobs(ids[:7]) + expected_logprobs(ids[5:12])[1:] + expected_logprobs(ids[10:15])[1:]
    score = score_text(loaded, ids, context=6, stride=5)
    np.testing.assert_allclose([token.logprob for token in score.tokens], expected, atol=2e-5)
    assert (score.context, score.stride) == (6, 5)
    assert [(w.start, w.stop, w.done) for w in cut_windows(13, 6, 6)] == [(0, 6, 0), (6, 12, 6)]
    every = score_text(loaded, ids, context=6, stride=1).tokens
    assert [token.window for token in every] == [0] * 6 + [*range(1, 9)]


def test_a_large_vocabulary_is_read_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = score_text(tiny(), TEXT, n_top=3)
    monkeypatch.setattr("glasscli.inspect.scoring.MAX_LOGPROBS", 600)  # two rows of 257
    assert score_text(tiny(), TEXT, n_top=3) == whole


def test_long_windows_in_stretches_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = score_text(tiny(), TEXT)
    monkeypatch.setattr("glasscli.inspect.scoring.CHUNK", 3)
    parts = score_text(tiny(), TEXT)
    np.testing.assert_allclose([t.logprob for t in parts.tokens], [t.logprob for t in whole.tokens], atol=2e-5)
    assert [t.token for t in parts.tokens] == [t.token for t in whole.tokens]


def test_stories_stand_alone_between_two_marks() -> None:
    loaded = tiny()
    corpus = "a cat\n<|endoftext|>\n\n\none dog, é\n<|endoftext|>\n"
    score = score_stories(loaded, corpus)
    ids = [[0, *loaded.encode(story), 0] for story in ("a cat", "one dog, é")]
    expected = [logprob for story in ids for logprob in expected_logprobs(story)]
    np.testing.assert_allclose([token.logprob for token in score.tokens], expected, atol=2e-5)
    assert (score.n_texts, score.n_bytes) == (2, len("a cat") + len("one dog, é".encode()))
    assert [token.token.id for token in score.tokens][-1] == 0
    assert [token.text for token in score.tokens] == [0] * 6 + [1] * 12
    assert has_stories(loaded, corpus)
    assert not has_stories(loaded, "a cat")


def test_a_mark_in_front_makes_all_of_the_text_count() -> None:
    score = score_text(load_model(), "Once upon a time")
    assert score.opening[0].text == "<|endoftext|>"
    assert score.n_bytes == len("Once upon a time")


def test_an_edit_changes_the_run() -> None:
    loaded = tiny()
    silenced = score_text(loaded, TEXT, edit=lambda _, place, x: np.zeros_like(x) if place == "logits" else x)
    assert all(token.p == pytest.approx(1 / 257) and token.rank == 1 for token in silenced.tokens)
    assert silenced.perplexity == pytest.approx(257)
    same = score_text(loaded, TEXT, edit=lambda _layer, _place, x: x)
    assert same.nats == pytest.approx(score_text(loaded, TEXT).nats, rel=1e-5)


def test_what_can_not_be_scored_is_refused() -> None:
    loaded = tiny()
    with pytest.raises(UsageError, match="nothing to score"):
        score_text(loaded, "a")
    with pytest.raises(UsageError, match="expected 2 to 512"):
        score_text(loaded, TEXT, context=513)
    with pytest.raises(UsageError, match="stride of 9 tokens; expected 1 to 8"):
        score_text(loaded, TEXT, context=8, stride=9)
    with pytest.raises(UsageError, match="no story"):
        score_stories(loaded, " \n<|endoftext|>\n")
    with pytest.raises(UsageError, match="no token with the id 999"):
        score_text(loaded, [1, 999])
    with pytest.raises(CheckpointError, match="NaN or infinity"):
        score_text(loaded, TEXT, edit=lambda _, place, x: x * np.nan if place == "logits" else x)


def test_a_row_of_logits_by_hand() -> None:
    p, q = np.array([0.5, 0.25, 0.125, 0.125]), np.array([0.25, 0.25, 0.25, 0.25])
    logits = np.log(p).astype(np.float32) + 3
    np.testing.assert_allclose(np.exp(log_softmax(logits)), p, atol=1e-7)
    assert entropy_bits(np.log(p)) == pytest.approx(1.75)
    assert kl_bits(np.log(p), np.log(q)) == pytest.approx(2 - 1.75)
    assert kl_bits(np.log(p), np.log(p)) == 0
    assert ranks_of(np.stack([logits] * 3), [0, 1, 3]) == [1, 2, 3]


def test_one_token_of_a_word() -> None:
    loaded = load_model()
    assert one_token(loaded, "Lily").raw == one_token(loaded, " Lily").raw == b" Lily"
    assert one_token(loaded, ",").raw == b","
    assert one_token(loaded, loaded.encode("Lily")[1]).raw == b"Lily"
    assert one_token(loaded, "<|endoftext|>").id == 0
    with pytest.raises(UsageError, match="is not one token"):
        one_token(loaded, "hippopotamus")
    with pytest.raises(UsageError, match="no token with the id"):
        one_token(loaded, 5000)


def test_rows_that_are_no_token_are_never_guessed() -> None:
    from dataclasses import replace

    loaded = replace(tiny(), unused_ids=(5,))
    logits = np.zeros(257, np.float32)
    logits[5], logits[9] = 8, 4
    assert [guess.token.id for guess in guesses(loaded, logits, 2)] == [9, 0]
    assert guesses(loaded, logits, 0) == ()


def test_guesses_of_rows_are_those_of_each_row() -> None:
    """The row of an equal value has the lower id first, wherever the cut falls."""
    logits = np.random.default_rng(1).integers(0, 4, (20, 257)).astype(np.float32)
    rows = guesses_of_rows(tiny(), log_softmax(logits), 9)
    for row, found in zip(logits, rows, strict=True):
        assert [guess.token.id for guess in found] == np.argsort(-row, kind="stable")[:9].tolist()
    assert len(guesses_of_rows(tiny(), log_softmax(logits), 999)[0]) == 257


def test_a_perplexity_past_all_numbers_is_infinite() -> None:
    score = score_text(tiny(), TEXT, edit=lambda _, place, x: x * 1e4 if place == "logits" else x)
    assert score.nats_per_token > 710
    assert score.perplexity == math.inf


class Told(Progress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.ended = 0

    def moved(self, what: str, done: int, total: int | None) -> None:
        assert (what, total) == ("scoring", len("a catone dog") if self.ended == 1 else len(TEXT) - 1)
        self.done.append(done)

    def over(self) -> None:
        self.ended += 1


def test_how_far_it_is() -> None:
    told = Told()
    score_text(tiny(), TEXT, progress=told)
    assert told.done == sorted(told.done)
    assert 0 <= told.done[0] < told.done[-1] < len(TEXT)
    told.done.clear()
    score_stories(tiny(), "a cat<|endoftext|>one dog", progress=told)
    assert told.done == [5, 12]
    with pytest.raises(UsageError):
        score_text(tiny(), TEXT, context=8, stride=9, progress=told)
    with pytest.raises(CheckpointError):
        score_text(tiny(), TEXT, edit=lambda _, place, x: x * np.nan if place == "logits" else x, progress=told)
    assert told.ended == 3
