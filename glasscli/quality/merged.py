"""A model whose neighbouring key/value heads are merged into fewer: MHA → GQA → MQA on trained weights, not retrained.

Each new head is the mean of W_K and of W_V over its group, as Ainslie et al. begin from; they go on to train, which is
what makes sharing cheap. This is the beginning alone.

Source: Ainslie et al. 2023, arXiv:2305.13245, section 2.1.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.choice import CacheChoice
from glasscli.config.model_config import ModelConfig
from glasscli.errors import ConfigError
from glasscli.model.llama import Llama
from glasscli.model.weights import BlockWeights

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel


def merged_model(loaded: "LoadedModel", n_kv_heads: int) -> Llama:
    """The model of `loaded` with `n_kv_heads` key/value heads; all other weights are shared with it.

    Raises:
        ConfigError: that many heads can't be made of those there are, or each has a norm of its own.
    """
    config = loaded.config
    if n_kv_heads < 1 or config.n_kv_heads % n_kv_heads:
        raise ConfigError(
            f"{config.n_kv_heads} key/value heads can't be merged into {n_kv_heads} groups of the same size",
            "num_key_value_heads",
        )
    if config.architecture.qk_norm == "all" and n_kv_heads != config.n_kv_heads:
        raise ConfigError(
            "keys are normed over all heads at once, with a weight for each: their heads can't be merged",
            "num_key_value_heads",
        )
    specs = tuple(replace(spec, n_kv_heads=n_kv_heads) for spec in config.specs)  # type: ignore[type-var]
    merged = replace(config, n_kv_heads=n_kv_heads, specs=specs)
    weights = loaded.model.weights
    return Llama(merged, replace(weights, blocks=tuple(_merged(block, config, n_kv_heads) for block in weights.blocks)))


def with_merged_heads(loaded: "LoadedModel", choice: CacheChoice) -> "LoadedModel":
    """The model with as many key/value heads as `choice` says, and a note that they were merged; else as it is.

    Raises:
        ConfigError: that many heads can't be made of those there are.
    """
    before = loaded.config.n_kv_heads
    if choice.kv_heads is None or choice.kv_heads == before:
        return loaded
    model = merged_model(loaded, choice.kv_heads)
    note = f"{before} key/value heads of each layer were merged into {choice.kv_heads}, and not retrained"
    return replace(loaded, config=model.config, model=model, notes=(*loaded.notes, note))


def _merged(block: BlockWeights, config: ModelConfig, n_kv_heads: int) -> BlockWeights:
    """A block whose columns of W_K and W_V, and their biases, are means over groups of heads."""

    def columns(array: Array) -> Array:
        heads = array.reshape(*array.shape[:-1], -1, config.head_dim)
        q, k, v = np.split(heads, [config.n_heads, config.n_heads + config.n_kv_heads], axis=-2)
        groups = (x.reshape(*x.shape[:-2], n_kv_heads, -1, config.head_dim).mean(axis=-2) for x in (k, v))
        return np.concatenate([q, *groups], axis=-2).reshape(*array.shape[:-1], -1)

    bias = None if block.qkv_bias is None else columns(block.qkv_bias)
    return replace(block, qkv=columns(block.qkv), qkv_bias=bias)
