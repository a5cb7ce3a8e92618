"""What vLLM reserves: pages of tokens for attention, whole pages for recurrent states, per request.

Three rules make its numbers differ from the mathematics. A sliding layer is charged for the window and for all
the tokens that one step may add, plus one page (`rules`). Layers of different kinds share one pool, so their pages
are made equally large: the smaller kind holds more tokens a page. A recurrent state takes a whole page, for which
the attention pages grow until one holds a state.

Source: vLLM's `v1/core/kv_cache_utils.py` (`unify_kv_cache_spec_page_size`) and the alignment of attention pages to
state pages; page sizes of 528, 544, 784 and 1568 tokens that it logged for Qwen3-Next and Qwen3.5/3.6 are
reproduced by the tests.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any, ClassVar

from glasscli.budget.engines.engine import (
    Capacity,
    Dtypes,
    Held,
    Paged,
    Served,
    Server,
    refuse,
    rule_for,
    total,
    up,
)
from glasscli.budget.engines.vllm import compressed, contexts, groups, remarks, serve, states, versions
from glasscli.budget.engines.vllm.batched import batched_tokens
from glasscli.budget.engines.vllm.dtypes import cache_dtypes
from glasscli.budget.engines.vllm.rules import EVERYTHING, IN_FLOAT32, PAGES, STATES, Ask, Pages, encoder
from glasscli.specs.attention_specs import CacheSpec, CompressedAttention, FullAttention, IndexKeys, LatentAttention

if TYPE_CHECKING:
    from glasscli.budget.request import Request

# The smallest pages that FlashAttention, the MLA kernels and those of MiniMax M3's index work on.
PLAIN_BLOCK, LATENT_BLOCK, INDEX_BLOCK = 16, 64, 128


class Vllm(Server, Paged):
    """vLLM's allocation for one request at its longest, times the requests."""

    name: ClassVar[str] = "vllm"
    title: ClassVar[str] = "vLLM"
    options = serve.OPTIONS
    other_dtypes = ("f16", "fp8", "fp8_per_token_head", "nvfp4")
    loads = "MODEL"
    loads_folders = True
    too_long = "vLLM refuses that unless VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 is set"
    strict: ClassVar[Mapping[str, Any]] = {"pad_groups": True}
    splits_contexts = True
    takes_a_share = True
    takes_a_drafter = True

    def __init__(self, request: "Request", parts: tuple[CacheSpec, ...]) -> None:
        self.latents = tuple(part for part in parts if isinstance(part, LatentAttention))
        self.expanded = bool(request.option("mla_expanded"))  # MLA caches the keys and values of every head
        self.hybrid = bool(request.option("hybrid_manager"))
        self.rules = versions.rules_of(request.option("version"))
        super().__init__(request, parts)
        self.step = int(request.option("max_num_batched_tokens")) * self.steps_under_way
        self.compressed = compressed.all_of(request, parts)
        for part in () if self.compressed else parts:
            rule_for(EVERYTHING, part, self.title, request)
        for part in parts:
            if isinstance(part, LatentAttention) and part.size is not None:
                raise refuse(self.title, request, part, "how it keeps a window of latents is not known")
            if isinstance(part, IndexKeys) and part.n_positions:
                raise refuse(self.title, request, part, "how it keeps positions beside index keys is not known")
        self.states = tuple(part for part in parts if is_state(part))
        self.pages = self.lay_out()
        if request.dcp > 1:
            contexts.check(request, parts, self.title)
        if request.pcp > 1:
            contexts.check_prompts(request, self.edition, self.rules.ahead)

    @property
    def share(self) -> Fraction:
        return self.rules.share

    @property
    def steps_under_way(self) -> int:
        """Steps whose tokens a window is charged for."""
        if not self.rules.ahead:
            return 1
        return self.request.pp + (1 if self.request.option("async_scheduling") else 0)

    @property
    def span(self) -> int:
        """A page of every part is full after so many tokens."""
        return lcm(1, *self.pages.tokens.values()) * self.request.dcp

    def choose_dtypes(self) -> Dtypes:
        return cache_dtypes(self.request, self.parts, self.expanded)

    def row(self, part: CacheSpec) -> Held:
        """Bytes of one token in one layer, by role."""
        if isinstance(part, LatentAttention) and self.expanded:
            part = part.expanded()
        return {tensor.role: self.dtypes.row(tensor) for tensor in part.tensors(1, 1)}

    def state(self, part: CacheSpec) -> Held:
        """Bytes of one sequence's state in one layer, by role."""
        kept = STATES[type(part)](part, self.request.option("num_speculative_tokens"))
        dtypes = self.dtypes_of(part)
        return {tensor.role: tensor.rows * dtypes.row(tensor) for tensor in kept.tensors(1)}

    def dtypes_of(self, part: CacheSpec) -> Dtypes:
        """What `part` is kept in: some states are float32 whatever the others are."""
        return replace(self.dtypes, state="f32") if type(part) in IN_FLOAT32 else self.dtypes

    @property
    def edition(self) -> str:
        return str(self.request.option("version"))

    def lay_out(self) -> Pages:
        """The pages of every part: one size in bytes wherever kinds differ."""
        if self.compressed:
            return Pages(dict.fromkeys(self.parts, compressed.BLOCK), None)
        smallest = LATENT_BLOCK if self.latents and not self.expanded else PLAIN_BLOCK
        smallest = INDEX_BLOCK if any(isinstance(part, IndexKeys) for part in self.parts) else smallest
        block = self.request.options.get("block_size") or smallest
        row = {part: total(self.row(part)) for part in self.parts if not is_state(part)}
        if self.states and row:
            return self.lay_out_with_states(row, block, smallest)
        if not self.hybrid or all(part.window is None for part in row):
            return Pages(dict.fromkeys(row, block), None)
        largest = max(row.values())
        for part, size in row.items():
            if largest % size:
                why = f"a page of {size} B a token does not divide one of {largest} B"
                raise refuse(self.title, self.request, part, why)
        return Pages({part: block * (largest // size) for part, size in row.items()}, None)

    def lay_out_with_states(self, row: Mapping[CacheSpec, int], block: int, smallest: int) -> Pages:
        """Attention pages that grow until one holds a state."""
        odd = next((part for part in row if part.window is not None), None)
        if odd is not None:
            raise refuse(self.title, self.request, odd, "how windows and recurrent states share pages is not known")
        growing = {size for part, size in row.items() if PAGES[type(part)] is not encoder}
        if len(growing) != 1 or any("index" in self.row(part) for part in row):
            why = "how attention of several widths shares pages is not known"
            raise refuse(self.title, self.request, self.states[0], why)
        per_token = growing.pop()
        state = max(total(self.state(part)) for part in self.states)
        step = lcm(states.chunk(self.request, self.states), block) if self.keeps_states else smallest
        block = max(block, up(-(-state // per_token), step))
        return Pages(dict.fromkeys(row, block), block * per_token)

    def pool(self, counts: Mapping[CacheSpec, int]) -> compressed.Pool:
        """The blocks of DeepSeek V4's layers, `counts` of each kind."""
        return compressed.Pool({part: n for part, n in counts.items() if isinstance(part, CompressedAttention)})

    def pooled(self, counts: Mapping[CacheSpec, int], tokens: int, sequences: int) -> int | None:
        if not self.compressed or not counts:
            return None
        pool = self.pool(counts)
        return pool.block_bytes * pool.blocks(tokens, self.step) * sequences if tokens else 0

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        if self.compressed and isinstance(part, CompressedAttention):
            if not tokens:
                return {}
            pool = self.pool(Counter(self.parts))
            own = compressed.held(part, tokens, self.step, pool.page)
            return {role: size * sequences for role, size in own.items()}
        if is_state(part):
            return self.hold_state(part, tokens, sequences)
        block = self.pages.tokens[part]
        prefix = self.request.prefix_shared // self.request.dcp
        tokens = -(-tokens // self.request.dcp)
        ask = Ask(tokens, self.request.encoder, prefix, self.step if self.hybrid else None)
        pages, shared = PAGES[type(part)](part, ask, block)
        rows = (shared + sequences * (pages - shared)) * block
        return {role: rows * size for role, size in self.row(part).items()}

    def warnings(self) -> tuple[str, ...]:
        pcp = self.request.pcp
        said = f"pcp {pcp}: {pcp} ranks share the work on a prompt and each keeps all of the cache; dcp would divide it"
        return (said,) if pcp > 1 else ()

    @property
    def keeps_states(self) -> bool:
        """Whether states are kept along the way, one for each page of tokens."""
        return bool(self.request.option("mamba_cache_mode") == "all")

    def hold_state(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        """A page for each sequence, two (align) or as many as of tokens (all) where prefixes are cached; one more for
        each drafted token."""
        mode = self.request.option("mamba_cache_mode")
        pages = 2 if mode == "align" else 1
        if self.keeps_states:
            if not self.pages.tokens:
                raise refuse(
                    self.title, self.request, part, "how it keeps states without attention beside is not known"
                )
            pages = -(-tokens // min(self.pages.tokens.values()))
        copies = sequences * (pages + self.request.option("num_speculative_tokens"))
        held = self.state(part)
        if self.pages.state_bytes is not None:
            held["padding"] = self.pages.state_bytes - total(held)
        return {role: size * copies for role, size in held.items()}

    def notes(self) -> tuple[str, ...]:
        return remarks.notes(self)

    @property
    def alike(self) -> bool:
        """Whether every layer keeps every token: then all are one group, as wide as each may be."""
        return all(type(part) in (FullAttention, LatentAttention, IndexKeys) for part in self.parts)

    def places(self, counts: Mapping[CacheSpec, int]) -> Mapping[CacheSpec, int]:
        if self.compressed:
            return counts
        return (
            groups.filled(counts, self.rules.near) if self.request.option("pad_groups") and not self.alike else counts
        )

    def idle(self, counts: Mapping[CacheSpec, int], size: Mapping[CacheSpec, int]) -> tuple[str, ...]:
        full = self.alike or self.compressed or self.request.option("pad_groups")
        return () if full else groups.idle(counts, size, self.rules.near)

    def kept_empty(self, counts: Mapping[CacheSpec, int]) -> int:
        if not counts or not self.rules.empty:
            return 0
        if self.compressed:
            return self.rules.empty * self.pool(counts).block_bytes
        if self.alike:
            return self.rules.empty * sum(count * self.page_bytes(part) for part, count in counts.items())
        in_group = groups.group_size(counts.values(), self.rules.near)
        return self.rules.empty * in_group * max(self.page_bytes(part) for part in counts)

    def capacity(self, layers: Iterable[tuple[CacheSpec, int]], tokens: int, budget_bytes: int) -> Capacity:
        if self.compressed:
            return self.pool(dict(layers)).capacity(tokens, self.step, budget_bytes, self.rules.empty)
        sizes = [(count, self.page_bytes(part), total(self.hold(part, tokens, 1))) for part, count in layers]
        smallest = min(self.pages.tokens.values(), default=1) * self.request.dcp
        shared = groups.capacity_of_one if self.alike else groups.capacity
        return shared(sizes, budget_bytes, smallest, self.rules)

    def page_bytes(self, part: CacheSpec) -> int:
        """Bytes of one page of one layer."""
        if not is_state(part):
            return self.pages.tokens[part] * total(self.row(part))
        return self.pages.state_bytes or total(self.state(part))

    @classmethod
    def usual_on(cls, device_bytes: int, device_name: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"max_num_batched_tokens": batched_tokens(device_bytes, device_name, config)}

    @classmethod
    def command_line(cls, served: Served) -> list[str]:
        return serve.words(served) + cls.flags(served.settings.options)


def is_state(part: CacheSpec) -> bool:
    """Whether vLLM keeps `part` as a recurrent state of fixed size."""
    return type(part) in STATES
