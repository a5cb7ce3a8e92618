"""What vLLM keeps a cache in: one dtype for keys and values, and what it makes of it for some kinds of layers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from glasscli.budget.engines.engine import Dtypes, choose_dtypes
from glasscli.dtypes import dtype_named
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import CacheSpec, CompressedAttention, IndexKeys, LatentAttention

if TYPE_CHECKING:
    from glasscli.budget.request import Request

CACHE_DTYPES = ("f32", "f16", "bf16", "fp8", "fp8_ds_mla", "fp8_per_token_head", "int8_per_token_head", "nvfp4")
HEADS_ONLY = ("fp8_per_token_head", "int8_per_token_head", "nvfp4")  # refused beside latent attention


def cache_dtypes(request: "Request", parts: Sequence[CacheSpec], expanded: bool) -> Dtypes:
    """One dtype for keys and values; a state in the config's dtype, else the model's.

    Args:
        expanded: latent attention keeps the keys and values of every head.

    Raises:
        ConfigError: vLLM has no such cache, or none of it for a kind of layer among `parts`.
    """
    base = choose_dtypes(request)
    latents = [part for part in parts if isinstance(part, LatentAttention)]
    k = dtype_named(request.k_dtype or request.v_dtype or request.layout.kv_dtype_hint or base.model).name
    if request.v_dtype is not None and dtype_named(request.v_dtype).name != k:
        raise ConfigError(f"vLLM keeps keys and values in one dtype, not {k} and {request.v_dtype}", "v_dtype")
    if k not in CACHE_DTYPES:
        raise ConfigError(f"vLLM has no {k} cache; it has {', '.join(CACHE_DTYPES)}", "k_dtype")
    if any(isinstance(part, CompressedAttention) for part in parts):
        if k not in ("fp8", "fp8_ds_mla") and (request.k_dtype or request.v_dtype):
            raise ConfigError(f"vLLM: what compressed rows take in {k} is not known; in fp8 it is", "k_dtype")
        return replace(base, k="fp8", v="fp8", index="fp8_block128")
    if k in HEADS_ONLY and latents and not expanded:
        raise ConfigError(f"vLLM has no {k} cache for latent attention (MLA); it has fp8 or the model's", "k_dtype")
    if k == "fp8" and any(part.index_dim for part in latents):
        k = "fp8_ds_mla"
    state = request.state_dtype or request.layout.state_dtype_hint or base.model
    # MiniMax M3's index keys are bfloat16 whatever the cache is (`indexer_kv_dtype`).
    index = "bf16" if any(isinstance(part, IndexKeys) for part in parts) else "fp8_block128"
    return replace(base, k=k, v=k, index=index, conv=base.model, state=dtype_named(state).name)
