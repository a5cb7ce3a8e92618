"""A choice of cache as the flags of the engines that could serve with it; None where an engine has no such cache.

Flags as llama.cpp's `llama-server` and vLLM's `vllm serve` name them in 2026-11. Imports no NumPy.
"""

from glasscli.budget.engines.llama_cpp import CACHE_DTYPES as LLAMA_DTYPES
from glasscli.budget.engines.vllm.serve import NAMES as VLLM_DTYPES
from glasscli.cache.choice import CacheChoice
from glasscli.cache.formats.names import ROTATED

CUDA_PAIRS = frozenset((name, name) for name in ("f32", "f16", "bf16", "q8_0", "q4_0"))
CUDA_MIXED = ("q8_0", "q4_0")  # K, V: the one pair of two types that flash attention is compiled for


def llama_cpp_flags(choice: CacheChoice) -> list[str] | None:
    """Words for `llama-server`, a setting of the environment first where one is needed."""
    if not _all_tokens_and_heads(choice) or not {choice.k, choice.v} <= set(LLAMA_DTYPES):
        return None
    words = [] if choice.rotated else ["LLAMA_ATTN_ROT_DISABLE=1"]
    words += ["-ctk", choice.k, "-ctv", choice.v]
    return words + (["-fa", "on"] if choice.v in ROTATED else [])  # a quantised V needs flash attention


def llama_cpp_cuda_build(choice: CacheChoice) -> list[str] | None:
    """What CMake must be told for these flags to run on CUDA; None where a usual build does, or there are no flags.

    Without it llama.cpp has no flash attention for these types on the GPU and computes it on the CPU.

    Source: llama.cpp, ggml/src/ggml-cuda/fattn.cu, `ggml_cuda_get_best_fattn_kernel`, as of 2026-11.
    """
    words = llama_cpp_flags(choice)
    if words is None or "-fa" not in words or (choice.k, choice.v) in {*CUDA_PAIRS, CUDA_MIXED}:
        return None
    return ["-DGGML_CUDA_FA_ALL_QUANTS=ON"]


def vllm_flags(choice: CacheChoice) -> list[str] | None:
    """Words for `vllm serve`, which stores K and V in one type and every token."""
    if not _all_tokens_and_heads(choice) or choice.k != choice.v:
        return None
    if choice.k.startswith("fp8"):
        return ["--kv-cache-dtype", choice.k]
    return ["--kv-cache-dtype", VLLM_DTYPES[choice.k]] if choice.k in VLLM_DTYPES else None


def _all_tokens_and_heads(choice: CacheChoice) -> bool:
    return choice.keeps == "all" and choice.kv_heads is None
