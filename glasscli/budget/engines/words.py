"""Sentences that several engines say of what they keep."""

from collections.abc import Callable, Iterable

from glasscli.budget.engines.engine import STATE_ROLES
from glasscli.specs.cache_spec import CacheSpec, Tensor


def state_dtypes(parts: Iterable[CacheSpec], dtype_of: Callable[[CacheSpec, Tensor], str]) -> str:
    """In what the states among `parts` are kept, in words: `convolutions in bf16, states in f32`; empty without any."""
    found: dict[str, dict[str, None]] = {}
    for part in parts:
        for tensor in part.tensors(1):
            if tensor.role in STATE_ROLES:
                found.setdefault(tensor.role, {})[dtype_of(part, tensor)] = None
    names = {"conv": "convolutions", "state": "states"}
    return ", ".join(f"{names[role]} in {' and '.join(found[role])}" for role in STATE_ROLES if role in found)
