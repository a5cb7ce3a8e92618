"""Key/value heads merged into fewer, on every family."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.family_configs import FAMILIES
from helpers.family_models import family

from glasscli import ConfigError, Llama, ModelConfig, load_model
from glasscli.arrays import Array
from glasscli.model.weights import BlockWeights
from glasscli.quality.merged import merged_model


def test_merged_heads_are_the_mean_of_their_group(make_model_folder: Callable[..., Path]) -> None:
    """With as many heads as before nothing changes; with one, W_K and W_V are the mean of both."""
    loaded = load_model(make_model_folder())
    ids, config = [0, 5, 7, 7, 200], loaded.config
    np.testing.assert_array_equal(merged_model(loaded, config.n_kv_heads)(ids), loaded.model(ids))
    one = merged_model(loaded, 1)
    width, heads = config.head_dim, config.n_heads * config.head_dim
    before, after = loaded.model.weights.blocks[1].qkv, one.weights.blocks[1].qkv
    keys = before[:, heads : heads + config.n_kv_heads * width].reshape(config.dim, config.n_kv_heads, width)
    np.testing.assert_allclose(after[:, heads : heads + width], keys.mean(axis=1), rtol=0, atol=1e-6)
    assert np.abs(one(ids) - loaded.model(ids)).max() > 0.01
    with pytest.raises(ConfigError, match="can't be merged into 3 groups"):
        merged_model(loaded, 3)


@pytest.mark.parametrize("kind", FAMILIES)
def test_heads_of_every_family_can_be_merged_or_are_refused(kind: str) -> None:
    """Heads that are the same before stay the same: the mean of equals changes no logit."""
    loaded = family(kind)
    config, ids = loaded.config, [3, 5, 7, 7, 100]
    alike = replace(loaded.model.weights, blocks=tuple(_alike(b, config) for b in loaded.model.weights.blocks))
    equal = replace(loaded, model=Llama(config, alike))
    if config.architecture.heads_differ and config.n_kv_heads > 1:
        with pytest.raises(ConfigError, match="weights of their own for each head"):
            merged_model(equal, 1)
        return
    one = merged_model(equal, 1)
    assert one.new_cache(8).nbytes * config.n_kv_heads == equal.model.new_cache(8).nbytes
    np.testing.assert_allclose(one(ids), equal.model(ids), rtol=0, atol=2e-4)


def _alike(block: BlockWeights, config: ModelConfig) -> BlockWeights:
    """All key/value heads as the first."""

    def columns(array: Array) -> Array:
        heads = array.reshape(*array.shape[:-1], -1, config.head_dim).copy()
        for first in (config.n_heads, config.n_heads + config.n_kv_heads):
            heads[..., first : first + config.n_kv_heads, :] = heads[..., first : first + 1, :]
        return heads.reshape(array.shape)

    return replace(block, qkv=columns(block.qkv), qkv_bias=None if block.qkv_bias is None else columns(block.qkv_bias))
