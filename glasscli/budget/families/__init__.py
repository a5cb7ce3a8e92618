"""The one place that maps a config.json to kinds of layer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from glasscli.budget.families.fields import Fields
from glasscli.budget.kinds import FullAttention, Kind
from glasscli.errors import ConfigError


@dataclass(frozen=True)
class Layout:
    """What a model keeps: one kind per layer, in model order (`NoCache` where a layer keeps nothing).

    `dtype` is the model's ("bf16", "f16", "f32"); `kv_dtype_hint` the cache's where the config fixes it
    (kv_cache_scheme, kv_cache_quant_algo), else None. `notes` says what was assumed.
    """

    model_type: str
    layers: tuple[Kind, ...]
    dtype: str = "bf16"
    n_heads: int | None = None
    max_positions: int | None = None
    kv_dtype_hint: str | None = None
    state_dtype_hint: str | None = None
    encoder_tokens: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def n_layers(self) -> int:
        return len(self.layers)


def layout(config: Mapping[str, Any], engine: str = "logical") -> Layout:
    """The layout of the model that `config` describes.

    Raises ConfigError, naming the field, for whatever is missing, malformed or unknown.
    """
    if not isinstance(config, Mapping):
        raise ConfigError("a config is a JSON object, not a list or a single value")
    read = Fields(config)
    n_layers = read.integer("num_hidden_layers")
    n_heads = read.integer("num_attention_heads")
    n_kv_heads = read.integer("num_key_value_heads", default=n_heads)
    head_dim = read.integer("head_dim", default=None) or read.integer("hidden_size") // n_heads
    layers = (FullAttention(n_kv_heads, head_dim, head_dim),) * n_layers
    return Layout(str(read.get("model_type", default="")), layers, n_heads=n_heads, notes=tuple(read.notes))
