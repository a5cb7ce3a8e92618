"""vLLM's own settings, and a plan as `vllm serve …`: flags as its `config/cache.py`, `config/parallel.py` and
`config/speculative.py` name them in 2026-11."""

import json
from collections.abc import Mapping

from glasscli.budget.engines.engine import Served
from glasscli.budget.engines.option import BLOCK_SAYS, DRAFT, Option
from glasscli.budget.engines.vllm.versions import NEWEST
from glasscli.errors import ConfigError, UsageError


def told_together(value: int) -> list[str]:
    """No words of its own: `words` tells it, with others."""
    return []


OPTIONS: Mapping[str, Option] = {
    "version": Option(
        str,
        NEWEST,
        "whose rules to follow: before 0.26 windows were held with one step",
        flag=lambda value: [],
    ),
    "block_size": Option(
        int,
        16,
        BLOCK_SAYS + " (64 for MLA; larger where a state must fit a page)",
        flag=lambda value: ["--block-size", f"{value}"],
    ),
    "max_num_batched_tokens": Option(
        int,
        8192,
        "tokens a step may add, held on top of a window; 2048 on devices below 70 GiB and A100",
        flag=lambda value: ["--max-num-batched-tokens", f"{value}"],
    ),
    "async_scheduling": Option(
        bool,
        True,
        "steps are scheduled ahead: windows are held with those of two",
        flag=lambda value: [] if value else ["--no-async-scheduling"],
    ),
    "hybrid_manager": Option(
        bool,
        True,
        "false: windows and chunks are not used, all layers are full",
        flag=lambda value: [] if value else ["--disable-hybrid-kv-cache-manager"],
    ),
    "mamba_cache_mode": Option(
        str,
        "none",
        "none: a page for each state; align: two; all: one for each page of tokens",
        choices=("none", "align", "all"),
        flag=lambda value: ["--mamba-cache-mode", value],
    ),
    "mamba_block_size": Option(
        int,
        0,
        "with all: states are kept at multiples of so many tokens; 0: of the config's chunk",
        least=0,
        flag=lambda value: ["--mamba-block-size", f"{value}"] if value else [],
    ),
    "num_speculative_tokens": Option(
        int, 0, "drafted tokens: as many more snapshots of each state", least=0, flag=told_together
    ),
    "draft_layers": DRAFT._replace(flag=told_together),
    "pad_groups": Option(
        bool,
        False,
        "true: count the pages that groups of layers which are not full leave idle",
        flag=lambda value: [],  # how it is counted here; vLLM does it in any case
    ),
    "mla_expanded": Option(bool, False, "true: MLA caches the expanded keys and values", flag=told_together),
}

STATE_NAMES = {"f32": "float32", "f16": "float16"}
RANKS = (
    ("tensor", "tp"),
    ("pipeline", "pp"),
    ("data", "dp"),
    ("decode-context", "dcp"),
    ("prefill-context", "pcp"),
)
NAMES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "fp8": "fp8",
    "fp8_per_token_head": "fp8_per_token_head",
    "int8_per_token_head": "int8_per_token_head",
    "fp8_ds_mla": "fp8_ds_mla",
    "nvfp4": "nvfp4",
}


def words(served: Served) -> list[str]:
    """The command, up to vLLM's own settings. `--max-num-seqs` counts for each data-parallel replica."""
    settings, k, v = served.settings, served.k, served.v
    if k != v:
        raise ConfigError(f"vLLM stores K and V in one type; the plan has K {k} and V {v}", "v_dtype")
    if k not in NAMES and k != served.model_dtype:
        raise ConfigError(f"vLLM has no {k} cache; it has {', '.join(NAMES)}", "k_dtype")
    said = ["env", "VLLM_MLA_DISABLE=1"] if settings.options.get("mla_expanded") else []
    said += ["vllm", "serve", served.model, "--max-model-len", f"{settings.main}"]
    said += ["--max-num-seqs", f"{-(-settings.batch // settings.dp)}"]
    said += ["--kv-cache-dtype", "auto" if k == served.model_dtype else NAMES[k]]
    for flag, name in RANKS:
        ranks = getattr(settings, name)
        said += [f"--{flag}-parallel-size", f"{ranks}"] if ranks > 1 else []
    said += ["--enable-expert-parallel"] if settings.ep else []
    if settings.state_dtype is not None:
        if settings.state_dtype not in STATE_NAMES:
            raise ConfigError(f"vLLM keeps no states in {settings.state_dtype}; it has f32 and f16", "state_dtype")
        said += ["--mamba-ssm-cache-dtype", STATE_NAMES[settings.state_dtype]]
    said += ["--enable-prefix-caching"] if settings.prefix_shared else []
    said += speculation(served)
    said += ["--gpu-memory-utilization", f"{float(served.utilization):g}"] if served.utilization else []
    return said + (["--kv-cache-memory-bytes", f"{served.available}"] if served.available else [])


def speculation(served: Served) -> list[str]:
    """How it is told to draft: with the model that was named, else with layers of the model's own (MTP).

    Raises UsageError where the model has none, and where nobody says how many tokens a drafting model drafts.
    """
    options, drafter = served.settings.options, served.drafter
    drafted, layers = options.get("num_speculative_tokens"), options.get("draft_layers")
    if drafter is not None:
        if not drafted:
            raise UsageError("vLLM has to be told how many tokens are drafted at a time: num_speculative_tokens")
        told = {"model": drafter.model, "method": drafter.method, "num_speculative_tokens": drafted}
        return ["--speculative-config", json.dumps(told)]
    if not drafted and not layers:
        return []
    if not served.drafts_itself:
        raise UsageError(
            "this model has no layers of its own that draft tokens (num_nextn_predict_layers or mtp_num_hidden_layers "
            "in its config): a model that drafts for it has to be named"
        )
    said = {"method": "mtp", **({"num_speculative_tokens": drafted} if drafted else {})}
    return ["--speculative-config", json.dumps(said)]
