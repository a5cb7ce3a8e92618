"""A plan as the command line of the engine that would run it.

What an engine can't be told is refused by name, never dropped. Flags as vLLM's `vllm serve` (its
`config/cache.py`, `config/parallel.py`) and llama.cpp's `llama-server` (`tools/server/README.md`) name them
in 2026-11.
"""

from collections.abc import Callable, Mapping
from typing import Any

from glasscli.budget.plan import Budget
from glasscli.budget.questions import Settings
from glasscli.errors import ConfigError

VLLM_DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "fp8": "fp8",
    "fp8_per_token_head": "fp8_per_token_head",
    "int8_per_token_head": "int8_per_token_head",
    "fp8_ds_mla": "fp8_ds_mla",
    "nvfp4": "nvfp4",
}
LLAMA_DTYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
FLOATS = ("f32", "f16", "bf16")


def command_line(
    engine: str, settings: Settings, budget: Budget, model_dtype: str, model: str, available: int | None = None
) -> list[str]:
    """The words of the command that serves `settings.batch` sequences of `settings.main` tokens.

    `model` is what the engine is to load; `available` the bytes for the cache on one rank, if they are fixed;
    `model_dtype` that of the cache when nobody says one, empty where the checkpoint fixes another.
    Raises ConfigError for whatever the engine can't be told.
    """
    if engine == "vllm":
        return vllm(settings, budget, model_dtype, model, available)
    return llama_cpp(settings, budget, model)


def vllm(settings: Settings, budget: Budget, model_dtype: str, model: str, available: int | None) -> list[str]:
    """`vllm serve …`. `--max-num-seqs` counts for each data-parallel replica."""
    k, v = budget.k_dtype, budget.v_dtype
    if k != v:
        raise ConfigError(f"vLLM stores K and V in one type; the plan has K {k} and V {v}", "v_dtype")
    if k not in VLLM_DTYPES and k != model_dtype:
        raise ConfigError(f"vLLM has no {k} cache; it has {', '.join(VLLM_DTYPES)}", "k_dtype")
    words = ["vllm", "serve", model, "--max-model-len", f"{settings.main}"]
    words += ["--max-num-seqs", f"{-(-settings.batch // settings.dp)}"]
    words += ["--kv-cache-dtype", "auto" if k == model_dtype else VLLM_DTYPES[k]]
    for flag, ranks in (("tensor", settings.tp), ("pipeline", settings.pp), ("data", settings.dp)):
        words += [f"--{flag}-parallel-size", f"{ranks}"] if ranks > 1 else []
    words += ["--enable-prefix-caching"] if settings.prefix_shared else []
    words += ["--kv-cache-memory-bytes", f"{available}"] if available else []
    known: dict[str, Callable[[Any], list[str]]] = {
        "block_size": lambda value: ["--block-size", f"{value}"],
        "max_num_batched_tokens": lambda value: ["--max-num-batched-tokens", f"{value}"],
        "hybrid_manager": lambda value: [] if value else ["--disable-hybrid-kv-cache-manager"],
        "mamba_cache_mode": lambda value: ["--mamba-cache-mode", value],
    }
    return words + told("vLLM", settings.options, known)


def llama_cpp(settings: Settings, budget: Budget, model: str) -> list[str]:
    """`llama-server …`: one pool of cells that all slots share, as many as the sequences need together."""
    k, v = budget.k_dtype, budget.v_dtype
    for role, dtype in (("k", k), ("v", v)):
        if dtype not in LLAMA_DTYPES:
            message = f"llama.cpp has no {dtype} cache; it has {', '.join(LLAMA_DTYPES)}"
            raise ConfigError(message, f"{role}_dtype")
    if settings.dp > 1:
        raise ConfigError(
            f"llama-server has no replicas; start {settings.dp} servers with a share of the sequences each", "dp"
        )
    if settings.tp > 1:
        raise ConfigError(
            "llama.cpp splits a cache by layers, not by heads: pipeline stages do, tensor ranks don't", "tp"
        )
    if settings.prefix_shared:
        message = "llama-server keeps a prefix in every slot that uses it; it can't be told to share one"
        raise ConfigError(message, "prefix_shared")
    words = ["llama-server", "-m", model, "-c", f"{settings.main * settings.batch}"]
    words += ["-np", f"{settings.options.get('n_seq_max', settings.batch)}", "-ctk", k, "-ctv", v]
    words += ["-fa", "on"] if v not in FLOATS else []  # a quantised V needs flash attention
    words += ["-sm", "layer", "-ts", ",".join("1" * settings.pp)] if settings.pp > 1 else []
    if settings.batch > 1 and settings.options.get("kv_unified", True):
        words += ["--kv-unified"]
    known: dict[str, Callable[[Any], list[str]]] = {
        "n_ubatch": lambda value: ["-ub", f"{value}"],
        "swa_full": lambda value: ["--swa-full"] if value else [],
        "kv_unified": lambda value: [] if value else ["--no-kv-unified"],
        "n_seq_max": lambda value: [],
    }
    return words + told("llama.cpp", settings.options, known)


def told(engine: str, options: Mapping[str, Any], known: Mapping[str, Callable[[Any], list[str]]]) -> list[str]:
    """The words for the engine's own settings; one that has no flag is refused."""
    words: list[str] = []
    for name, value in options.items():
        if name not in known:
            raise ConfigError(f"{engine}'s command line has no flag for {name}", name)
        words += known[name](value)
    return words
