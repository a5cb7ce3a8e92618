"""Writes glasscli/budget/weights/classes.json anew from the installed transformers.

    python tests/weight_classes.py

For each model type that an outline is for, and for each that one nests: the class's own values of the fields that
outlines name, and the classes of the configs it holds.
"""

import dataclasses
import json
import re
import warnings
from pathlib import Path
from typing import Any

import transformers
from transformers import AutoConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from glasscli.budget.weights.reader import FILES, library

WEIGHTS = Path(__file__).parents[1] / "glasscli" / "budget" / "weights"


def words() -> set[str]:
    """Every small word of the outlines: a field not among them is read by nobody."""
    from glasscli.budget.weights.names import ALIASES, EXPERTS, FFN, PICKED, VOCAB
    from glasscli.config.families import geometry

    text = "".join(path.read_text() for path in [*WEIGHTS.glob("*.py"), *FILES.glob("*.txt")])
    found = set(re.findall(r"[a-z_][a-z0-9_]*", text))
    for names in (*ALIASES.values(), EXPERTS, FFN, PICKED, VOCAB):
        found |= set(names)
    for names in (geometry.LAYERS, geometry.HEADS, geometry.KV_HEADS, geometry.WIDTH, geometry.HEAD_DIM):
        found |= set(names)
    return found - {"dtype", "model_type"}


def plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str) or (isinstance(value, list) and len(value) < 200)


def fields(config_class: type, read: set[str]) -> dict[str, Any]:
    """The class's own values of what is read; null is what an absent field means anyway."""
    found = {}
    for field in dataclasses.fields(config_class):
        value = field.default
        if value is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        if isinstance(value, tuple):
            value = list(value)
        if field.name in read and plain(value):
            found[field.name] = value
    return found


def made(config_class: type) -> Any:
    try:
        return config_class()
    except Exception:
        return None


def inner(config_class: type) -> dict[str, tuple[str, bool]]:
    """The configs that the class makes for itself: their types, and whether it takes no other there."""
    whole = made(config_class)
    parts = {name: getattr(whole, name, None) for name in getattr(config_class, "sub_configs", {})}
    found = {name: part.model_type for name, part in parts.items() if hasattr(part, "model_type")}
    return {name: (kind, config_class.sub_configs[name] is not AutoConfig) for name, kind in found.items()}


def main() -> None:
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    read = words()
    todo: list[tuple[str, type]] = [
        (name, CONFIG_MAPPING[name]) for name in sorted(library().models) if name in CONFIG_MAPPING
    ]
    found: dict[str, Any] = {}
    while todo:
        name, config_class = todo.pop()
        if name in found:
            continue
        found[name] = {"fields": fields(config_class, read)}
        nested = inner(config_class)
        if nested:
            found[name]["inner"] = nested
            whole = made(config_class)
            todo += [(kind, type(getattr(whole, field))) for field, (kind, _) in nested.items()]
    lines = [
        f"{json.dumps(k)}:{json.dumps(v, sort_keys=True, separators=(',', ':'))}" for k, v in sorted(found.items())
    ]
    (WEIGHTS / "classes.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(lines)} classes of transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
