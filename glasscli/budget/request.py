"""What a budget is asked for: a layout, how long, how many, in which dtypes, in which engine, split how.

A `Request` is checked when it is made; what only the model can decide (heads that do not split, a dtype that does
not fit a head) is left to the planning. Which options an engine has, and what they may be, it asks the engine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from glasscli.budget.engines import ENGINES, engine_named
from glasscli.config.families import Layout
from glasscli.dtypes import dtype_named
from glasscli.errors import UsageError

if TYPE_CHECKING:
    from glasscli.budget.engines.engine import Dtypes

OF_DTYPES = ("residual",)  # options that say how a dtype is kept, whoever counts
NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})
ZERO_IS_FINE = ("tokens", "encoder_tokens", "prefix_shared", "ep")


@dataclass(frozen=True)
class Request:
    """One question. `layout` is the model as `engine` holds it, `logical` as mathematics needs it (default: same).

    `tokens` are held by each of `batch` sequences, of which the first `prefix_shared` are common to all.
    None for a dtype means what the engine would take (the config's, else the model's). `options` are the engine's
    settings by its own names; one that is absent or None has the engine's default. `pp_layers` gives the layers of
    each pipeline stage where they are not split evenly. As many as `dcp` of the tensor-parallel ranks share the tokens
    of a sequence; `pcp` ranks, each with all of the cache, share the work on a prompt; `ep` spreads experts whole.
    `draft` is a model that drafts tokens and keeps a cache of its own, on the last stage. `usual` are the engine's
    defaults on the device that is asked about, where they depend on it.

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
    dcp: int = 1
    pcp: int = 1
    ep: bool = False
    pp_layers: tuple[int, ...] | None = None
    draft: Layout | None = None
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    usual: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        engine_named(self.engine)
        self._check_numbers()
        for name in ("k_dtype", "v_dtype", "state_dtype", "index_dtype"):
            if getattr(self, name) is not None:
                dtype_named(getattr(self, name))
        self._check_context_ranks()
        self._check_options()

    @property
    def n_ranks(self) -> int:
        """Devices that the plan is split over."""
        return self.tp * self.pp * self.dp * self.pcp

    def _check_context_ranks(self) -> None:
        if max(self.dcp, self.pcp) > 1 and not ENGINES[self.engine].splits_contexts:
            able = ", ".join(name for name, engine in ENGINES.items() if engine.splits_contexts)
            raise UsageError(f"{self.engine} does not split a sequence over ranks; {able} does")
        if min(self.dcp, self.pcp) > 1:
            raise UsageError("what a rank keeps where both pcp and dcp split a sequence is not known; dcp alone is")
        if self.tp % self.dcp:
            raise UsageError(f"dcp is {self.dcp}, which does not divide the {self.tp} tensor-parallel ranks")

    def _check_numbers(self) -> None:
        for own in fields(self):
            value, least = getattr(self, own.name), 0 if own.name in ZERO_IS_FINE else 1
            if isinstance(value, int) and value < least:
                raise UsageError(f"{own.name} is {value}; it is at least {least}")
        if self.prefix_shared > self.tokens:
            raise UsageError(f"{self.prefix_shared} shared tokens are more than the {self.tokens} of a sequence")
        if self.pp_layers is not None:
            n_layers = self.layout.n_layers
            if len(self.pp_layers) != self.pp or sum(self.pp_layers) != n_layers or min(self.pp_layers) < 0:
                raise UsageError(f"pp_layers must be {self.pp} numbers that add up to {n_layers} layers")

    def _check_options(self) -> None:
        offered = ENGINES[self.engine].options
        for name, value in self.options.items():
            if value is None:
                continue
            if name not in offered:
                owners = [engine.name for engine in ENGINES.values() if name in engine.options]
                known = f"a setting of {', '.join(owners)}, not of {self.engine}" if owners else "no engine's setting"
                raise UsageError(f"{name} is {known}")
            offered[name].check(name, value)

    def option(self, name: str) -> Any:
        """The value of an engine's option: the one asked for, else the engine's default, here or anywhere."""
        value = self.options.get(name)
        value = self.usual.get(name) if value is None else value
        return ENGINES[self.engine].options[name].default if value is None else value

    @property
    def draft_layers(self) -> int:
        """Layers of a draft head: none where the engine has no such setting."""
        return int(self.option("draft_layers")) if "draft_layers" in ENGINES[self.engine].options else 0

    @property
    def encoder(self) -> int:
        """Tokens the encoder made: as asked for, else the model's usual number, else 0."""
        return self.encoder_tokens if self.encoder_tokens is not None else self.layout.encoder_tokens or 0

    def as_mathematics(self, dtypes: "Dtypes", options: Mapping[str, Any] = NO_OPTIONS, **more: Any) -> "Request":
        """What is needed in `dtypes` with no engine's padding; one unsplit copy, up to what `more` sets."""
        kept = {name: value for name, value in self.options.items() if name in OF_DTYPES}
        return Request(
            self.logical or self.layout,
            self.tokens,
            self.batch,
            k_dtype=dtypes.k,
            v_dtype=dtypes.v,
            index_dtype=dtypes.index,
            encoder_tokens=self.encoder,
            draft=self.draft,
            options={**kept, **options},
            **more,
        )
