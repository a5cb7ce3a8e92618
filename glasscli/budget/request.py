"""What a budget is asked for: a layout, how long, how many, in which dtypes, in which engine, split how.

A `Request` is checked when it is made; what only the model can decide (heads that do not split, a dtype that does
not fit a head) is left to the planning. It knows every engine's options by name, not what they do.
"""

from dataclasses import dataclass, fields
from typing import Any

from glasscli.budget.dtypes import dtype_named
from glasscli.config.families import Layout
from glasscli.errors import UsageError

ENGINES = ("logical", "transformers", "vllm", "llama.cpp")


@dataclass(frozen=True)
class Option:
    """One setting of an engine: its type, what the engine does when nobody sets it, and one line of help."""

    type: type
    default: Any
    says: str


DRAFT = Option(int, 0, "layers of a draft or multi-token-prediction head, each like the model's last full layer")
BLOCK = Option(int, None, "tokens a page holds; what is held is rounded up to whole pages")
ENGINE_OPTIONS: dict[str, dict[str, Option]] = {
    "logical": {"block_size": Option(int, 1, BLOCK.says), "draft_layers": DRAFT},
    "transformers": {},
    "vllm": {
        "block_size": Option(int, 16, BLOCK.says + " (64 for MLA; larger where a state must fit a page)"),
        "max_num_batched_tokens": Option(int, 8192, "tokens a step may add, held on top of a window"),
        "hybrid_manager": Option(bool, True, "false: windows and chunks are not used, all layers are full"),
        "mamba_cache_mode": Option(str, "none", "none: a page for each state; align: two"),
        "num_speculative_tokens": Option(int, 0, "drafted tokens: as many more snapshots of each state"),
        "draft_layers": DRAFT,
        "pad_groups": Option(bool, False, "true: count the pages that groups of layers which are not full leave idle"),
        "mla_expanded": Option(bool, False, "true: MLA caches the expanded keys and values"),
    },
    "llama.cpp": {
        "n_seq_max": Option(int, None, "sequences in parallel (-np); the batch unless set"),
        "n_ubatch": Option(int, 512, "physical batch (-ub), held on top of a window"),
        "kv_unified": Option(bool, True, "one cache for all sequences; false: one each (-no-kvu)"),
        "swa_full": Option(bool, False, "true: sliding layers hold the full context (--swa-full)"),
        "kv_pad": Option(int, 256, "cells are rounded up to this; 32 in builds before late 2025"),
        "n_rs_seq": Option(int, 0, "snapshots of each recurrent state for speculative decoding"),
        "draft_layers": DRAFT,
        "dsa_index": Option(bool, True, "false: builds without the sparse-attention index cache"),
        "mla_expanded": Option(bool, False, "true: builds before 2025-04, MLA as keys and values"),
    },
}


@dataclass(frozen=True)
class Request:
    """One question. `layout` is the model as `engine` holds it, `logical` as mathematics needs it (default: same).

    `tokens` are held by each of `batch` sequences, of which the first `prefix_shared` are common to all.
    None for a dtype means what the engine would take (the config's, else the model's); None for an option means
    the engine's default. `pp_layers` gives the layers of each pipeline stage where they are not split evenly.

    Raises UsageError for numbers out of range and for options of another engine.
    """

    layout: Layout
    tokens: int
    batch: int = 1
    engine: str = "logical"
    logical: Layout | None = None
    k_dtype: str | None = None
    v_dtype: str | None = None
    state_dtype: str | None = None
    index_dtype: str | None = None
    encoder_tokens: int | None = None
    prefix_shared: int = 0
    tp: int = 1
    pp: int = 1
    dp: int = 1
    pp_layers: tuple[int, ...] | None = None
    block_size: int | None = None
    max_num_batched_tokens: int | None = None
    hybrid_manager: bool | None = None
    mamba_cache_mode: str | None = None
    num_speculative_tokens: int | None = None
    pad_groups: bool | None = None
    mla_expanded: bool | None = None
    n_seq_max: int | None = None
    n_ubatch: int | None = None
    kv_unified: bool | None = None
    swa_full: bool | None = None
    kv_pad: int | None = None
    n_rs_seq: int | None = None
    dsa_index: bool | None = None
    draft_layers: int | None = None

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise UsageError(f"there is no engine {self.engine!r}; there are {', '.join(ENGINES)}")
        self._check_numbers()
        for name in ("k_dtype", "v_dtype", "state_dtype", "index_dtype"):
            if getattr(self, name) is not None:
                dtype_named(getattr(self, name))
        offered = ENGINE_OPTIONS[self.engine]
        for name in OPTION_NAMES:
            if getattr(self, name) is not None and name not in offered:
                owners = ", ".join(engine for engine, options in ENGINE_OPTIONS.items() if name in options)
                raise UsageError(f"{name} is a setting of {owners}, not of {self.engine}")
        if self.mamba_cache_mode not in (None, "none", "align"):
            raise UsageError(f"mamba_cache_mode is {self.mamba_cache_mode!r}; known are none and align")

    def _check_numbers(self) -> None:
        zero_is_fine = ("tokens", "encoder_tokens", "prefix_shared")
        least = dict.fromkeys((*zero_is_fine, "num_speculative_tokens", "n_rs_seq", "draft_layers"), 0)
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int) and not isinstance(value, bool) and value < least.get(field.name, 1):
                raise UsageError(f"{field.name} is {value}; it is at least {least.get(field.name, 1)}")
        if self.prefix_shared > self.tokens:
            raise UsageError(f"{self.prefix_shared} shared tokens are more than the {self.tokens} of a sequence")
        if self.pp_layers is not None:
            n_layers = self.layout.n_layers
            if len(self.pp_layers) != self.pp or sum(self.pp_layers) != n_layers or min(self.pp_layers) < 0:
                raise UsageError(f"pp_layers must be {self.pp} numbers that add up to {n_layers} layers")

    def option(self, name: str) -> Any:
        """The value of an engine's option: the one asked for, else the engine's default."""
        value = getattr(self, name)
        return ENGINE_OPTIONS[self.engine][name].default if value is None else value

    @property
    def encoder(self) -> int:
        """Tokens the encoder made: as asked for, else the model's usual number, else 0."""
        return self.encoder_tokens if self.encoder_tokens is not None else self.layout.encoder_tokens or 0


OPTION_NAMES = tuple(dict.fromkeys(name for options in ENGINE_OPTIONS.values() for name in options))
