"""The loss gradient at the logits: by hand, and against differences."""

import numpy as np
import pytest
from helpers.dump_cases import PROMPT, tiny

from glasscli.errors import UsageError
from glasscli.inspect.gradients import central_differences, gradient_of, loss_gradient, loss_of, most_pushed
from glasscli.inspect.predictions import one_token
from glasscli.inspect.scoring import score_text


def test_p_minus_y_by_hand() -> None:
    logits = np.log([0.5, 0.25, 0.25]) + 7
    np.testing.assert_allclose(gradient_of(logits, 1), [0.5, -0.75, 0.25], atol=1e-12)
    assert loss_of(logits, 1) == pytest.approx(np.log(4))


@pytest.mark.parametrize("scale", [0.1, 1, 10])
def test_differences_find_it_too(scale: float) -> None:
    logits = np.random.default_rng(0).normal(0, scale, 600)
    np.testing.assert_allclose(central_differences(logits, 7), gradient_of(logits, 7), atol=1e-8)


def test_differences_know_no_formula() -> None:
    """They are of the loss as it is: by another loss's gradient they are not fooled."""
    logits = np.array([1.0, 2.0, 3.0])
    assert np.abs(central_differences(logits, 0) - gradient_of(logits, 1)).max() > 0.5


def test_the_gradient_of_a_text() -> None:
    loaded = tiny()
    token = score_text(loaded, PROMPT).tokens[4]
    found = loss_gradient(loaded, PROMPT, position=4, n_top=3)
    assert (found.position, found.target) == (4, token.token)
    assert found.loss == pytest.approx(-token.logprob, abs=1e-6)
    assert found.at_target == pytest.approx(token.p - 1, abs=1e-6)
    assert abs(found.total) < 1e-12
    assert found.numeric_gap < 1e-8
    assert [i for i, x in enumerate(found.gradient) if x < 0] == [token.token.id]
    pushed = np.argsort(-found.gradient, kind="stable")[:3].tolist()
    assert [(t.id, x) for t, x in found.pulled] == [(i, found.gradient[i]) for i in pushed]


def test_after_the_last_token_the_target_must_be_said() -> None:
    with pytest.raises(UsageError, match="nothing follows the last token"):
        loss_gradient(tiny(), PROMPT)
    token = one_token(tiny(), "t")
    assert loss_gradient(tiny(), PROMPT, target=token).target == token


def test_of_a_large_vocabulary_the_logits_pushed_hardest_are_tried() -> None:
    """Their differences are those that all have; time does not grow with the square of the vocabulary."""
    logits = np.random.default_rng(0).normal(0, 3, 5000)
    gradient = gradient_of(logits, 7)
    tried = most_pushed(gradient)
    assert len(tried) == 64
    assert 7 in tried
    np.testing.assert_allclose(central_differences(logits, 7, only=tried), gradient[tried], atol=1e-7)
    assert most_pushed(gradient[:4096]).tolist() == list(range(4096))
