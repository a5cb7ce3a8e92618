"""What vLLM reserves: pages of tokens for attention, whole pages for recurrent states, per request.

Three rules make its numbers differ from the mathematics. A sliding layer is charged for the window and for all
the tokens that one step may add, plus one page. Layers of different kinds share one pool, so their pages are made
equally large: the smaller kind holds more tokens a page. A recurrent state takes a whole page, for which the
attention pages grow until one holds a state.

Source: vLLM's `v1/kv_cache_interface.py` (`max_memory_usage_bytes`), `v1/core/kv_cache_utils.py`
(`unify_kv_cache_spec_page_size`) and the alignment of attention pages to state pages; page sizes of 528, 544, 784
and 1568 tokens that it logged for Qwen3-Next and Qwen3.5/3.6 are reproduced by the tests.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import lcm

from glasscli.budget.dtypes import dtype_named
from glasscli.budget.engines.engine import Dtypes, Held, choose_dtypes, refuse, total, up
from glasscli.budget.request import Request
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import (
    CacheSpec,
    ChunkedAttention,
    CrossAttention,
    FullAttention,
    LatentAttention,
    NoCache,
    SlidingAttention,
    WindowedAttention,
)
from glasscli.specs.state_specs import KDA, DeltaNet, Mamba1, Mamba2, ShortConv

CACHE_DTYPES = ("f32", "f16", "bf16", "fp8", "fp8_ds_mla", "fp8_per_token_head", "int8_per_token_head", "nvfp4")
HEADS_ONLY = ("fp8_per_token_head", "int8_per_token_head", "nvfp4")  # refused beside latent attention
PLAIN_BLOCK, LATENT_BLOCK = 16, 64  # the smallest pages that FlashAttention and the MLA kernels work on

STATES = (ShortConv, Mamba1, Mamba2, DeltaNet, KDA)


@dataclass(frozen=True)
class Pages:
    """How large the pages of one model are: tokens of each attention part, bytes of a state's page."""

    tokens: dict[CacheSpec, int]
    state_bytes: int | None


class Vllm:
    """vLLM's allocation for one request at its longest, times the requests."""

    def __init__(self, request: Request, layers: tuple[CacheSpec, ...]) -> None:
        self.request = request
        self.parts = tuple(part for part in layers if not isinstance(part, NoCache))
        self.dtypes = self.choose_dtypes()
        for part in self.parts:
            self.check(part)
        self.states = tuple(part for part in self.parts if is_state(part))
        self.latent = any(isinstance(part, LatentAttention) for part in self.parts) and not self.expanded
        self.pages = self.lay_out()
        self.span = lcm(1, *self.pages.tokens.values())

    @property
    def expanded(self) -> bool:
        """Whether MLA caches the keys and values of every head."""
        return bool(self.request.option("mla_expanded"))

    def choose_dtypes(self) -> Dtypes:
        """One dtype for keys and values; a state in the config's dtype, else the model's."""
        request = self.request
        base = choose_dtypes(request)
        k = dtype_named(request.k_dtype or request.v_dtype or request.layout.kv_dtype_hint or base.model).name
        if request.v_dtype is not None and dtype_named(request.v_dtype).name != k:
            raise ConfigError(f"vLLM keeps keys and values in one dtype, not {k} and {request.v_dtype}", "v_dtype")
        if k not in CACHE_DTYPES:
            raise ConfigError(f"vLLM has no {k} cache; it has {', '.join(CACHE_DTYPES)}", "k_dtype")
        if k in HEADS_ONLY and any(isinstance(part, LatentAttention) for part in self.parts) and not self.expanded:
            raise ConfigError(f"vLLM has no {k} cache for latent attention (MLA); it has fp8 or the model's", "k_dtype")
        if k == "fp8" and any(isinstance(part, LatentAttention) and part.index_dim for part in self.parts):
            k = "fp8_ds_mla"
        state = request.state_dtype or request.layout.state_dtype_hint or base.model
        return replace(base, k=k, v=k, index="fp8_block128", conv=base.model, state=dtype_named(state).name)

    def check(self, part: CacheSpec) -> None:
        """Raises ConfigError for a layer whose rule in vLLM is not known."""
        known = (FullAttention, WindowedAttention, LatentAttention, CrossAttention)
        if not isinstance(part, known) and not is_state(part):
            raise refuse("vLLM", self.request, part)
        if isinstance(part, LatentAttention) and part.size is not None:
            raise refuse("vLLM", self.request, part, "how it keeps a window of latents is not known")

    def row(self, part: CacheSpec) -> Held:
        """Bytes of one token in one layer, by role."""
        if isinstance(part, LatentAttention) and self.expanded:
            part = expanded(part)
        return {tensor.role: self.dtypes.row(tensor) for tensor in part.tensors(1, 1)}

    def state(self, part: CacheSpec) -> Held:
        """Bytes of one sequence's state in one layer, by role."""
        drafted = self.request.option("num_speculative_tokens")
        if drafted and isinstance(part, DeltaNet):
            part = replace(part, kernel=part.kernel + drafted)
        dtypes = replace(self.dtypes, state="f32") if isinstance(part, KDA) else self.dtypes
        return {tensor.role: tensor.rows * dtypes.row(tensor) for tensor in part.tensors(1)}

    def lay_out(self) -> Pages:
        """The pages of every part: one size in bytes wherever kinds differ."""
        smallest = LATENT_BLOCK if self.latent else PLAIN_BLOCK
        block = self.request.block_size or smallest
        page = {part: total(self.row(part)) for part in self.parts if not is_state(part)}
        if self.states and page:
            return self.lay_out_with_states(page, block, smallest)
        windows = any(isinstance(part, WindowedAttention) for part in page)
        if not windows or not self.request.option("hybrid_manager"):
            return Pages(dict.fromkeys(page, block), None)
        largest = max(page.values())
        for part, size in page.items():
            if largest % size:
                raise refuse(
                    "vLLM", self.request, part, f"a page of {size} B a token does not divide one of {largest} B"
                )
        return Pages({part: block * (largest // size) for part, size in page.items()}, None)

    def lay_out_with_states(self, row: dict[CacheSpec, int], block: int, smallest: int) -> Pages:
        """Attention pages that grow until one holds a state."""
        odd = next((part for part in row if isinstance(part, WindowedAttention)), None)
        if odd is not None:
            raise refuse("vLLM", self.request, odd, "how windows and recurrent states share pages is not known")
        growing = {size for part, size in row.items() if not isinstance(part, CrossAttention)}
        if len(growing) != 1 or any("index" in self.row(part) for part in row):
            raise refuse(
                "vLLM", self.request, self.states[0], "how attention of several widths shares pages is not known"
            )
        per_token = growing.pop()
        state = max(total(self.state(part)) for part in self.states)
        block = max(block, up(-(-state // per_token), smallest))
        return Pages(dict.fromkeys(row, block), block * per_token)

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        if is_state(part):
            return self.hold_state(part, sequences)
        block = self.pages.tokens[part]
        shared = 0
        if isinstance(part, CrossAttention):
            pages = -(-self.request.encoder // block)
        elif isinstance(part, SlidingAttention) and self.request.option("hybrid_manager"):
            pages = -(-min(part.size - 1 + self.step, tokens) // block) + 1
        elif isinstance(part, ChunkedAttention) and self.request.option("hybrid_manager"):
            pages = -(-min(part.size + self.step, tokens) // block)
        else:
            pages = -(-tokens // block)
            shared = min(self.request.prefix_shared, tokens) // block
        rows = (shared + sequences * (pages - shared)) * block
        return {role: rows * size for role, size in self.row(part).items()}

    def hold_state(self, part: CacheSpec, sequences: int) -> Held:
        """A page for each sequence, one more when prefixes are cached (align), one for each drafted token."""
        mode = self.request.option("mamba_cache_mode")
        copies = sequences * ((2 if mode == "align" else 1) + self.request.option("num_speculative_tokens"))
        held = self.state(part)
        if self.pages.state_bytes is not None:
            held["padding"] = self.pages.state_bytes - total(held)
        return {role: size * copies for role, size in held.items()}

    def page_bytes(self, part: CacheSpec) -> int:
        """Bytes of one page of one layer."""
        if not is_state(part):
            return self.pages.tokens[part] * total(self.row(part))
        return self.pages.state_bytes or total(self.state(part))

    @property
    def step(self) -> int:
        """Tokens that one step may add."""
        return int(self.request.option("max_num_batched_tokens"))

    def notes(self) -> tuple[str, ...]:
        said = []
        blocks = sorted(set(self.pages.tokens.values()))
        if blocks:
            said.append(f"vLLM pages of {' and '.join(map(str, blocks))} tokens")
        if self.pages.state_bytes is not None:
            said.append(f"each recurrent state takes a whole page of {self.pages.state_bytes:,} B")
        if any(isinstance(part, WindowedAttention) for part in self.parts):
            if self.request.option("hybrid_manager"):
                said.append(f"windows are held with the {self.step} tokens that a step may add")
            else:
                said.append("without the hybrid cache manager every layer holds all tokens")
        if self.dtypes.k == "fp8_ds_mla":
            said.append("fp8 latents with a sparse index are stored as fp8_ds_mla, 656 B each")
        if self.states:
            said.append(f"convolutions in {self.dtypes.conv}, states in {self.dtypes.state}")
        if self.request.prefix_shared:
            said.append("a shared prefix is kept once in whole pages; windows and states are each sequence's own")
        return tuple(said)


def group_size(counts: Collection[int]) -> int:
    """Layers in a group, given how many layers there are of each kind: all groups of a pool are equally large.

    A group that is not full wastes the rest of its pages. Source: vLLM's `get_kv_cache_groups`.
    """
    fewest, most = min(counts), max(counts)
    return most if 4 * most < 5 * fewest else fewest


def is_state(part: CacheSpec) -> bool:
    """Whether vLLM keeps `part` as a recurrent state of fixed size."""
    return isinstance(part, STATES)


def expanded(part: LatentAttention) -> FullAttention:
    """MLA as keys and values of every head, for engines that don't absorb its projections."""
    if not (part.n_heads and part.nope_dim and part.v_dim):
        raise ConfigError("the expanded form of MLA needs qk_nope_head_dim and v_head_dim", "v_head_dim")
    return FullAttention(part.n_heads, part.nope_dim + part.rope_dim, part.v_dim)
