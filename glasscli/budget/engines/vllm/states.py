"""Recurrent states that are kept along the way (mamba_cache_mode all): at which tokens.

Attention pages are as long as the least multiple of the kernels' chunk that holds a state; one state is kept for each.

Source: vLLM's `models/config.py` and `MambaSpec.max_memory_usage_bytes`; of 4,224 tokens, as logged for a Nemotron 3
with an fp8 cache (vllm-project/vllm#54504); models of gated DeltaNet refuse the mode by name.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from glasscli.errors import ConfigError
from glasscli.specs.cache_spec import CacheSpec
from glasscli.specs.state_specs import Mamba1, Mamba2

if TYPE_CHECKING:
    from glasscli.budget.request import Request


def chunk(request: "Request", parts: Iterable[CacheSpec]) -> int:
    """The tokens whose multiples states are kept at: as asked for, else as the config says.

    Raises ConfigError for states that vLLM does not keep so, and where nobody says the chunk.
    """
    sizes = set()
    for part in parts:
        if not isinstance(part, Mamba1 | Mamba2):
            raise ConfigError(
                f"vLLM keeps no {part.name} states along the way; it has none and align", "mamba_cache_mode"
            )
        sizes.add(part.chunk if isinstance(part, Mamba2) else None)
    asked = int(request.option("mamba_block_size"))
    if asked:
        return asked
    found = sizes.pop() if len(sizes) == 1 else None
    if found is None:
        raise ConfigError(
            "chunk_size is not given, so where states are kept isn't known: mamba_block_size would say", "chunk_size"
        )
    return found
