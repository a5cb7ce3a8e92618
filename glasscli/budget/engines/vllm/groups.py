"""vLLM's pool: layers that keep the same thing form groups of equal size, and a block is one page of each of a group.

A group that is not full wastes the rest of its pages. Source: vLLM's `get_kv_cache_groups`.
"""

from collections.abc import Collection, Mapping
from fractions import Fraction

from glasscli.budget.engines.engine import Capacity, up
from glasscli.budget.engines.vllm.versions import Rules
from glasscli.specs.cache_spec import CacheSpec
from glasscli.units import short_bytes


def group_size(counts: Collection[int], near: Fraction) -> int:
    """Layers in a group, given how many layers there are of each kind: all groups of a pool are equally large.

    As many as the fewest of a kind; as the most where that is less than `near` times as many.
    """
    fewest, most = min(counts), max(counts)
    return most if most < near * fewest else fewest


def filled(counts: Mapping[CacheSpec, int], near: Fraction) -> Mapping[CacheSpec, int]:
    """`counts` rounded up to whole groups."""
    if not counts:
        return counts
    in_group = group_size(counts.values(), near)
    return {part: up(count, in_group) for part, count in counts.items()}


def idle(counts: Mapping[CacheSpec, int], size: Mapping[CacheSpec, int], near: Fraction) -> tuple[str, ...]:
    """A line about pages that stay unused where a group is not full."""
    idle_bytes = sum((places - counts[part]) * size[part] for part, places in filled(counts, near).items())
    if not idle_bytes:
        return ()
    in_group = group_size(counts.values(), near)
    return (f"vLLM groups layers by {in_group}: groups that are not full keep {short_bytes(idle_bytes)} a rank idle",)


def capacity_of_one(
    layers: Collection[tuple[int, int, int]], budget_bytes: int, page_tokens: int, rules: Rules
) -> Capacity:
    """`capacity` where all layers keep all tokens: one group, as wide as each may be; a page of each is a block."""
    block = sum(count * page for count, page, _ in layers)
    blocks = max(-(-size // page) for _, page, size in layers)
    return Capacity(page_tokens, budget_bytes // block, blocks, rules.empty, 1 if rules.by_groups else 0)


def capacity(layers: Collection[tuple[int, int, int]], budget_bytes: int, page_tokens: int, rules: Rules) -> Capacity:
    """Blocks in `budget_bytes`, and blocks of a request.

    Args:
        layers: for each kind how many layers, bytes of a page of one, bytes that a request takes in one.
        page_tokens: tokens of the smallest page, of all the ranks that share a sequence.
        rules: the version's.
    """
    in_group = group_size([count for count, _, _ in layers], rules.near)
    groups = [-(-count // in_group) for count, _, _ in layers]
    blocks = sum(number * -(-size // page) for number, (_, page, size) in zip(groups, layers, strict=True))
    largest_page = max(page for _, page, _ in layers)
    shared_by = sum(groups) if rules.by_groups else 0
    return Capacity(page_tokens, budget_bytes // (in_group * largest_page), blocks, rules.empty, shared_by)
