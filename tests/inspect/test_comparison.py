"""Two prompts side by side, and what carries the difference between them."""

import numpy as np
import pytest
from helpers import reference
from helpers.dump_cases import tiny
from helpers.odd_models import ODD, odd
from helpers.random_llama import settings, tensors

from glasscli.errors import UsageError
from glasscli.inspect.ablation import Part
from glasscli.inspect.comparison import compare, movement, total_variation
from glasscli.inspect.dump import dump_attention
from glasscli.inspect.patching import patch_parts, patch_stream
from glasscli.inspect.predictions import one_token

A, B = "one two six", "one ten six"
CONFIG = settings(vocab_size=257)


def logprobs(text: str) -> np.ndarray:
    logits = reference.logits(CONFIG, tensors(CONFIG), tiny().encode(text))
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


def kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return (np.exp(p) * (p - q)).sum(axis=-1) / np.log(2)


def test_total_variation_by_hand() -> None:
    a, b = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), np.array([[0.25, 0.25, 0.5], [0.0, 0.5, 0.5]])
    np.testing.assert_allclose(total_variation(a, b), [0.5, 1.0])
    np.testing.assert_allclose(total_variation(a, a), 0)


def test_prompts_of_one_length_are_compared_position_by_position() -> None:
    found = compare(tiny(), A, B, n_top=2)
    assert found.same_length
    assert (found.n_first, found.n_last) == (5, 4)  # "one t", " six"
    np.testing.assert_allclose(found.kl_bits, kl(logprobs(A), logprobs(B)), atol=1e-4)
    assert max(found.kl_bits[:5]) < 1e-6 < found.kl_bits[5]
    assert found.last_kl_bits == pytest.approx(found.kl_bits[-1])
    assert [guess.token.id for guess in found.top_a] == np.argsort(-logprobs(A)[-1])[:2].tolist()
    assert [guess.token.id for guess in found.top_b] == np.argsort(-logprobs(B)[-1])[:2].tolist()
    dumps = [dump_attention(tiny(), text, range(3)) for text in (A, B)]
    for head in found.heads:
        a, b = (dump.layers[head.part.layer].pattern_HTS[head.part.head or 0] for dump in dumps)
        np.testing.assert_allclose(head.by_position, np.abs(a - b).sum(axis=-1) / 2, atol=1e-6)
        assert (head.mean, head.last) == (pytest.approx(np.mean(head.by_position)), head.by_position[-1])
    assert len(found.heads) == 12
    assert [head.mean for head in found.heads] == sorted((head.mean for head in found.heads), reverse=True)


def test_prompts_of_other_lengths_are_compared_where_they_can_be() -> None:
    long = "one eleven six"
    found = compare(tiny(), A, long)
    assert not found.same_length
    assert found.heads == ()
    assert (found.n_first, found.n_last) == (4, 4)  # "one ", " six"
    a, b = logprobs(A), logprobs(long)
    np.testing.assert_allclose(
        found.kl_bits, kl(np.concatenate([a[:4], a[-4:]]), np.concatenate([b[:4], b[-4:]])), atol=1e-4
    )
    assert found.last_kl_bits == pytest.approx(kl(a[-1], b[-1]), abs=1e-4)
    nested = compare(tiny(), "aa", "aaa")  # no token is counted at both ends
    assert (nested.n_first, nested.n_last) == (2, 0)
    for ask in (patch_parts, patch_stream, movement):
        with pytest.raises(UsageError, match="11 and 14 tokens"):
            ask(tiny(), A, long)


def test_attention_is_the_only_place_where_tokens_mix() -> None:
    found = movement(tiny(), A, B)
    assert found.changed == (5, 6)
    for whole, alone in zip(found.whole, found.without_attention, strict=True):
        assert max(whole[:5]) == 0
        assert min(whole[5:]) > 0
        assert [at for at, gap in enumerate(alone) if gap] == [5, 6]


@pytest.mark.parametrize("kind", ODD)
def test_without_attention_nothing_spreads_in_other_models(kind: str) -> None:
    found = movement(odd(kind), A, B)
    assert [at for at, gap in enumerate(found.without_attention[-1]) if gap] == [5, 6]


def test_a_stream_taken_over_at_the_last_layer_is_the_prediction() -> None:
    loaded = tiny()
    found = patch_stream(loaded, A, B, token=one_token(loaded, "t"))
    best = next(patch for patch in found.patches if patch.label == "resid_post 2 at 10")
    t = one_token(loaded, "t").id
    assert best.kl_bits == pytest.approx(0, abs=1e-6)
    assert best.healed == pytest.approx(1)
    assert best.watched.logprob == pytest.approx(logprobs(A)[-1][t], abs=1e-4)
    assert found.in_b.logprob == pytest.approx(logprobs(B)[-1][t], abs=1e-4)
    assert found.kl_bits == pytest.approx(kl(logprobs(A)[-1], logprobs(B)[-1]), abs=1e-4)
    # At an earlier position the last layer's stream goes nowhere.
    lost = next(patch for patch in found.patches if patch.label == "resid_post 2 at 7")
    assert lost.healed == pytest.approx(0, abs=1e-4)


def test_all_that_changed_taken_over_in_front_is_the_other_prompt() -> None:
    """The stream that enters layer 0 is the embedding: both changed tokens patched, one after the other, would be A;
    each alone is the prompt with that one token."""
    loaded = tiny()
    found = patch_stream(loaded, A, B, place="resid_pre", positions=[5, 6], token=one_token(loaded, "x"))
    x = one_token(loaded, "x").id
    for label, mixed in (("resid_pre 0 at 5", "one twn six"), ("resid_pre 0 at 6", "one teo six")):
        patch = next(patch for patch in found.patches if patch.label == label)
        assert patch.watched.logprob == pytest.approx(logprobs(mixed)[-1][x], abs=1e-4)


def test_a_head_of_a_prompt_put_into_itself_changes_nothing() -> None:
    found = patch_parts(tiny(), A, A)
    assert found.kl_bits == 0
    assert max(patch.kl_bits for patch in found.patches) < 1e-6
    assert all(patch.healed is None for patch in found.patches)


def test_a_patch_at_one_position_is_not_one_at_all() -> None:
    loaded = tiny()
    everywhere, last, before = (
        patch_parts(loaded, A, B, parts=[Part(2, 1)], position=position).patches[0] for position in (None, -1, 2)
    )
    # In the last layer only the last position reaches the last prediction; before the first change nothing differs.
    assert everywhere.kl_bits == pytest.approx(last.kl_bits, abs=1e-6)
    assert before.healed == pytest.approx(0, abs=1e-5)


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="no place 'mix'"):
        patch_stream(tiny(), A, B, place="mix")
    with pytest.raises(UsageError, match="no position 11"):
        patch_stream(tiny(), A, B, positions=[11])
    with pytest.raises(UsageError, match=r"no head 0\.9"):
        patch_parts(tiny(), A, B, parts=[Part(0, 9)])
