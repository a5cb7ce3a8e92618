"""Who drafts tokens for a model: layers of its own (MTP), or a model or a head beside it, as its config names it.

Layers of its own are counted by `num_nextn_predict_layers`, in Qwen 3.5 and later by `mtp_num_hidden_layers`;
Qwen3-Next publishes one without a field for it. Of named models whose table here has no such field, `NAMED` says which
publish such layers.

Source: vLLM's `config/speculative.py`, which reads the same fields; configs and model cards as published.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from glasscli.budget.subjects import Subject

FIELDS = ("num_nextn_predict_layers", "mtp_num_hidden_layers")
TYPES = frozenset({"qwen3_next"})
NAMED = frozenset(
    {"deepseek-v3", "deepseek-r1", "deepseek-v3.2", "deepseek-v4-flash", "deepseek-v4-pro", "glm-4.7-flash", "glm-5"}
    | {"glm-5.1", "glm-5.2", "mimo-7b", "minimax-m3", "nemotron-3-super-120b-a12b", "nemotron-3.5-lightning-30b-a3b"}
    | {"qwen3.5-27b", "qwen3.5-35b-a3b", "qwen3.5-122b-a10b", "qwen3.5-397b-a17b", "qwen3.6-27b", "qwen3.6-35b-a3b"}
    | {"step-3.7-flash"}
)
# A word in the name of a class or a type → what it is called; the first that is found. None: a model of its own.
METHODS: Mapping[str, str] = {
    "eagle3": "eagle3",
    "eagle": "eagle",
    "dflash": "dflash",
    "dspark": "dspark",
    "medusa": "medusa",
    "mtp": "mtp",
}


class Drafter(NamedTuple):
    """A model or a head that drafts, as an engine is told of it: what to load, and by which method it drafts."""

    model: str
    method: str


def drafts_itself(subject: Subject) -> bool:
    """Whether the model has layers of its own that draft."""
    config = subject.config
    text = config.get("text_config")
    parts = [part for part in (config, text) if isinstance(part, Mapping)]
    counts = [part[name] for part in parts for name in FIELDS if name in part]
    if counts:
        return any(isinstance(count, int) and count > 0 for count in counts)
    types = {part.get("model_type") for part in parts} | {subject.layout.model_type}
    return subject.name in NAMED or any(kind in TYPES for kind in types)


def method_of(config: Mapping[str, Any]) -> str | None:
    """How a head drafts from a model's own activations, by its config; None where it is a model of its own."""
    named = config.get("architectures")
    words = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    words += [str(config.get(name, "")) for name in ("model_type", "speculators_model_type")]
    said = re.sub(r"[^a-z0-9]", "", " ".join(words).lower())
    if "dflash_config" in config:
        return "dflash"
    return next((method for word, method in METHODS.items() if word in said), None)
