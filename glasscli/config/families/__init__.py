"""The one place that maps a config.json to kinds of layer: see `table` for the rules, one row a family."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from glasscli.config.families import dtype, refusals, seq2seq
from glasscli.config.families.family import Family
from glasscli.config.families.family import layers as layers_of
from glasscli.config.families.fields import Fields
from glasscli.config.families.geometry import HEADS, POSITIONS
from glasscli.config.families.nested import text_part
from glasscli.config.families.remote_code_models import OWN_CODE
from glasscli.config.families.table import FAMILIES
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import CacheSpec, NoCache


@dataclass(frozen=True)
class Layout:
    """What a model keeps: one spec per layer, in model order (`NoCache` where a layer keeps nothing).

    `dtype` is the model's ("bf16", "f16", "f32"). `kv_dtype_hint` is the cache's where the checkpoint's
    quantisation fixes it (kv_cache_scheme, kv_cache_quant_algo), else None; `state_dtype_hint` that of
    recurrent states, where the config says one. `notes` says what was assumed.
    """

    model_type: str
    layers: tuple[CacheSpec, ...]
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


@dataclass(frozen=True)
class Reading:
    """A config read once: the fields of the part that generates text, and what its layers keep."""

    fields: Fields
    layout: Layout


def layout(config: Mapping[str, Any], engine: str = "logical", assume_plain: bool = False) -> Layout:
    """The layout of the model that `config` describes, as `engine` builds it.

    `assume_plain`: a model type that is not known is plain attention, as far as its fields don't contradict that.
    Raises ConfigError, naming the field, for whatever is missing, malformed or unknown.
    """
    return read_model(config, engine, assume_plain).layout


def read_model(config: Mapping[str, Any], engine: str = "logical", assume_plain: bool = False) -> Reading:
    """The layout of the model that `config` describes, and the fields to read more from.

    Raises ConfigError as `layout`.
    """
    if not isinstance(config, Mapping):
        raise ConfigError("a config is a JSON object, not a list or a single value")
    root, read, model_type = text_part(config, engine)
    family = FAMILIES.get(model_type) or OWN_CODE.get(model_type)
    refusals.check_root(root)
    refusals.check(read, model_type, model_type in FAMILIES or model_type in OWN_CODE, assume_plain)
    made = layers_of(read, family or Family(prepare=seq2seq.usual(read)))
    if all(isinstance(spec, NoCache) for spec in made):
        read.refuse("num_hidden_layers", "leaves no layer with a cache")
    found = Layout(
        model_type,
        tuple(made),
        dtype.model_dtype(root, read),
        n_heads=_optional(read, HEADS),
        max_positions=_optional(read, POSITIONS),
        kv_dtype_hint=dtype.cache_dtype(root, read),
        state_dtype_hint=dtype.state_hint(read),
        encoder_tokens=read.integer("max_source_positions", default=None) if model_type == "whisper" else None,
    )
    return Reading(read, replace(found, notes=tuple(root.notes)))


def _optional(read: Fields, names: tuple[str, ...]) -> int | None:
    """A number that is only shown: None where it is absent or not a number."""
    value = next((read.config[name] for name in names if isinstance(read.config.get(name), int)), None)
    return value if value is not True and value is not False else None
