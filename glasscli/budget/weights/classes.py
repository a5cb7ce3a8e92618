"""What transformers' classes assume where a config says nothing of what decides the weights.

`classes.json` was written by `tests/weight_classes.py` from the installed transformers: for each config class that a
outline is for, the defaults of the fields that outlines name, and the classes of the configs nested in it.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def classes() -> Mapping[str, Mapping[str, Any]]:
    """What classes.json holds, by model type."""
    return json.loads(Path(__file__).with_name("classes.json").read_text(encoding="utf-8"))


def defaults(model_type: str) -> Mapping[str, Any]:
    """The class's own values; empty for a type that transformers lacks."""
    return classes().get(model_type, {}).get("fields", {})


def inner_class(model_type: str, name: str) -> tuple[str, bool]:
    """The type of the config that `model_type` nests in the field `name`, and whether it takes no other.

    An empty type where it nests none by itself: there may be one. A class that takes no other reads the config as
    its own whatever it calls itself.
    """
    found = classes().get(model_type, {}).get("inner", {}).get(name)
    return (found[0], found[1]) if found else ("", False)
