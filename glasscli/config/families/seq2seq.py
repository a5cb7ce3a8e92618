"""Decoders with an encoder beside them: the decoder's own names, and the cache of the encoder's tokens."""

from collections.abc import Callable

from glasscli.config.families.fields import Fields
from glasscli.config.families.geometry import HEADS, KV_HEADS, LAYERS
from glasscli.specs.attention_specs import CacheSpec, CrossAttention, FullAttention, Several, SlidingAttention


def decoder_side(read: Fields) -> Fields:
    """The decoder's layers and heads, where a config names both sides. T5's null means as many as the encoder's."""
    sides = {
        LAYERS[0]: ("decoder_layers", "num_decoder_layers", "decoder_num_hidden_layers", *LAYERS),
        HEADS[0]: ("decoder_attention_heads", "num_decoder_attention_heads", "decoder_num_attention_heads", *HEADS),
    }
    found = {}
    for name, names in sides.items():
        chosen = next((other for other in names if read.has(other)), None)
        chosen = chosen or next((other for other in names if read.defaults.get(other) is not None), name)
        found[name] = read.integer(chosen)
    if read.has("decoder_num_key_value_heads"):
        found[KV_HEADS[0]] = read.integer("decoder_num_key_value_heads")
    return read.over(found)


def usual(read: Fields) -> Callable[[Fields], Fields] | None:
    """What prepares a type without a row: the decoder's side, where there are two."""
    both = crosses(read) and read.has("decoder_layers", "num_decoder_layers")
    return decoder_side if both else None


def crosses(read: Fields) -> bool:
    """Whether each layer also attends to an encoder."""
    return read.flag("is_encoder_decoder") or read.flag("add_cross_attention")


def with_encoder(made: list[CacheSpec]) -> list[CacheSpec]:
    """Each layer with a cache for the encoder's tokens beside its own, of the same heads."""
    return [_with_encoder(spec) for spec in made]


def _with_encoder(spec: CacheSpec) -> CacheSpec:
    if not isinstance(spec, FullAttention | SlidingAttention):
        return spec
    return Several((spec, CrossAttention(spec.n_kv_heads, spec.k_dim, spec.v_dim)))
