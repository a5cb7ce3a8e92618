"""A choice of cache as the flags of the engines that could serve with it; None where an engine has no such cache.

Flags as llama.cpp's `llama-server` and vLLM's `vllm serve` name them in 2026-11. Imports no NumPy.
"""

from glasscli.budget.engines.llama_cpp import CACHE_DTYPES as LLAMA_DTYPES
from glasscli.budget.engines.vllm.serve import NAMES as VLLM_DTYPES
from glasscli.cache.choice import CacheChoice
from glasscli.cache.formats.names import ROTATED


def llama_cpp_flags(choice: CacheChoice) -> list[str] | None:
    """Words for `llama-server`, a setting of the environment first where one is needed."""
    if not _all_tokens_and_heads(choice) or not {choice.k, choice.v} <= set(LLAMA_DTYPES):
        return None
    words = [] if choice.rotated else ["LLAMA_ATTN_ROT_DISABLE=1"]
    words += ["-ctk", choice.k, "-ctv", choice.v]
    return words + (["-fa", "on"] if choice.v in ROTATED else [])  # a quantised V needs flash attention


def vllm_flags(choice: CacheChoice) -> list[str] | None:
    """Words for `vllm serve`, which stores K and V in one type and every token."""
    if not _all_tokens_and_heads(choice) or choice.k != choice.v:
        return None
    if choice.k.startswith("fp8"):
        return ["--kv-cache-dtype", choice.k]
    return ["--kv-cache-dtype", VLLM_DTYPES[choice.k]] if choice.k in VLLM_DTYPES else None


def _all_tokens_and_heads(choice: CacheChoice) -> bool:
    return choice.keeps == "all" and choice.kv_heads is None
