"""The fast forms where softmax is delicate: scores so large or so small that e^score is no float32."""

from typing import Any

import numpy as np
import pytest
from helpers.random_llama import settings, tensors, token_ids

from glasscli import Llama, ModelConfig, Trace


def model_with_scores_near(score: float, values: float = 0.0) -> tuple[Llama, dict[str, Any]]:
    """A random Llama whose scores all lie around `score`: biases in the pair that rope turns least, q against k.

    Args:
        values: what is added to all values.
    """
    config = settings(attention_bias=True)
    weights = tensors(config)
    width = config["head_dim"]
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}.self_attn"
        size = abs(score * width**0.5) ** 0.5
        weights[f"{prefix}.q_proj.bias"].reshape(-1, width)[:, -1] += size
        weights[f"{prefix}.v_proj.bias"] += np.float32(values)
        weights[f"{prefix}.k_proj.bias"].reshape(-1, width)[:, -1] += size if score > 0 else -size
    return Llama(ModelConfig.from_dict(config), weights), config


@pytest.mark.parametrize("score", [-500.0, -80.0, -50.0, 50.0, 80.0, 500.0])
def test_extreme_scores_equal_the_readable_form(score: float) -> None:
    model, config = model_with_scores_near(score)
    ids = token_ids(config, 24)
    cache = model.new_cache(len(ids))
    fast = [model([token_id], cache)[0] for token_id in ids]
    readable = model(ids, trace=Trace([]))
    # A score of 500 is known to 3e-5 in float32, so its e^score to 3e-5 of itself, through three layers.
    np.testing.assert_allclose(np.stack(fast), readable, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(model(ids), readable, rtol=1e-3, atol=1e-3)


def test_large_scores_of_large_values_overflow_nothing() -> None:
    """e^80 alone is a float32, and so is a million; their product is none."""
    model, config = model_with_scores_near(80.0, values=1e6)
    ids = token_ids(config, 12)
    cache = model.new_cache(len(ids))
    fast = [model([token_id], cache)[0] for token_id in ids]
    readable = model(ids, trace=Trace([]))
    assert np.isfinite(readable).all()
    np.testing.assert_allclose(np.stack(fast), readable, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(model(ids), readable, rtol=1e-3, atol=1e-3)
