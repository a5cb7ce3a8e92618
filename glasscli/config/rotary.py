"""How config.json says that queries and keys are rotated, in its several spellings, layer by layer.

`model.rope` turns these settings into angles; here they are read and checked.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from glasscli.config.architecture import Architecture
from glasscli.config.families.fields import Fields, shown
from glasscli.config.families.habits import no_rope
from glasscli.specs.attention_specs import SlidingAttention
from glasscli.specs.cache_spec import CacheSpec

KINDS = ("default", "linear", "llama3", "dynamic", "yarn", "longrope")


@dataclass(frozen=True)
class RopeScaling:
    """How rotary angles depend on the position.

    `kind` is "default" (angle = position · theta^(−2i/E)), "linear" (positions divided by `factor`), "llama3" and
    "yarn" (low frequencies divided by `factor`, high ones kept, a ramp between), "dynamic" (theta grows once a text is
    longer than `original_max_seq_len`) or "longrope" (each frequency divided by a number of its own, which is another
    one for such a text).

    Attributes:
        partial: share of each head that is rotated.
        attention_factor: what rotated queries and keys are multiplied with.
        beta_fast, beta_slow: circles within the trained length at which yarn's ramp ends and begins.
        truncate: whether yarn's ramp ends and begins at whole pairs.
        short_factors, long_factors: longrope's numbers, one a pair.

    Sources: Su et al. 2021, arXiv:2104.09864; Chen et al. 2023, arXiv:2306.15595 (linear); the Llama 3.1
    model card (llama3); Peng et al. 2023, arXiv:2309.00071 (yarn, dynamic); Ding et al. 2024, arXiv:2402.13753
    (longrope).
    """

    kind: str = "default"
    theta: float = 10000.0
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_seq_len: int = 8192
    partial: float = 1.0
    attention_factor: float = 1.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    short_factors: tuple[float, ...] = ()
    long_factors: tuple[float, ...] = ()

    def rotary_dim(self, head_dim: int) -> int:
        """How many numbers of a head are rotated."""
        return _part(head_dim, self.partial)

    @property
    def grows(self) -> bool:
        """Whether angles differ once a text is longer than `original_max_seq_len`."""
        return self.kind in ("dynamic", "longrope")


def _part(head_dim: int, partial: float) -> int:
    # A width past what floats count exactly is no model's, but must not overflow here.
    return head_dim if partial == 1 else int(min(head_dim, 2**53) * partial)


def read_ropes(
    read: Fields, row: Architecture, specs: Sequence[CacheSpec], head_dim: int, max_seq_len: int
) -> tuple[RopeScaling | None, ...]:
    """The rotation of each layer, None where there is none.

    Raises:
        ConfigError: a kind that glass does not compute, or a number missing or out of range.
    """
    if not row.rotary:
        return (None,) * len(specs)
    field = "rope_parameters" if read.get("rope_parameters") is not None else "rope_scaling"
    given = read.nested(field)
    older = read.get("rope_scaling")
    if older not in (None, {}, given.config):
        read.refuse("rope_scaling", "and rope_parameters say different things; keep the right one")
    by_type = {name: given.nested(name) for name in ("full_attention", "sliding_attention") if name in given.config}
    if by_type and row.local_theta is None:
        read.not_run(field, f"differs between kinds of layers, which glass does not compute for a {row.model_type}")
    theta = read.positive("rope_theta", row.theta)
    empty = Fields({}, read.prefix)
    full = _rope(by_type.get("full_attention", empty) if by_type else given, read, row, theta, head_dim, max_seq_len)
    local = full
    if row.local_theta is not None:
        theta = read.positive(row.local_theta.field, row.local_theta.default)
        local = _rope(by_type.get("sliding_attention", empty), read, row, theta, head_dim, max_seq_len)
    rotated = no_rope(read, len(specs)) if row.rotary == "no_rope" else [1] * len(specs)
    slides = [isinstance(spec, SlidingAttention) for spec in specs]
    return tuple((local if far else full) if on else None for on, far in zip(rotated, slides, strict=True))


def _rope(given: Fields, read: Fields, row: Architecture, theta: float, head_dim: int, max_seq_len: int) -> RopeScaling:
    kind = given.get("rope_type", "type") or "default"
    if kind == "su" or (kind == "yarn" and given.has("short_factor")):  # Phi-3's first names for it
        kind = "longrope"
    theta = given.positive("rope_theta", theta)
    partial = given.positive("partial_rotary_factor", read.positive("partial_rotary_factor", row.partial or 1.0))
    if row.partial is None and partial != 1:
        read.not_run("partial_rotary_factor", f"is {partial:g}; glass rotates whole heads of a {row.model_type}")
    width = _part(head_dim, partial)
    if partial == 1 and head_dim % 2:
        read.refuse("head_dim", f"is {head_dim}: rotary embeddings turn pairs and need an even number")
    if partial > 1 or width % 2 or width < 2:
        read.refuse("partial_rotary_factor", f"is {partial:g}: {width} of {head_dim} numbers of a head make no pairs")
    if kind not in KINDS:
        read.not_run(given.prefix[:-1] or "rope_scaling", f"has type {shown(kind)}; glass knows {', '.join(KINDS)}")
    base: dict[str, Any] = {"kind": str(kind), "theta": theta, "partial": partial}
    if kind == "default":
        return RopeScaling(theta=theta, partial=partial)
    if kind == "linear":
        return RopeScaling(**base, factor=given.positive("factor"))
    if kind == "dynamic":
        trained = max_seq_len  # whatever original_max_position_embeddings says, as in transformers
        return RopeScaling(**base, factor=given.positive("factor"), original_max_seq_len=trained)
    return {"llama3": _llama3, "yarn": _yarn, "longrope": _longrope}[kind](given, read, base, head_dim, max_seq_len)


def _llama3(given: Fields, read: Fields, base: dict[str, Any], head_dim: int, max_seq_len: int) -> RopeScaling:
    low, high = given.positive("low_freq_factor"), given.positive("high_freq_factor")
    if low >= high:
        read.refuse(given.prefix[:-1], f"has low_freq_factor {low}, which must be below high_freq_factor {high}")
    trained = given.integer("original_max_position_embeddings")
    return RopeScaling(
        **base,
        factor=given.positive("factor"),
        low_freq_factor=low,
        high_freq_factor=high,
        original_max_seq_len=trained,
    )


def _trained(given: Fields, read: Fields, max_seq_len: int) -> int:
    """The length before it was stretched: said beside the rotation's settings, or within."""
    default: int = given.integer("original_max_position_embeddings", default=max_seq_len)
    trained: int = read.integer("original_max_position_embeddings", default=default, least=2)
    for field, length in (("original_max_position_embeddings", trained), ("max_position_embeddings", max_seq_len)):
        if length > 2**53:
            read.refuse(field, f"is {shown(length)}: expected at most {2**53}")
    return trained


def _yarn(given: Fields, read: Fields, base: dict[str, Any], head_dim: int, max_seq_len: int) -> RopeScaling:
    trained = _trained(given, read, max_seq_len)
    factor = given.positive("factor", max_seq_len / trained)
    if given.positive("rope_theta", base["theta"]) <= 1:
        read.refuse("rope_theta", f"is {base['theta']}: yarn needs a base above 1")
    scale, all_dims = given.positive("mscale", None), given.positive("mscale_all_dim", None)
    usual = _stretch(factor, 1.0)
    if scale and all_dims:
        usual = _stretch(factor, scale) / _stretch(factor, all_dims)
    return RopeScaling(
        **base,
        factor=factor,
        original_max_seq_len=trained,
        attention_factor=given.positive("attention_factor", usual),
        beta_fast=given.positive("beta_fast", 32.0),
        beta_slow=given.positive("beta_slow", 1.0),
        truncate=given.flag("truncate", True),
    )


def _stretch(factor: float, scale: float) -> float:
    """By how much a stretched context sharpens attention. Source: Peng et al. 2023, arXiv:2309.00071, eq. 22."""
    return 1.0 if factor <= 1 else 0.1 * scale * math.log(factor) + 1.0


def _longrope(given: Fields, read: Fields, base: dict[str, Any], head_dim: int, max_seq_len: int) -> RopeScaling:
    trained = _trained(given, read, max_seq_len)
    factor = given.positive("factor", max_seq_len / trained)
    usual = 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(trained))
    n_pairs = _part(head_dim, base["partial"]) // 2
    return RopeScaling(
        **base,
        factor=factor,
        original_max_seq_len=trained,
        attention_factor=given.positive("attention_factor", usual),
        short_factors=_factors(given, "short_factor", n_pairs),
        long_factors=_factors(given, "long_factor", n_pairs),
    )


def _factors(given: Fields, name: str, n_pairs: int) -> tuple[float, ...]:
    values = given.items(name)
    if values is None:
        given.refuse(name, "is missing: expected a list of numbers")
    if len(values) != n_pairs:
        given.refuse(name, f"has {len(values)} entries: expected {n_pairs}, one for each rotated pair of a head")
    return tuple(Fields({name: value}, given.prefix).positive(name) for value in values)
