"""Where several ranks share the tokens of a sequence (decode context parallel): what vLLM can split so.

A rank keeps every so many-th token of the heads that it has, so that copies of a head or of a latent become parts.

Ranks that share a prompt (prefill context parallel) are not offered: they divided the cache in the source of 0.18 and
keep all of it since (vllm-project/vllm#49564). An index is not divided in every engine that shares its latents.

Source: vLLM's documentation, "Context parallel deployment"; its `kv_cache_interface.py` refuses windows.
"""

from typing import TYPE_CHECKING

from glasscli.budget.engines.engine import refuse
from glasscli.budget.engines.vllm.rules import STATES
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import CacheSpec, FullAttention, each_part

if TYPE_CHECKING:
    from glasscli.budget.request import Request


def check(request: "Request", parts: tuple[CacheSpec, ...], title: str) -> None:
    """Raises ConfigError for layers that can't be split so, and for more ranks than hold the same heads."""
    for part in parts:
        indexed = any(tensor.role == "index" for tensor in part.tensors(1, 1))
        if type(part) in STATES or part.window is not None or indexed:
            raise refuse(title, request, part, "how it keeps them where ranks share a sequence is not known")
    heads = {part.n_kv_heads for part in each_part(request.layout.layers) if isinstance(part, FullAttention)}
    copies = max(1, request.tp // max(heads, default=1))
    if request.dcp > copies:
        raise ConfigError(
            f"dcp {request.dcp} is more than the {copies} ranks of {request.tp} that hold the same key/value heads",
            "dcp",
        )
