"""The caches that are compared when nobody names any: a list that tells what there is to choose from.

Imports no NumPy.
"""

from collections.abc import Sequence

from glasscli.cache.choice import RESIDUAL, CacheChoice
from glasscli.cache.formats.names import BLOCK, BLOCKED, NAMES
from glasscli.config.model_config import ModelConfig
from glasscli.specs.cache_spec import FullAttention

# Floats, llama.cpp's blocks from many bits to few, keys and values apart, KIVI.
PACKINGS = ("f16", "fp8_e4m3", "q8_0", "q5_1", "q5_0", "q4_0")
APART = (("q8_0", "q4_0"), ("q4_0", "q8_0"))
KIVIS = ("kivi4", "kivi2")
SINKS = 4
PACKS = 4 * RESIDUAL  # tokens of a chunk from which on KIVI packs most of them
TURNED = 64  # llama.cpp rotates head widths that are a multiple of this


def usual_choices(config: ModelConfig, context: int) -> list[CacheChoice]:
    """What a model can have, for chunks of `context` tokens: packings, half of the tokens kept, merged heads.

    Windows are of half a chunk, so that all scored tokens have lost sight of something, in 16-bit floats: what they
    take beside f16 is then the share of tokens that they keep.
    """
    kept, full_only = context // 2, all(type(spec) is FullAttention for spec in config.specs)
    found = [CacheChoice(k=name, v=name) for name in PACKINGS]
    found += [CacheChoice(k=k, v=v) for k, v in APART]
    if config.head_dim % TURNED == 0:
        found.append(CacheChoice(k="q4_0", v="q4_0", rotated=False))
    if full_only and context >= PACKS:
        found += [CacheChoice(k=name, v=name) for name in KIVIS]
    if full_only:
        half = {"k": "f16", "v": "f16"}
        found.append(CacheChoice(**half, keeps="window", tokens=kept))  # type: ignore[arg-type]
        found.append(_sinks(context))
        found.append(CacheChoice(**half, keeps="h2o", tokens=kept))  # type: ignore[arg-type]
    if (fewer := fewer_heads(config)) is not None:
        found.append(CacheChoice(k="f16", v="f16", kv_heads=fewer))
    return [choice for choice in found if _fits(choice, config)]


def usual_for_layers(config: ModelConfig, context: int) -> list[CacheChoice]:
    """What is looked into layer by layer if nobody says: four bits."""
    name = "q4_0" if config.head_dim % BLOCK == 0 else "fp8_e4m3"
    return [CacheChoice(k=name, v=name)]


def usual_for_heads(config: ModelConfig, context: int) -> list[CacheChoice]:
    """What is looked into head by head if nobody says: sinks and a window of half a chunk."""
    return [_sinks(context)]


def usual_apart(config: ModelConfig, context: int) -> list[CacheChoice]:
    """What is parted in keys and values if nobody says: the packings below 16 bits."""
    names: Sequence[str] = [name for name in NAMES if name not in ("f32", "f16", "bf16", "fp8_e5m2")]
    return [choice for name in names if _fits(choice := CacheChoice(k=name, v=name), config)]


def fewer_heads(config: ModelConfig) -> int | None:
    """The most key/value heads that neighbours can be merged into, None where there is one already."""
    if config.architecture.heads_differ:
        return None
    return next((n for n in range(config.n_kv_heads - 1, 0, -1) if config.n_kv_heads % n == 0), None)


def _sinks(context: int) -> CacheChoice:
    """Half of a chunk: its first tokens, at most half of what is kept, and the last ones."""
    kept = context // 2
    sinks = min(SINKS, kept // 2)
    return CacheChoice(k="f16", v="f16", keeps="window", tokens=kept - sinks, sinks=sinks)


def _fits(choice: CacheChoice, config: ModelConfig) -> bool:
    return config.head_dim % BLOCK == 0 or not {choice.k, choice.v} & BLOCKED
