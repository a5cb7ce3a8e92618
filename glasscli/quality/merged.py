"""A model whose neighbouring key/value heads are merged into fewer: MHA → GQA → MQA on trained weights, not retrained.

Each new head is the mean of W_K and of W_V over its group, as Ainslie et al. begin from; they go on to train, which is
what makes sharing cheap. This is the beginning alone.

Source: Ainslie et al. 2023, arXiv:2305.13245, section 2.1.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.choice import CacheChoice, check_groups
from glasscli.config.model_config import ModelConfig
from glasscli.errors import ConfigError
from glasscli.model.llama import Llama
from glasscli.model.weights import BlockWeights

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel


def merged_model(loaded: "LoadedModel", n_kv_heads: int) -> Llama:
    """The model of `loaded` with `n_kv_heads` key/value heads. It shares all weights but W_Q, W_K and W_V.

    Raises:
        ConfigError: that many heads can't be made of those there are, or each has a norm of its own.
    """
    config = loaded.config
    _check(config, n_kv_heads)
    specs = tuple(replace(spec, n_kv_heads=n_kv_heads) for spec in config.specs)  # type: ignore[type-var]
    blocks = tuple(_merged(block, config, n_kv_heads, "kv", 1) for block in loaded.model.weights.blocks)
    weights = replace(loaded.model.weights, blocks=blocks)
    return Llama(replace(config, n_kv_heads=n_kv_heads, specs=specs), weights)


def partly_merged_model(
    loaded: "LoadedModel", n_kv_heads: int, layers: Collection[int] | None = None, roles: str = "kv"
) -> Llama:
    """As `merged_model`, but in some layers or of keys or values alone.

    The mean stands in the place of each head of its group: the same numbers, though not fewer bytes.
    """
    config, weights = loaded.config, loaded.model.weights
    _check(config, n_kv_heads)
    times = config.n_kv_heads // n_kv_heads
    blocks = tuple(
        _merged(block, config, n_kv_heads, roles, times) if layers is None or layer in layers else block
        for layer, block in enumerate(weights.blocks)
    )
    return Llama(config, replace(weights, blocks=blocks))


def _check(config: ModelConfig, n_kv_heads: int) -> None:
    check_groups(config.n_kv_heads, n_kv_heads)
    if config.architecture.heads_differ and n_kv_heads != config.n_kv_heads:
        raise ConfigError(
            "keys are normed with weights of their own for each head: their heads can't be merged",
            "num_key_value_heads",
        )


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


def _merged(block: BlockWeights, config: ModelConfig, n_kv_heads: int, roles: str, times: int) -> BlockWeights:
    """A block's weights with the means of `roles`, each so many times."""

    def merge(columns: Array) -> Array:
        heads = columns.reshape(*columns.shape[:-1], -1, config.head_dim)
        q, k, v = np.split(heads, [config.n_heads, config.n_heads + config.n_kv_heads], axis=-2)
        means = [_mean(part, n_kv_heads, times) if role in roles else part for role, part in (("k", k), ("v", v))]
        joined = np.concatenate([q, *means], axis=-2)
        return np.ascontiguousarray(joined.reshape(*columns.shape[:-1], -1))

    bias = None if block.qkv_bias is None else merge(block.qkv_bias)
    return replace(block, qkv=merge(block.qkv), qkv_bias=bias)


def _mean(heads: Array, n_groups: int, times: int) -> Array:
    """Heads [..., K, E] averaged in `n_groups` groups of neighbours: [..., n_groups · times, E]."""
    groups = heads.reshape(*heads.shape[:-2], n_groups, -1, heads.shape[-1])
    return np.repeat(groups.mean(axis=-2, dtype=np.float32), times, axis=-2)
