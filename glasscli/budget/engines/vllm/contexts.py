"""Where several ranks share the tokens of a sequence (context parallel): what vLLM can split so.

Decode: a rank keeps every so many-th token of the heads that it has, so that copies of a head or of a latent become
parts. An index is not divided in every engine that shares its latents.

Prefill: ranks beside the tensor-parallel ones share the work on a prompt; each keeps all of the cache. The source of
0.18 divided the cache among them, too, but did not let them run; since the two kinds were parted (its RFC #46358,
#46570, #49564; taken from 0.26 on) only decode context parallelism divides it.

Source: vLLM's documentation, "Context parallel deployment"; its `kv_cache_interface.py` refuses windows.
"""

from typing import TYPE_CHECKING

from glasscli.budget.engines.engine import refuse
from glasscli.budget.engines.vllm.rules import STATES
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import CacheSpec, FullAttention, each_part

if TYPE_CHECKING:
    from glasscli.budget.request import Request


def check_prompts(request: "Request", version: str, parted: bool) -> None:
    """Raises ConfigError for ranks that share a prompt under a version before what they keep was settled."""
    if not parted:
        raise ConfigError(
            f"vLLM {version}: what a rank keeps where ranks share a prompt (pcp) is not known before 0.26: its source "
            "divided the cache, and no public run shows that; since then each keeps all of it. dcp divides it",
            "pcp",
        )
    if request.ep:
        raise ConfigError("which experts a rank holds where ranks share a prompt (pcp) is not known", "ep")


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
