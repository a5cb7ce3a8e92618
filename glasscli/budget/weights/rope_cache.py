"""The cosines and sines that vLLM computes once for every position: one table for each kind of rotary embedding.

A row holds rotary_dim numbers in the model's dtype: half of them cosines. YaRN and LongRoPE have rows for the stretched
length. A model without rotary positions has none. Source: vLLM's `rotary_embedding/`.
"""

from collections.abc import Mapping
from typing import Any

from glasscli.budget.weights.formats import ITEM
from glasscli.config.families.fields import Fields
from glasscli.config.families.geometry import HEAD_DIM, HEADS, POSITIONS, WIDTH
from glasscli.config.families.nested import text_part
from glasscli.errors import ConfigError

# Text models whose positions are learned, a bias of the scores, or none at all: what reads in order needs none.
UNROTATED = frozenset(
    {
        "bart", "bert-generation", "bigbird_pegasus", "biogpt", "blenderbot", "blenderbot-small", "bloom", "cpmant",
        "ctrl", "falcon_mamba", "gpt-sw3", "gpt2", "gpt_bigcode", "gpt_neo", "inkling2_loop_text", "inkling_text",
        "jamba", "longt5", "m2m_100", "mamba", "mamba2", "marian", "mbart", "mpt", "mt5", "mvp", "nemotron_h",
        "nllb-moe", "openai-gpt", "opt", "pegasus", "pegasus_x", "plbart", "pop2piano", "rwkv", "switch_transformers",
        "t5", "umt5", "whisper", "xglm", "xlm", "xlnet", "xlstm", "zamba",
    }
)  # fmt: skip

OWN_TABLES = frozenset({"deepseek_v4"})  # two tables of classes of their own, in a dtype that is not known here


def rope_cache_bytes(config: Mapping[str, Any], dtype: str) -> int | None:
    """The bytes of all tables on one rank; None where what the config says of its rotation isn't understood."""
    _, read, kind = text_part(config, "logical")
    if kind in UNROTATED or (kind == "falcon" and read.get("alibi") is True):
        return 0
    if kind in OWN_TABLES:
        return None
    try:
        rows = [rows_of(read, scaling) for scaling in scalings(read)]
        width = rotary_dim(read)
    except (ConfigError, TypeError):
        return None
    if None in rows or not width:
        return None
    return sum(row for row in rows if row) * width * ITEM[dtype]


def scalings(read: Fields) -> list[Mapping[str, Any]]:
    """What is said of each kind of rotation: Gemma 3 and its kin rotate sliding layers otherwise."""
    said = read.mapping("rope_parameters") or read.mapping("rope_scaling") or {}
    by_kind = [part for part in said.values() if isinstance(part, Mapping)]
    if by_kind:
        return by_kind
    return [said, {}] if read.has("rope_local_base_freq") else [said]


def rows_of(read: Fields, scaling: Mapping[str, Any]) -> int | None:
    """Positions that one table has rows for; None for a kind of scaling that isn't known."""
    positions: int = read.integer(*POSITIONS)
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind in ("default", "llama3", "linear", "dynamic", "proportional"):
        stretched = kind in ("linear", "dynamic")
        return int(positions * float(scaling.get("factor", 1))) if stretched else positions
    if kind == "yarn":
        first = scaling.get("original_max_position_embeddings", positions)
        return int(first * float(scaling.get("factor", 1)))
    if kind == "longrope":
        first = scaling.get("original_max_position_embeddings") or read.get("original_max_position_embeddings") or 0
        return int(first) + positions
    return None


def rotary_dim(read: Fields) -> int:
    """Numbers of a head that are rotated."""
    if read.has("kv_lora_rank"):
        return int(read.integer("qk_rope_head_dim", default=0, least=0))
    width: int = read.integer(*HEAD_DIM, default=None) or read.integer(*WIDTH) // read.integer(*HEADS)
    said = read.mapping("rope_parameters") or {}
    factor = read.get("partial_rotary_factor") or said.get("partial_rotary_factor") or read.get("rotary_pct") or 1
    return int(width * factor)
