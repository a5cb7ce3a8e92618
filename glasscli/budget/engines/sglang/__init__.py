"""What SGLang allocates when it starts: pools of slots for tokens, and of slots for recurrent states.

A pool has a slot for each token in each layer, rounded up to whole pages, and one page more, which padded tokens are
written to. Layers with a window live in a second pool where SGLang knows the model as such: it has a share
(`swa_full_tokens_ratio`) of the first one's tokens, however long the windows are. A state takes a slot of its own
pool, which has one spare; where prefixes are cached, a running sequence takes several.

The sizes are those of pools made for so many tokens and states (`--max-total-tokens`, `--max-mamba-cache-size`): left
to itself, SGLang fills the memory that there is. What tests hold it to are the lines it logs (`KV Cache is allocated.
#tokens: …`, `Mamba Cache is allocated. …`), which say GB and mean GiB.

Source: SGLang 0.5.23, `mem_cache/memory_pool.py`, `mem_cache/kv_cache_configurator.py`,
`model_executor/pool_configurator.py`, `configs/mamba_utils.py`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from glasscli.budget.engines.engine import Dtypes, Held, Served, Server, choose_dtypes, refuse, rule_for, up
from glasscli.budget.engines.sglang import serve
from glasscli.budget.engines.words import state_dtypes
from glasscli.dtypes import dtype_named
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import (
    CacheSpec,
    ChunkedAttention,
    FullAttention,
    LatentAttention,
    SlidingAttention,
)
from glasscli.specs.state_specs import KDA, DeltaNet, Mamba2, ShortConv

if TYPE_CHECKING:
    from glasscli.budget.request import Request

EDITION = "0.5.23"
CACHE_DTYPES = ("f32", "f16", "bf16", "fp8", "mxfp8")
# Model types whose windows SGLang keeps in a pool of their own (`is_hybrid_swa_model`); all others hold every token.
WINDOWED = frozenset(
    {"llama4", "gpt_oss", "gemma4", "mimo_v2", "mimo_v2_flash", "step3p5", "step3p7", "laguna", "mellum"}
)
# Where each class of spec is kept: in the pool of all tokens, in that of windows, or in that of states.
TOKENS, WINDOWS, STATES = "tokens", "windows", "states"
RULES: Mapping[type[CacheSpec], str] = {
    FullAttention: TOKENS,
    LatentAttention: TOKENS,
    SlidingAttention: WINDOWS,
    ChunkedAttention: WINDOWS,
    ShortConv: STATES,
    Mamba2: STATES,
    DeltaNet: STATES,
    KDA: STATES,
}


class Sglang(Server):
    """SGLang's pools for the sequences of one replica."""

    name: ClassVar[str] = "sglang"
    title: ClassVar[str] = "SGLang"
    options = serve.OPTIONS
    other_dtypes = ("bf16", "fp8", "mxfp8")
    loads = "MODEL"
    loads_folders = True
    too_long = "SGLang refuses that unless SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 is set"
    edition = EDITION
    no_share = "SGLang's --mem-fraction-static is the share of weights and pools alone, not of all that it takes"
    pool_words = "KV Cache is allocated. #tokens: {}"

    def __init__(self, request: "Request", parts: tuple[CacheSpec, ...]) -> None:
        self.latents = tuple(part for part in parts if isinstance(part, LatentAttention))
        super().__init__(request, parts)
        self.rules = {part: rule_for(RULES, part, self.title, request) for part in parts}
        self.radix = not request.option("disable_radix_cache")
        self.hybrid = self.windows_kept()
        self.ratio = serve.ratio(request.option("swa_full_tokens_ratio"))
        self.check_parts()

    def windows_kept(self) -> bool:
        """Whether the layers with windows get a pool of their own."""
        name = self.request.layout.model_type.removesuffix("_text")
        return WINDOWS in self.rules.values() and name in WINDOWED

    def check_parts(self) -> None:
        """Raises ConfigError for layers side by side that nothing is known of."""
        request, kept = self.request, set(self.rules.values())
        for part in self.latents:
            if part.size is not None:
                raise refuse(self.title, request, part, "how it keeps a window of latents is not known")
        states = [part for part, rule in self.rules.items() if rule == STATES]
        if states and WINDOWS in kept:
            raise refuse(self.title, request, states[0], "how it keeps windows beside states is not known")
        if states and request.draft_layers:
            raise ConfigError(
                "SGLang keeps states of drafted tokens too, how many is not known here: no draft layer is counted",
                "draft_layers",
            )
        if request.prefix_shared and not self.radix:
            raise ConfigError("SGLang shares a prefix through its radix cache, which is off", "disable_radix_cache")
        if self.hybrid and not self.radix:
            raise ConfigError(
                "without the radix cache SGLang sizes the pool for windows by chunked_prefill_size, which it takes "
                "from the device: not known here",
                "disable_radix_cache",
            )

    def choose_dtypes(self) -> Dtypes:
        """One dtype for keys and values; convolutions bfloat16, states float32 unless the config says otherwise."""
        request = self.request
        base = choose_dtypes(request)
        hint = request.layout.kv_dtype_hint if request.layout.kv_dtype_hint == "fp8" else None
        k = dtype_named(request.k_dtype or request.v_dtype or hint or base.model).name
        if request.v_dtype is not None and dtype_named(request.v_dtype).name != k:
            raise ConfigError(f"SGLang keeps keys and values in one dtype, not {k} and {request.v_dtype}", "v_dtype")
        if k not in CACHE_DTYPES or (k in ("f32", "f16") and k != base.model):
            raise ConfigError(
                f"the size of a cache in {k} under SGLang is not known; it has bf16, fp8, mxfp8 or the model's own "
                f"{base.model}",
                "k_dtype",
            )
        if k == "mxfp8" and self.latents:
            raise ConfigError("how SGLang keeps latents (MLA) in mxfp8 is not known", "k_dtype")
        indexed = any(part.index_dim for part in self.latents)
        if k == "fp8" and indexed and not request.option("dsa_raw_rows"):
            k = "fp8_ds_mla"
        state = request.state_dtype or request.layout.state_dtype_hint or "f32"
        return replace(base, k=k, v=k, index="fp8_block128", conv="bf16", state=dtype_named(state).name)

    @property
    def span(self) -> int:
        """Tokens of a page."""
        indexed = any(part.index_dim for part in self.latents)
        usual = serve.INDEXED_PAGE if indexed else serve.PLAIN_PAGE
        return int(self.request.options.get("page_size") or usual)

    @property
    def slots(self) -> int:
        """Slots for states that one running sequence takes."""
        return serve.SLOTS[self.request.option("mamba_radix_cache_strategy")] if self.radix else 1

    def state_slots(self, sequences: int) -> int:
        """Slots of the pool of states, without the spare one. Raises ConfigError for too few."""
        needed = self.slots * sequences
        given = self.request.options.get("max_mamba_cache_size")
        if given is not None and given < needed:
            raise ConfigError(
                f"max_mamba_cache_size is {given}; {sequences} sequences take {self.slots} states each",
                "max_mamba_cache_size",
            )
        return int(given or needed)

    def pool_tokens(self, tokens: int, sequences: int) -> int:
        """Tokens of the pool, as SGLang logs them: whole pages; those of a common prefix once."""
        pages = -(-tokens // self.span)
        shared = min(self.request.prefix_shared, tokens) // self.span
        return (shared + sequences * (pages - shared)) * self.span

    def window_tokens(self, pool: int) -> int:
        """Tokens of the pool for windows beside one of `pool` tokens."""
        if TOKENS not in self.rules.values():
            return pool
        return int(pool * self.ratio) // self.span * self.span

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        if self.rules[part] == STATES:
            copies = self.state_slots(sequences) + 1
            return {tensor.role: tensor.rows * self.dtypes.row(tensor) * copies for tensor in part.tensors(1)}
        pool = self.pool_tokens(tokens, sequences)
        if self.hybrid and self.rules[part] == WINDOWS:
            pool = self.window_tokens(pool)
        rows = pool + self.span
        return {tensor.role: rows * self.dtypes.row(tensor) for tensor in part.tensors(1)}

    def notes(self) -> tuple[str, ...]:
        sequences = -(-self.request.batch // self.request.dp)
        pool = self.pool_tokens(self.request.tokens, sequences)
        said = []
        if set(self.rules.values()) & {TOKENS, WINDOWS}:
            pages = f"in pages of {self.span}, and a spare page" if self.span > 1 else "and a spare one"
            said.append(f"SGLang {EDITION}: a pool of {pool:,} tokens ({pages})")
        if self.hybrid:
            said.append(f"layers with windows: a pool of {self.window_tokens(pool):,} tokens, {self.ratio:g} of those")
        elif WINDOWS in self.rules.values():
            said.append(f"SGLang gives the layers with windows of {self.request.layout.model_type} every token")
        states = [part for part, rule in self.rules.items() if rule == STATES]
        if states:
            dtypes = state_dtypes(states, lambda part, tensor: self.dtypes.of(tensor))
            said.append(f"{dtypes}: {self.state_slots(sequences):,} slots, {self.slots} a sequence, and a spare one")
        if self.dtypes.k == "fp8_ds_mla":
            said.append("fp8 latents with a sparse index are 656 B each (576 for the trtllm kernels: dsa_raw_rows)")
        hint = self.request.layout.kv_dtype_hint
        if hint not in (None, "fp8") and self.request.k_dtype is None:
            said.append(f"SGLang keeps {self.dtypes.k} unless told otherwise, whatever the config's {hint} says")
        return tuple(said)

    def warnings(self) -> tuple[str, ...]:
        """A line where the pool for windows has no room for those of all sequences at once."""
        if not self.hybrid:
            return ()
        tokens, sequences = self.request.tokens, -(-self.request.batch // self.request.dp)
        widest = max(part.window or 0 for part in self.parts)
        needed = sequences * (min(up(tokens, self.span), widest) + self.span)
        there = self.window_tokens(self.pool_tokens(tokens, sequences))
        if needed <= there:
            return ()
        return (f"the windows of all sequences take {needed:,} tokens, their pool has {there:,}: some will wait",)

    @classmethod
    def command_line(cls, served: Served) -> list[str]:
        return serve.words(served) + cls.flags(served.settings.options)
