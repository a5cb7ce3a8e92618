"""Writes glasscli/config/families/classes.json anew from the installed transformers.

    python tests/class_defaults.py

For each model type that generates text: the defaults of the fields that the rules of `families` read, where a
wrapper nests its language model, and three facts that no field says. `floors`: the class lets heads that don't
divide the width through and rounds down. `alike`: the class knows no key/value heads apart from its query heads.
`windowless`: neither the class's settings nor its code speak of a window or of types of layers.
"""

import dataclasses
import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

FAMILIES = Path(__file__).parents[1] / "glasscli" / "config" / "families"
GENERATE = (
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
    "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES",
    "MODEL_FOR_TEXT_TO_WAVEFORM_MAPPING_NAMES",
)
PAIRS = ("encoder-decoder", "vision-encoder-decoder", "speech-encoder-decoder")
NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "decoder", "decoder_config")
KV_HEADS = {
    "num_key_value_heads",
    "num_kv_heads",
    "decoder_num_key_value_heads",
    "num_attention_groups",
    "num_query_groups",
    "multi_query",
    "attn_config",
}


def words() -> set[str]:
    """Every name in quotes in the rules: a field not among them is read by nobody."""
    text = "".join(path.read_text() for path in FAMILIES.glob("*.py"))
    return set(re.findall(r'"([a-zA-Z0-9_]+)"', text)) - {"dtype", "model_type", "intermediate_size"}


def fields(config_class: type, read: set[str]) -> dict[str, Any]:
    """The class's own values of what is read; null and false are what an absent field means anyway."""
    values = {field.name: field.default for field in dataclasses.fields(config_class) if field.name in read}
    kept = {name: value for name, value in values.items() if isinstance(value, int | float | str)}
    return {name: value for name, value in kept.items() if value is not False or name == "use_sliding_window"}


def floors(config_class: type) -> bool:
    aliases = config_class.attribute_map
    names = {field.name for field in dataclasses.fields(config_class)}
    width, heads, kv_heads = (
        aliases.get(name, name) for name in ("hidden_size", "num_attention_heads", "num_key_value_heads")
    )
    if not {width, heads} <= names or "head_dim" in names:
        return False
    try:
        config_class(**{width: 100, heads: 24} | ({kv_heads: 2} if kv_heads in names else {}))
    except Exception:
        return False
    return True


def alike(config_class: type) -> bool:
    names = {field.name for field in dataclasses.fields(config_class)} | set(config_class.attribute_map)
    return not names & KV_HEADS


def windowless(config_class: type) -> bool:
    name = config_class.__module__
    paths = [Path(sys.modules[name].__file__ or "")]
    paths.append(paths[0].with_name(paths[0].name.replace("configuration_", "modeling_")))
    if not all(path.is_file() for path in paths):
        return False
    text = "".join(path.read_text() for path in paths)
    return "window" not in text and "layer_types" not in text


def inner(config_class: type) -> tuple[str, Any] | None:
    """Where the class keeps its language model, and that model's config."""
    try:
        made = config_class()
    except Exception:
        return None
    parts = ((name, getattr(made, name, None)) for name in NESTED)
    return next(((name, part) for name, part in parts if hasattr(part, "model_type")), None)


def described(config_class: type, read: set[str]) -> dict[str, Any]:
    facts = {"floors": floors(config_class), "alike": alike(config_class), "windowless": windowless(config_class)}
    return {"fields": fields(config_class, read) | {name: True for name, holds in facts.items() if holds}}


def table() -> dict[str, Any]:
    read = words() | {"is_encoder_decoder", "is_decoder", "add_cross_attention"}
    todo = sorted({*PAIRS}.union(*(getattr(modeling_auto, name, {}) for name in GENERATE)))
    found: dict[str, Any] = {}
    while todo:
        model_type = todo.pop()
        if model_type in found or model_type not in CONFIG_MAPPING_NAMES:
            continue
        config_class = CONFIG_MAPPING[model_type]
        found[model_type] = described(config_class, read)
        if nested := inner(config_class):
            name, part = nested
            found[model_type]["inner"] = [name, part.model_type]
            todo.append(part.model_type)
            if part.model_type not in CONFIG_MAPPING_NAMES:
                found[part.model_type] = described(type(part), read)
    return found | {"": {"others": sorted(set(CONFIG_MAPPING_NAMES) - set(found))}}


def main() -> None:
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    lines = [
        f"{json.dumps(model_type)}:{json.dumps(facts, sort_keys=True, separators=(',', ':'))}"
        for model_type, facts in sorted(table().items())
    ]
    path = FAMILIES / "classes.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{path.name}: {len(lines) - 1} types of transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
