"""Whether glass runs the model that a config.json describes: its family, how its weights are packed, odd settings."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from glasscli.config.architecture import Architecture
from glasscli.config.architectures import ARCHITECTURES, NESTED
from glasscli.config.families.fields import Fields, shown
from glasscli.errors import NotRunError


def architecture_of(settings: Mapping[str, Any]) -> Architecture:
    """The row of the model's family.

    Raises:
        NotRunError: there is no such row, or its weights are packed in a way that glass does not read.
    """
    named, model_type = settings.get("architectures"), settings.get("model_type")
    rows = {**ARCHITECTURES, **NESTED}
    classes = {row.class_name: row for row in rows.values()}
    if named is not None:
        found = [row for name, row in classes.items() if name in named] if isinstance(named, list) else []
        if not found:
            known = ", ".join(classes)
            raise NotRunError(f"architectures is {_words(named)}; glass runs {known}", "architectures")
        model_type = found[0].model_type if model_type is None else model_type
    if not isinstance(model_type, str) or model_type not in rows:
        known = ", ".join(rows)
        raise NotRunError(f"model_type is {shown(model_type)}; glass runs {known}", "model_type")
    _refuse_mlx(settings)
    if settings.get("quantization_config") is not None:
        raise NotRunError(
            "quantization_config is set; glass reads float64, float32, float16 and bfloat16 weights",
            "quantization_config",
        )
    return rows[model_type]


def _refuse_mlx(settings: Mapping[str, Any]) -> None:
    """Weights that mlx-lm packed: it writes how under `quantization`, newer ones under quantization_config as well."""
    for name in ("quantization", "quantization_config"):
        said = settings.get(name)
        if isinstance(said, Mapping) and {"bits", "group_size"} <= said.keys() and "quant_method" not in said:
            bits, group = shown(said["bits"]), shown(said["group_size"])
            raise NotRunError(
                f"{name} is MLX's: the weights are packed for mlx-lm ({bits} bits, groups of {group}), which glass "
                "does not read. Take the model they were made from, or a GGUF of it",
                name,
            )


def _words(named: object) -> str:
    """A list of class names as a message quotes it."""
    return ", ".join(shown(name) for name in named[:3]) if isinstance(named, list) and named else shown(named)


def variant_of(read: Fields, row: Architecture) -> Architecture:
    """The row with what the switches of a config.json change in it."""
    changes: dict[str, Any] = {}
    for switch, changed in row.variants.items():
        if read.flag(switch, False):
            changes |= changed
    return replace(row, **changes) if changes else row


def refuse_unsupported(read: Fields, row: Architecture) -> None:
    """Refuse settings with which the row's family is computed in a way that glass does not know.

    Raises:
        NotRunError: names the setting.
    """
    for name, value, what in row.unsupported:
        found = read.get(name)
        if found is not None and found != value:
            read.not_run(name, f"is {shown(found)}; glass {what}")
