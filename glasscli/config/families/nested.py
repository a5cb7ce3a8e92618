"""Where a config keeps the model that generates text: at its root, or nested under one of several names."""

from collections.abc import Mapping
from typing import Any

from glasscli.config.families.fields import Fields, shown
from glasscli.config.families.geometry import HEADS, LAYERS, WIDTH
from glasscli.config.families.known import defaults, has_class, inner, type_of_class

# For types transformers doesn't know, the names seen so far.
NESTED = ("text_config", "llm_config", "language_config", "language_model_config", "thinker_config")

# Inner types that a wrapper's class reads as another.
SAME = {("kimi_k25", "kimi_k2"): "deepseek_v3", ("unlimited-ocr", "deepseek_v2"): "unlimited_ocr_text"}

# A config at the root is written whole, so what makes a model must be there. A nested one is written as
# the difference from its class, so everything it leaves out has the class's value.
STATED = frozenset((*LAYERS, *HEADS, *WIDTH))


def model_type(read: Fields) -> str:
    """What the config calls itself; empty where it doesn't."""
    value = read.config.get("model_type")
    if value is not None and not isinstance(value, str):
        read.refuse("model_type", f"is {shown(value)}: expected a word")
    return value or ""


def published_type(config: Mapping[str, Any], kind: str) -> str:
    """The type whose rules hold, for models whose own code reads a config otherwise than its model_type says."""
    classes = config.get("architectures")
    named = classes[0] if isinstance(classes, list) and classes and isinstance(classes[0], str) else ""
    if named.startswith("Grok1"):
        return "grok-1"
    if kind == "gpt2" and config.get("attention_head_type") == "multiquery":  # SantaCoder
        return "gpt_bigcode"
    if kind == "bailing_hybrid" and (named.startswith("BailingMoeV2") or config.get("group_norm_size")):
        return kind if config.get("short_conv_kernel_size") else "bailing_moe_v2_5"
    if kind:
        return kind
    return "mamba_ssm" if "ssm_cfg" in config else type_of_class(named)


def text_part(config: Mapping[str, Any], engine: str) -> tuple[Fields, Fields, str]:
    """The root's fields, the fields of the part that generates text, and that part's model type."""
    root = Fields(config, engine=engine)
    kind = model_type(root)
    if engine != "transformers":
        kind = published_type(config, kind)
    read = root
    for _ in range(4):
        found = _inside(read, kind)
        if found is None:
            break
        read, kind = found
    if read is root:
        own = {name: value for name, value in defaults(kind).items() if name not in STATED}
        read = Fields(config, "", own, engine, root.notes)
    return root, read, kind


def _inside(read: Fields, kind: str) -> tuple[Fields, str] | None:
    """The next part inwards and its type; None where `read` is the model itself."""
    place = inner(kind)
    names = (place[0], *NESTED) if place else NESTED
    usual = place[1] if place else ""
    for name in names:
        value = read.config.get(name)
        if isinstance(value, Mapping) and (place or _is_model(value)):
            part = Fields(value, f"{read.prefix}{name}.", None, read.engine, read.notes)
            own = model_type(part) or usual
            own = SAME.get((kind, own), own)
            part.defaults = defaults(own)
            if name.startswith("decoder"):  # beside an encoder
                part = part.over({"add_cross_attention": True})
            return part, own
    if place is None:
        return None
    if read.has(*LAYERS) and read.prefix == "":  # written flat, as some checkpoints are
        flat = {name: value for name, value in read.config.items() if name != "model_type"}
        return Fields(flat, "", defaults(usual), read.engine, read.notes), usual
    return read.refuse(place[0], f"is missing: expected the language model's fields, or an object like it for {kind}")


def _is_model(part: Mapping[str, Any]) -> bool:
    """Whether a nested object describes a language model rather than, say, a projector."""
    kind = part.get("model_type")
    return any(name in part for name in (*LAYERS, *NESTED)) or (isinstance(kind, str) and has_class(kind))
