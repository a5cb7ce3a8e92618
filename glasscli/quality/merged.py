"""A model whose neighbouring key/value heads are merged into fewer: MHA → GQA → MQA on trained weights, not retrained.

Each new head is the mean of W_K and of W_V over its group, as Ainslie et al. begin from; they go on to train, which is
what makes sharing cheap. This is the beginning alone.

Source: Ainslie et al. 2023, arXiv:2305.13245, section 2.1.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.choice import CacheChoice
from glasscli.checkpoint.tensors import load_tensors
from glasscli.config.model_config import ModelConfig
from glasscli.config.tensor_shapes import tensor_name
from glasscli.errors import ConfigError
from glasscli.model.llama import Llama

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel


def merged_model(loaded: "LoadedModel", n_kv_heads: int) -> Llama:
    """The model of `loaded` with `n_kv_heads` key/value heads, read from its files again.

    Raises:
        ConfigError: that many heads can't be made of those there are.
    """
    config = loaded.config
    if n_kv_heads < 1 or config.n_kv_heads % n_kv_heads:
        raise ConfigError(
            f"{config.n_kv_heads} key/value heads can't be merged into {n_kv_heads} groups of the same size",
            "num_key_value_heads",
        )
    specs = tuple(replace(spec, n_kv_heads=n_kv_heads) for spec in config.specs)  # type: ignore[type-var]
    merged = replace(config, n_kv_heads=n_kv_heads, specs=specs)
    return Llama(merged, _Merged(load_tensors(loaded.checkpoint, config), config, n_kv_heads))


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


class _Merged(Mapping[str, Array]):
    """A checkpoint's tensors, those of keys and values averaged over groups of heads as they are asked for."""

    def __init__(self, tensors: Mapping[str, Array], config: ModelConfig, n_kv_heads: int) -> None:
        self.tensors, self.n_kv_heads, self.head_dim = tensors, n_kv_heads, config.head_dim
        roles = [f"{role}{part}" for role in "kv" for part in ("", ".bias")]
        self.shared = {tensor_name(config, role, layer) for role in roles for layer in range(config.n_layers)}

    def __getitem__(self, name: str) -> Array:
        rows = self.tensors[name]
        if name not in self.shared:
            return rows
        groups = rows.reshape(self.n_kv_heads, -1, self.head_dim, *rows.shape[1:])
        return groups.mean(axis=1, dtype=np.float32).reshape(-1, *rows.shape[1:])

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)
