"""What transformers' classes assume where a config says nothing, and where a model's text part is nested.

`classes.json` was written by `tests/class_defaults.py` from the installed transformers: for each model
type that generates text, the defaults of the fields that decide a cache, and for a type that wraps another
the field it is nested in and the inner model's type.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

PAIRS = frozenset({"encoder-decoder", "vision-encoder-decoder", "speech-encoder-decoder"})


@cache
def classes() -> Mapping[str, Mapping[str, Any]]:
    """What classes.json holds, by model type."""
    return json.loads(Path(__file__).with_name("classes.json").read_text(encoding="utf-8"))


def has_class(model_type: str) -> bool:
    """Whether transformers has a class of that type that generates text."""
    return bool(model_type) and model_type in classes()


def type_of_class(name: str) -> str:
    """The model type of a class such as Gemma2ForCausalLM, for a config that names its class alone; else empty."""
    bare = re.sub(r"(For\w+|LMHeadModel|Model)$", "", name).lower()
    return next((kind for kind in classes() if kind and re.sub(r"[^a-z0-9]", "", kind) == bare), "") if bare else ""


def without_text(model_type: str) -> bool:
    """Whether transformers has a class of that type, and it generates no text."""
    return model_type in classes()[""]["others"]


def defaults(model_type: str) -> Mapping[str, Any]:
    """The class's own values of the fields that decide a cache; empty for a type transformers lacks."""
    return classes().get(model_type, {}).get("fields", {})


def inner(model_type: str) -> tuple[str, str] | None:
    """The field that holds a wrapper's text model, and that model's type when it doesn't say."""
    if model_type in PAIRS:
        return "decoder", ""
    found = classes().get(model_type, {}).get("inner")
    return (found[0], found[1]) if found else None
