"""llama.cpp's own settings, and a plan as `llama-server …`: flags as `tools/server/README.md` names them in 2026-11."""

from collections.abc import Mapping

from glasscli.budget.engines.engine import Served
from glasscli.budget.engines.option import DRAFT, Option
from glasscli.errors import ConfigError

FLOATS = ("f32", "f16", "bf16")

OPTIONS: Mapping[str, Option] = {
    "n_seq_max": Option(int, None, "sequences in parallel (-np); the batch unless set", flag=lambda value: []),
    "n_ubatch": Option(
        int, 512, "physical batch (-ub), held on top of a window", flag=lambda value: ["-ub", f"{value}"]
    ),
    "kv_unified": Option(
        bool,
        True,
        "one cache for all sequences; false: one each (-no-kvu)",
        flag=lambda value: [] if value else ["--no-kv-unified"],
    ),
    "swa_full": Option(
        bool,
        False,
        "true: sliding layers hold the full context (--swa-full)",
        flag=lambda value: ["--swa-full"] if value else [],
    ),
    "kv_pad": Option(int, 256, "cells are rounded up to this; 32 in builds before late 2025"),
    "n_rs_seq": Option(int, 0, "snapshots of each recurrent state for speculative decoding", least=0),
    "draft_layers": DRAFT,
    "dsa_index": Option(bool, True, "false: builds without the sparse-attention index cache"),
    "mla_expanded": Option(bool, False, "true: builds before 2025-04, MLA as keys and values"),
}


def words(served: Served) -> list[str]:
    """The command, up to llama.cpp's own settings: one pool of cells that all slots share, as many as they need."""
    settings, v = served.settings, served.v
    if settings.dp > 1:
        raise ConfigError(
            f"llama-server has no replicas; start {settings.dp} servers with a share of the sequences each", "dp"
        )
    if settings.tp > 1:
        raise ConfigError(
            "llama.cpp splits a cache by layers, not by heads: pipeline stages do, tensor ranks don't", "tp"
        )
    if settings.ep:
        raise ConfigError("llama.cpp has no ranks to spread experts over", "ep")
    if settings.state_dtype is not None:
        raise ConfigError("llama.cpp keeps states in f32 and can't be told of another dtype", "state_dtype")
    if settings.prefix_shared:
        message = "llama-server keeps a prefix in every slot that uses it; it can't be told to share one"
        raise ConfigError(message, "prefix_shared")
    n_seq = settings.options.get("n_seq_max") or settings.batch
    said = ["llama-server", "-m", served.model, "-c", f"{settings.main * settings.batch}"]
    said += ["-np", f"{n_seq}", "-ctk", served.k, "-ctv", v]
    said += ["-fa", "on"] if v not in FLOATS else []  # a quantised V needs flash attention
    said += ["-sm", "layer", "-ts", ",".join("1" * settings.pp)] if settings.pp > 1 else []
    # Told how many slots there are, it gives each a stream of its own unless told not to.
    return said + (["--kv-unified"] if n_seq > 1 and settings.options.get("kv_unified", True) else [])
