"""Every class of spec that glass has, found by itself, with an example or more of each: a new class joins the tests."""

from collections.abc import Iterator
from dataclasses import MISSING, fields
from importlib import import_module
from pkgutil import iter_modules

import glasscli.specs
from glasscli.specs.attention_specs import (
    CacheSpec,
    CompressedAttention,
    FullAttention,
    HiddenStates,
    IndexKeys,
    LatentAttention,
    Several,
    SlidingAttention,
)
from glasscli.specs.state_specs import LinearState, Mamba2, ShortConv

# What the fields without a default are filled with, by their types.
FILLED = {int: 8, tuple[CacheSpec, ...]: (FullAttention(4, 16, 8), ShortConv(16, 3))}
# Forms that the defaults leave out.
MORE: tuple[CacheSpec, ...] = (
    FullAttention(1, 16, 8),
    LatentAttention(64, 16, index_dim=128, n_heads=8, nope_dim=16, v_dim=16),
    LatentAttention(64, 16, n_heads=8, size=12),
    IndexKeys(32, n_positions=3),
    HiddenStates(32, size=12),
    HiddenStates(32, known=64),
    CompressedAttention(64, 12, 0),
    CompressedAttention(64, 12, 4, index_dim=16),
    LinearState(free=16, fixed=8),
    Several((SlidingAttention(4, 16, 16, 12), IndexKeys(32), Mamba2(8, 16, 32, 2, 4))),
)


def classes() -> list[type[CacheSpec]]:
    """Every class of spec in `glasscli.specs` that can be made, in the order of their names."""
    for module in iter_modules(glasscli.specs.__path__):
        import_module(f"glasscli.specs.{module.name}")
    found = {cls for cls in _below(CacheSpec) if cls.__module__.startswith("glasscli.specs")}
    return sorted((cls for cls in found if not cls.__abstractmethods__), key=lambda cls: cls.__name__)


def _below(cls: type[CacheSpec]) -> Iterator[type[CacheSpec]]:
    for sub in cls.__subclasses__():
        yield sub
        yield from _below(sub)


def example(cls: type[CacheSpec]) -> CacheSpec:
    """A spec of this class, from small numbers."""
    return cls(**{field.name: FILLED[field.type] for field in fields(cls) if field.default is MISSING})  # type: ignore


MADE = (example(cls) for cls in classes() if cls is not LinearState)  # which is nothing by its defaults
EVERY = (*MADE, *MORE)
assert {type(spec) for spec in EVERY} == set(classes())
