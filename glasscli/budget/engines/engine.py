"""What each engine allocates for one layer: the part every engine shares, and the two that pad nothing.

An `Engine` turns one part of one layer (already split over tensor-parallel ranks) into bytes for a number of
sequences. `logical` is the mathematics; `transformers` what its cache classes hold. vLLM and llama.cpp, which
have rules of their own, live in `vllm` and `llama_cpp`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from glasscli.budget.dtypes import dtype_named, row_bytes
from glasscli.budget.engines import hf_cache
from glasscli.budget.request import Request
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import CacheSpec, CompressedAttention, Tensor

Held = dict[str, int]  # role of a tensor (k, v, latent, state, …) → bytes
STATE_ROLES = ("conv", "state")
CROSS_ROLES = ("cross_k", "cross_v")


@dataclass(frozen=True)
class Dtypes:
    """The dtype of each role. None for `conv` or `state`: whatever the layer's kind says, else `model`."""

    model: str
    k: str
    v: str
    index: str
    conv: str | None = None
    state: str | None = None

    def of(self, tensor: Tensor) -> str:
        """The dtype `tensor` is stored in."""
        if tensor.role == "state":
            return self.state or tensor.dtype or self.model
        if tensor.role == "conv":
            return self.conv or tensor.dtype or self.model
        if tensor.role == "index":
            return self.index
        return self.v if tensor.role in ("v", "cross_v") else self.k

    def row(self, tensor: Tensor) -> int:
        """Bytes of one row of `tensor`."""
        return row_bytes(self.of(tensor), tensor.width // tensor.heads, tensor.heads)


class Engine(Protocol):
    """What a plan asks an engine. `span` tokens are the step in which what it allocates grows."""

    span: int
    dtypes: Dtypes

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        """Bytes of each role that one layer's `part` takes for all `sequences` of one replica."""
        ...

    def notes(self) -> tuple[str, ...]:
        """What was assumed and where it differs from the mathematics, a line each."""
        ...


def choose_dtypes(request: Request) -> Dtypes:
    """The dtypes of a request as mathematics takes them: those asked for, else the config's, else the model's."""
    model = dtype_named(request.layout.dtype).name
    usual = request.layout.kv_dtype_hint or model
    k = dtype_named(request.k_dtype or usual).name
    v = dtype_named(request.v_dtype or usual).name
    index = request.index_dtype or ("fp8_block128" if k == "fp8_ds_mla" else k)
    state = dtype_named(request.state_dtype).name if request.state_dtype else None
    return Dtypes(model, k, v, dtype_named(index).name, state=state)


def as_mathematics(request: Request, dtypes: Dtypes, **more: Any) -> Request:
    """What `request` needs in `dtypes` with no engine's padding; one unsplit copy, up to what `more` sets."""
    return Request(
        request.logical or request.layout,
        request.tokens,
        request.batch,
        k_dtype=dtypes.k,
        v_dtype=dtypes.v,
        index_dtype=dtypes.index,
        encoder_tokens=request.encoder,
        **more,
    )


def refuse(
    engine: str, request: Request, part: CacheSpec, why: str = "what it allocates for such layers is not known"
) -> ConfigError:
    """The refusal of a layer whose rule in this engine is not known."""
    model = request.layout.model_type or "this model"
    return ConfigError(f"{engine}: {model} has {part.name} layers; {why}", "engine")


class Logical:
    """The mathematics: every row that is needed, nothing padded unless a page is asked for."""

    def __init__(self, request: Request, layers: tuple[CacheSpec, ...]) -> None:
        self.request = request
        self.dtypes = choose_dtypes(request)
        self.page: int = request.option("block_size") if request.engine == "logical" else 1
        self.span = self.page

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        held: Held = {}
        for position, tensor in enumerate(part.tensors(tokens, self.request.encoder)):
            rows = tensor.rows
            if tensor.role in STATE_ROLES:
                rows *= sequences
            else:
                rows = up(rows, self.page)
                shared = self.shared_rows(part, position, rows, tokens) if tensor.role not in CROSS_ROLES else 0
                rows = shared + sequences * (rows - shared)
            held[tensor.role] = held.get(tensor.role, 0) + rows * self.dtypes.row(tensor)
        return held

    def shared_rows(self, part: CacheSpec, position: int, rows: int, tokens: int) -> int:
        """Rows of one sequence that belong to the prefix all sequences share, in whole pages."""
        prefix = min(self.request.prefix_shared, tokens) // self.page * self.page
        if isinstance(part, CompressedAttention) and position > 0:
            return min(rows, prefix // (part.ratio or 1))
        return max(0, rows - (up(tokens, self.page) - prefix))

    def notes(self) -> tuple[str, ...]:
        if self.page > 1:
            return (f"lengths are rounded up to pages of {self.page} tokens",)
        return ()


class Transformers(Logical):
    """What `transformers` keeps in its cache objects, one tensor for all sequences.

    It keeps them in the model's dtype, also where the config names another for engines that serve it.
    """

    def __init__(self, request: Request, layers: tuple[CacheSpec, ...]) -> None:
        super().__init__(request, layers)
        if request.prefix_shared:
            raise ConfigError("transformers holds every sequence's tokens: no prefix is shared", "prefix_shared")
        model = self.dtypes.model
        k, v = (dtype_named(name or model).name for name in (request.k_dtype, request.v_dtype))
        self.dtypes = replace(self.dtypes, k=k, v=v, index=dtype_named(request.index_dtype or k).name)
        for field, name in (("k_dtype", k), ("v_dtype", v)):
            if name not in ("f32", "f16", "bf16", "f64"):
                raise ConfigError(f"transformers: the size of a cache in {name} is not known", field)

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        held: Held = {}
        for tensor in hf_cache.held(part, tokens, self.request.encoder):
            dtype = tensor.dtype or self.dtypes.of(tensor)
            size = sequences * tensor.rows * row_bytes(dtype, tensor.width // tensor.heads, tensor.heads)
            held[tensor.role] = held.get(tensor.role, 0) + size
        return held

    def notes(self) -> tuple[str, ...]:
        hint = self.request.layout.kv_dtype_hint
        if hint and self.request.k_dtype is None:
            return (f"transformers keeps {self.dtypes.k}; the config's {hint} cache is for engines that serve it",)
        return ()


def up(count: int, step: int) -> int:
    """`count` rounded up to a multiple of `step`."""
    return -(-count // step) * step


def total(held: Mapping[str, int]) -> int:
    """All the bytes of all the roles."""
    return sum(held.values())
