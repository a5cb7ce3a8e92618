"""DeepSeek V4 in vLLM: five kinds of caches in one pool of blocks, each block as large as the largest group needs.

A layer keeps a window of rows; one that compresses also a row for every 4 or 128 tokens, the keys of an index beside
those for every 4, and the numbers that wait to be compressed, in float32. A row is 584 B: 448 in FP8, 64 in bfloat16,
8 B of scales. Pages are padded to multiples of 576 B, those with a window to the next size that a page without one has.

    what                           tokens of a page   window          B a page
    rows for every 4, 128 tokens   256                                37,440, 1,728
    index keys for every 4         256                                8,640
    window                         64                 128             37,440
    waiting for a row of 4, 128    4, 8               8, 128          37,440
    waiting for an index key       4                  8               8,640

Caches with equal pages and windows form a group; a group of more layers than the others is split. A block has room for
as many layers as the largest group, in each size of page; a request takes whole blocks for each group, of which those
with a window are charged for all the tokens that may be under way. So short contexts take far more than their rows.

Source: vLLM's `models/deepseek_v4/attention.py` and `compressor.py`, `v1/kv_cache_interface.py` and
`v1/core/kv_cache_utils.py` (`group_and_unify_kv_cache_specs`, `_approximate_gcd`,
`_max_memory_usage_bytes_from_groups`) of 2026. 0.22 printed 6.66 GiB for 30,000 tokens of DeepSeek-V4-Flash and 13,528
for 5.44 GiB (vllm-project/vllm#44376), which this gives. Builds that pack their blocks have about a hundredth more.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from glasscli.budget.engines.engine import Capacity, refuse, up
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import CompressedAttention
from glasscli.specs.cache_spec import CacheSpec

if TYPE_CHECKING:
    from glasscli.budget.request import Request

BLOCK, WINDOW_BLOCK, STATE_BLOCKS = 256, 64, {4: 4, 128: 8}
ROW, INDEX_ROW, ALIGNED = 584, 132, 576
WIDTH, INDEX_WIDTH, F32 = 512, 128, 4


class Cache(NamedTuple):
    """One cache of one layer: tokens of a page, its window or None, bytes of a page; the role of what it holds."""

    block: int
    window: int | None
    n_bytes: int
    role: str

    def pages(self, tokens: int, step: int) -> int:
        """Pages of one request of so many tokens, of which `step` may be under way."""
        if self.window is None:
            return -(-tokens // self.block)
        return -(-min(self.window - 1 + step, tokens) // self.block) + 1


def all_of(request: "Request", parts: tuple[CacheSpec, ...]) -> bool:
    """Whether the layers are DeepSeek V4's. Raises ConfigError for what is not known of such."""
    if not any(isinstance(part, CompressedAttention) for part in parts):
        return False
    odd = next((part for part in parts if not known(part)), None)
    if odd is not None:
        why = "what its pages hold is not known but for rows of 512, one for 4 tokens with an index or one for 128"
        raise refuse("vLLM", request, odd, why)
    for field, wrong, why in (
        ("pp", request.pp > 1, "how its groups of layers split over pipeline stages is not known; tp and dp are"),
        ("prefix_shared", request.prefix_shared > 0, "how many of its blocks a prefix shares is not known"),
        ("block_size", request.options.get("block_size") not in (None, BLOCK), f"its pages are of {BLOCK} tokens"),
        ("hybrid_manager", not request.option("hybrid_manager"), "they need the hybrid cache manager"),
    ):
        if wrong:
            raise ConfigError(f"vLLM: {request.layout.model_type} has compressed layers; {why}", field)
    return True


def known(part: CacheSpec) -> bool:
    """Whether a layer is one of DeepSeek V4's as published: what pages hold of others is not known."""
    if type(part) is not CompressedAttention or part.width != WIDTH:
        return False
    return (part.ratio, part.index_dim) in ((0, 0), (4, INDEX_WIDTH), (128, 0))


def caches(part: CompressedAttention) -> tuple[Cache, ...]:
    """The caches of one layer, their pages as large as they are before groups are made equal."""
    found = [Cache(WINDOW_BLOCK, part.size, aligned(WINDOW_BLOCK * ROW), "k")]
    if part.ratio:
        both = 2 if part.ratio == 4 else 1  # a row of 4 overlaps with the one before
        block, window = STATE_BLOCKS[part.ratio], both * part.ratio
        found.append(Cache(BLOCK, None, aligned(BLOCK // part.ratio * ROW), "k"))
        found.append(Cache(block, window, aligned(block * 2 * both * WIDTH * F32), "state"))
        if part.index_dim:
            found.append(Cache(BLOCK, None, aligned(BLOCK // part.ratio * INDEX_ROW), "index"))
            found.append(Cache(block, window, aligned(block * 2 * both * INDEX_WIDTH * F32), "state"))
    return tuple(found)


def aligned(n_bytes: int) -> int:
    """A page as large as its kernels want it."""
    return up(n_bytes, ALIGNED)


@dataclass(frozen=True)
class Pool:
    """The blocks of one model's layers, `counts` of each kind."""

    counts: Mapping[CompressedAttention, int]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the pages without a window, which all pages have."""
        found = {cache.n_bytes for part in self.counts for cache in caches(part) if cache.window is None}
        return tuple(sorted(found)) or (aligned(WINDOW_BLOCK * ROW),)

    def page(self, cache: Cache) -> int:
        """Bytes of a page, made as large as one of `sizes`."""
        return next((size for size in self.sizes if size >= cache.n_bytes), cache.n_bytes)

    @property
    def groups(self) -> dict[tuple[int, int | None], int]:
        """Pages and window of each group → the layers that it has of the size of page of which it has the most."""
        found: dict[tuple[int, int | None], Counter[int]] = {}
        for part, count in self.counts.items():
            for cache in caches(part):
                found.setdefault((cache.block, cache.window), Counter())[self.page(cache)] += count
        return {key: max(sizes.values()) for key, sizes in found.items()}

    @property
    def in_block(self) -> int:
        """Layers that a block has room for: the number from the full group's on that leaves the least room empty."""
        layers = self.groups
        least = max((count for (_, window), count in layers.items() if window is None), default=1)
        return min(
            range(least, max(layers.values()) + 1), key=lambda n: sum(up(count, n) - count for count in layers.values())
        )

    @property
    def block_bytes(self) -> int:
        """Bytes of a block."""
        return self.in_block * sum(self.sizes)

    def blocks(self, tokens: int, step: int) -> int:
        """Blocks of one request."""
        in_block = self.in_block
        return sum(
            -(-layers // in_block) * Cache(block, window, 0, "").pages(tokens, step)
            for (block, window), layers in self.groups.items()
        )

    def capacity(self, tokens: int, step: int, budget_bytes: int, n_empty: int) -> Capacity:
        """How many blocks `budget_bytes` are, and a request of `tokens` takes."""
        return Capacity(BLOCK, budget_bytes // self.block_bytes, self.blocks(tokens, step), n_empty)


def held(part: CompressedAttention, tokens: int, step: int, page: Callable[[Cache], int]) -> dict[str, int]:
    """Bytes of the pages that one layer writes to for one request, by role."""
    found: dict[str, int] = {}
    for cache in caches(part):
        found[cache.role] = found.get(cache.role, 0) + cache.pages(tokens, step) * page(cache)
    return found
