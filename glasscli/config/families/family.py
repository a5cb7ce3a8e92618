"""What a row of the table of families may say, and how layers are made from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from glasscli.config.families import patterns, seq2seq
from glasscli.config.families.fields import MAX_LAYERS, Fields, shown
from glasscli.config.families.geometry import (
    HEAD_DIM,
    HEADS,
    KV_HEADS,
    LAYERS,
    WINDOW,
    chunked,
    full,
    indexed,
    nothing,
    sliding,
)
from glasscli.config.families.recurrent import Build, short_conv
from glasscli.specs.attention_specs import CacheSpec, NoCache

STANDARD: Mapping[str, Build] = {
    "full_attention": full,
    "sliding_attention": sliding,
    "chunked_attention": chunked,
    "indexed_attention": indexed,
    "conv": short_conv,
    "moe": nothing,
    "mlp": nothing,
}


@dataclass(frozen=True)
class Family:
    """How to read the configs of some model types, where that differs from a plain decoder's.

    prepare: translates names, or fills in what is derived, before anything is read.
    pattern: which layer is of which type, where `types_in` (a list in the config) is absent.
    specs: what a type of layer is, on top of `STANDARD`.
    finish: changes the layers as a whole: loops that repeat them, layers that share a cache.
    """

    pattern: patterns.Pattern = patterns.uniform
    specs: Mapping[str, Build] = field(default_factory=dict)
    prepare: Callable[[Fields], Fields] | None = None
    finish: Callable[[Fields, list[CacheSpec]], list[CacheSpec]] | None = None
    types_in: tuple[str, ...] = ("layer_types", "layers_block_type")


def layers(read: Fields, family: Family) -> list[CacheSpec]:
    """One spec for each layer of the model that `read` describes."""
    read = read.over({name: None for name in WINDOW if read.config.get(name) == -1})  # some say -1 for none
    if family.prepare:
        read = family.prepare(read)
    n = layer_count(read)
    types = layer_types(read, family, n)
    own = per_layer(read, n)
    for i, fields in listed_values(read, n).items():
        own[i] = {**fields, **own.get(i, {})}
    made = [_layer(read.over(own[i]) if i in own else read, family, types[i], i) for i in range(n)]
    made = share_last(read, made)
    if seq2seq.crosses(read):
        made = seq2seq.with_encoder(made)
    return family.finish(read, made) if family.finish else made


def layer_count(read: Fields) -> int:
    """How many layers the config claims; more than glass lays out are refused."""
    n: int = read.integer(*LAYERS)
    if n > MAX_LAYERS:
        read.refuse(read.named(*LAYERS), f"is {n}: glass lays out at most {MAX_LAYERS} layers")
    return n


def layer_types(read: Fields, family: Family, n: int) -> list[str]:
    """The type of each layer, by the names in use now."""
    source = next((name for name in family.types_in if read.has(name)), None)
    words = _listed(read, source, n) if source else None
    types = words or family.pattern(read, n)
    if len(types) != n:
        read.refuse(read.named(*LAYERS), f"is {n}, but the layers' types are {len(types)}")
    return [patterns.LEGACY.get(word, word) for word in types]


def _listed(read: Fields, source: str, n: int) -> list[str] | None:
    """The types a config lists; abridged ones give an object of counts, whose order nothing says."""
    if not isinstance(read.config[source], Mapping):
        return read.words(source, n)
    counts = read.nested(source)
    total = sum(counts.integer(word, least=0) for word in counts.config)
    if total != n:
        read.refuse(source, f"counts {total} layers: expected {n}")
    read.note(f"{source} gives counts, not an order: layers of a type are taken together")
    return [word for word in counts.config for _ in range(counts.config[word])]


def per_layer(read: Fields, n: int) -> dict[int, Mapping[str, Any]]:
    """transformers' per_layer_config: fields that some layers have to themselves."""
    changes: dict[int, Mapping[str, Any]] = {}
    for key, fields in (read.mapping("per_layer_config") or {}).items():
        if not str(key).isdecimal() or int(key) >= n:
            read.refuse("per_layer_config", f"has the key {shown(key)}: expected a layer's number below {n}")
        if not isinstance(fields, Mapping):
            read.refuse("per_layer_config", f"holds {shown(fields)} for layer {key}: expected an object")
        if fields.get("skip"):
            read.refuse("per_layer_config", f"skips a part of layer {key}, which glass does not know")
        changes[int(key)] = fields
    return changes


def listed_values(read: Fields, n: int) -> dict[int, Mapping[str, Any]]:
    """Heads, widths and windows that a config lists, one value for each layer."""
    lists = {
        name: read.items(name, n) or []
        for name in (*HEADS, *KV_HEADS, *HEAD_DIM, *WINDOW, "v_head_dim")
        if isinstance(read.config.get(name), list)
    }
    return {i: {name: values[i] for name, values in lists.items()} for i in range(n)} if lists else {}


def share_last(read: Fields, made: list[CacheSpec]) -> list[CacheSpec]:
    """Layers at the end that read the caches of earlier ones (Gemma 3n and 4)."""
    shared: int = read.integer("num_kv_shared_layers", default=0, least=0)
    if not shared:
        return made
    if shared >= len(made):
        read.refuse("num_kv_shared_layers", f"is {shared}, but the model has {len(made)} layers")
    return made[: len(made) - shared] + [NoCache("shares an earlier layer's")] * shared


def _layer(read: Fields, family: Family, word: str, i: int) -> CacheSpec:
    build = family.specs.get(word) or STANDARD.get(word)
    if build is None:
        known = ", ".join(sorted({*STANDARD, *family.specs}))
        where = next((name for name in family.types_in if read.has(name)), family.types_in[0])
        read.refuse(where, f"says {shown(word)} for layer {i}: expected one of {known}")
    return build(read, i)
