"""Parts taken out: against weights set to zero, which is the same thing done elsewhere."""

import numpy as np
import pytest
from helpers import reference
from helpers.dump_cases import PROMPT, tiny
from helpers.odd_models import ODD, odd
from helpers.random_llama import settings, tensors
from helpers.shipped_heads import copying_head, previous_head

from glasscli import load_model
from glasscli.arrays import Array
from glasscli.errors import UsageError
from glasscli.inspect.ablation import Part, ablate_prompt, ablate_text, all_parts, mean_outputs, remove
from glasscli.inspect.circuits import find_feeds
from glasscli.inspect.predictions import log_softmax, one_token
from glasscli.inspect.repeats import repeated_pairs, repeated_words
from glasscli.inspect.runs import last_logits
from glasscli.inspect.scoring import score_text

LILY = "Once upon a time there was a little girl named Lily. One day,"


def without(part: Part) -> dict[str, Array]:
    """The weights of `tiny()`, in which this part's output matrix is zero."""
    weights = tensors(settings(vocab_size=257))
    prefix = f"model.layers.{part.layer}."
    if part.head is None:
        weights[f"{prefix}mlp.down_proj.weight"][:] = 0
    else:
        weights[f"{prefix}self_attn.o_proj.weight"][:, part.head * 8 : (part.head + 1) * 8] = 0
    return weights


def expected(part: Part, ids: list[int]) -> Array:
    """ln p of every position by the reference, without the part."""
    logits = reference.logits(settings(vocab_size=257), without(part), ids)
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


def test_a_part_set_to_zero_is_one_whose_matrix_is_zero() -> None:
    loaded = tiny()
    ids, token = loaded.encode(PROMPT), one_token(loaded, "t")
    logits = reference.logits(settings(vocab_size=257), tensors(settings(vocab_size=257)), ids)[-1]
    whole = logits - np.logaddexp.reduce(logits)
    found = ablate_prompt(loaded, PROMPT, token=token)
    assert found.whole.logprob == pytest.approx(whole[token.id], abs=1e-5)
    assert {effect.part for effect in found.effects} == set(all_parts(loaded.config))
    assert len(found.effects) == 3 * 5
    for effect in found.effects:
        changed = expected(effect.part, ids)[-1]
        assert effect.watched.logprob == pytest.approx(changed[token.id], abs=1e-4), effect.part.label
        assert effect.kl_bits == pytest.approx((np.exp(whole) * (whole - changed)).sum() / np.log(2), abs=1e-4)
        assert effect.top[0].token.id == changed.argmax()
    sizes = [effect.kl_bits for effect in found.effects]
    assert sizes == sorted(sizes, reverse=True)


def test_a_text_without_a_part() -> None:
    loaded = tiny()
    ids = loaded.encode(PROMPT)
    parts = [Part(0, 1), Part(1), Part(2, 3)]
    found = ablate_text(loaded, PROMPT, parts=parts)
    logits = reference.logits(settings(vocab_size=257), tensors(settings(vocab_size=257)), ids)
    whole = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    at = (range(len(ids) - 1), ids[1:])
    words, pairs = (np.array(mask[1:]) for mask in (repeated_words(loaded.tokenizer, ids), repeated_pairs(ids)))
    assert (found.n_words, found.n_pairs) == (words.sum(), pairs.sum())
    for effect in found.effects:
        losses = whole[at] - expected(effect.part, ids)[at]
        assert effect.delta == pytest.approx(losses.mean(), abs=1e-4)
        assert effect.on_words == pytest.approx(losses[words].mean(), abs=1e-4)
        assert effect.on_pairs == pytest.approx(losses[pairs].mean(), abs=1e-4)
    assert [abs(effect.delta) for effect in found.effects] == sorted(
        (abs(e.delta) for e in found.effects), reverse=True
    )


@pytest.mark.parametrize("kind", [kind for kind in ODD if "out_bias" not in ODD[kind][1]])
def test_without_all_its_parts_only_the_embedding_is_left(kind: str) -> None:
    """What is taken out is gone in every order of norms; a model with biases has those left, too."""
    loaded = odd(kind)
    logits_V = last_logits(loaded, [5, 9], remove(all_parts(loaded.config)))
    embedded = loaded.model.weights.embedding[[9]] * loaded.config.embedding_scale
    np.testing.assert_allclose(logits_V, loaded.model.logits(embedded)[0], atol=1e-5)


def test_a_mean_is_put_in_the_place_of_every_token() -> None:
    """On a text of one token, over and over, a part's mean is what it gives anyway: nothing changes."""
    loaded = tiny()
    found = ablate_prompt(loaded, [7, 7, 7, 7], method="mean")
    assert max(effect.kl_bits for effect in found.effects) < 1e-6
    means = mean_outputs(loaded, loaded.encode(PROMPT), [Part(1, 2)])
    seen: list[Array] = []

    def look(layer: int | None, place: str, x: Array) -> Array:
        x = remove([Part(1, 2)], means)(layer, place, x)
        if (layer, place) == (1, "mix"):
            seen.append(x[2].copy())
        return x

    last_logits(loaded, loaded.encode(PROMPT), look)
    np.testing.assert_allclose(seen[0], np.tile(means[Part(1, 2)], (len(PROMPT), 1)), rtol=1e-6)
    zero, mean = (ablate_prompt(loaded, PROMPT, method=method) for method in ("zero", "mean"))
    assert zero.effects != mean.effects


def test_an_edit_leaves_the_run_before_it_alone() -> None:
    loaded = tiny()
    before = loaded.model(loaded.encode(PROMPT)).copy()
    last_logits(loaded, loaded.encode(PROMPT), remove([Part(0, 0), Part(2)]))
    np.testing.assert_array_equal(loaded.model(loaded.encode(PROMPT)), before)


def test_what_is_not_there_is_refused() -> None:
    for part, message in ((Part(3, 0), "no layer 3"), (Part(0, 4), "no head 0.4"), (Part(-1), "no layer -1")):
        with pytest.raises(UsageError, match=message):
            ablate_prompt(tiny(), PROMPT, parts=[part])
    with pytest.raises(UsageError, match="no ablation 'half'"):
        ablate_text(tiny(), PROMPT, method="half")


def test_repeats_by_hand() -> None:
    loaded = tiny()  # a token a byte
    ids = loaded.encode("ab ab")
    assert repeated_pairs(ids) == [False, False, False, False, True]
    assert repeated_words(loaded.tokenizer, ids) == [False, False, False, True, True]
    assert repeated_words(loaded.tokenizer, loaded.encode("a, ab. a!")) == [*[False] * 7, True, False]
    assert repeated_words(loaded.tokenizer, loaded.encode("é“é”")) == [*[False] * 5, True, True, *[False] * 3]
    assert repeated_words(loaded.tokenizer, [0, *loaded.encode("a"), 0, *loaded.encode("a")])[1:] == [
        False,
        False,
        True,
    ]
    assert repeated_pairs([]) == []


def test_the_copying_head_is_needed_for_the_name() -> None:
    """The shipped weights: one head brings the name back, one holds it down; on repeats the first matters most."""
    loaded = load_model()
    found = ablate_prompt(loaded, LILY, token=one_token(loaded, "Lily"))
    p = {effect.part.label: effect.watched.p for effect in found.effects}
    copies = copying_head()
    assert p[copies.label] < found.whole.p / 10
    assert max(p.values()) > 1.5 * found.whole.p
    (effect,) = ablate_text(loaded, LILY + " Lily saw a little girl named Sue.", parts=[copies]).effects
    assert effect.on_words is not None
    assert effect.on_words > 2 * effect.delta > 0


def test_the_previous_token_head_feeds_the_induction_head() -> None:
    feeds = find_feeds(load_model(), 16)
    first = feeds.pairs[0]
    assert (first.writer, first.reader, first.role) == (previous_head(), copying_head(), "induct")
    assert first.after < first.before / 2
    others = [feed for feed in feeds.pairs if feed.reader == first.reader and feed.role == "induct"][1:]
    assert len(others) == 4 * first.reader.layer - 1
    assert max(abs(feed.change) for feed in others) < abs(first.change) / 2
    assert all(feed.writer.layer < feed.reader.layer for feed in feeds.pairs)


def test_a_head_of_a_later_layer_feeds_nothing_earlier() -> None:
    """Taking out a head of the last layer changes no pattern at all."""
    loaded = tiny()
    ids = loaded.encode(PROMPT)
    score = score_text(loaded, ids)
    assert score_text(loaded, ids, edit=remove([])).nats == pytest.approx(score.nats, rel=1e-5)
    logprobs = log_softmax(last_logits(loaded, ids, remove([Part(2, 0)])))
    assert np.exp(logprobs).sum() == pytest.approx(1)
