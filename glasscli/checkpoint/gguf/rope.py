"""Rotary positions as config.json says them: a base, and how it is stretched.

A GGUF says the kind in `rope.scaling.type`, or gives a divisor for each pair of dimensions in a tensor: one table
(`rope_freqs`, which converters make for Llama 3.1 and later), or one for short and one for long texts (Phi-3).
"""

import math
import struct
from typing import Any

from glasscli.checkpoint.gguf.fields import Fields
from glasscli.checkpoint.gguf.header import Header
from glasscli.checkpoint.gguf.values import shortest
from glasscli.checkpoint.safetensors_file import TensorInfo
from glasscli.errors import CheckpointError, ConfigError

MOST_PAIRS = 65_536
USUAL = (4.0, 8192)  # high_freq_factor and original length of all Llama 3 models
CLOSE = 1e-5  # of a divisor, relative; the file's are rounded to float32


def scaling(header: Header, fields: Fields, theta: float, n_rotated: int) -> dict[str, Any] | None:
    """What config.json calls rope_scaling; None for plain positions.

    Args:
        theta: the base.
        n_rotated: dimensions of a head that are turned.

    Raises:
        ConfigError: a kind that glass can't tell in config.json's words.
        CheckpointError: a table that is not one float32 for each pair.
    """
    tables = {
        name: _table(header.tensors[f"{name}.weight"], n_rotated)
        for name in ("rope_freqs", "rope_factors_short", "rope_factors_long")
        if f"{name}.weight" in header.tensors
    }
    kind = fields.word("rope.scaling.type", "linear" if _factor(fields) != 1 else "none")
    if "rope_factors_long" in tables and "rope_factors_short" in tables:
        return _two_tables(fields, tables["rope_factors_short"], tables["rope_factors_long"])
    if any(divisor != 1 for divisor in tables.get("rope_freqs", [])):
        if kind != "none":
            raise fields.error(fields.key("rope.scaling.type"), f"is {kind} beside a table in rope_freqs.weight")
        return _one_table(fields, tables["rope_freqs"], theta)
    if kind == "linear":
        return {"rope_type": "linear", "factor": _factor(fields)} if _factor(fields) != 1 else None
    if kind == "yarn":
        return _yarn(fields)
    if kind in ("none", "longrope"):  # longrope without tables turns as plain positions do
        return None
    raise fields.not_run(fields.key("rope.scaling.type"), f"is {kind!r}; glass knows none, linear, yarn and longrope")


def llama3_parameters(table: list[float], theta: float) -> dict[str, Any] | None:
    """The four numbers of Llama 3.1's rule that make this table; None if none do.

    Low frequencies are divided by `factor`, high ones by 1, and between them 1/divisor is a straight line in the
    frequency. Only ratios of the rule's limits matter, so low_freq_factor is taken to be 1, as in all of its models.
    """
    n = len(table)
    turns = [theta ** (-i / n) / (2 * math.pi) for i in range(n)]  # per position
    factor = max(table)
    if factor <= 1:
        return None
    for high, original in (USUAL, _fitted(table, turns, factor)):
        made = [_llama3(turn * original, factor, high) for turn in turns]
        if all(abs(a - b) <= CLOSE * b for a, b in zip(made, table, strict=True)):
            return {
                "rope_type": "llama3",
                "factor": factor,
                "low_freq_factor": 1.0,
                "high_freq_factor": high,
                "original_max_position_embeddings": original,
            }
    return None


def _fitted(table: list[float], turns: list[float], factor: float) -> tuple[float, int]:
    """high_freq_factor and original length by the line through the first and the last divisor between 1 and factor."""
    ramp = [i for i, divisor in enumerate(table) if 1 < divisor < factor]
    if len(ramp) < 2:
        return USUAL
    # smooth = (turns · original − low) / (high − low) = (1/divisor − 1/factor) / (1 − 1/factor)
    smooth = {i: (1 / table[i] - 1 / factor) / (1 - 1 / factor) for i in ramp}
    first, last = ramp[0], ramp[-1]
    slope = (smooth[first] - smooth[last]) / (turns[first] - turns[last])
    at_zero = smooth[first] - slope * turns[first]
    if slope <= 0 or at_zero >= 0:
        return USUAL
    high = round(1 - 1 / at_zero, 3)
    return high, round(slope * (high - 1))


def _llama3(turns: float, factor: float, high: float) -> float:
    """The divisor of a frequency that turns so many times within the length that was trained first."""
    if turns >= high:
        return 1.0
    if turns <= 1:
        return factor
    smooth = (turns - 1) / (high - 1)
    return 1 / ((1 - smooth) / factor + smooth)


def _one_table(fields: Fields, table: list[float], theta: float) -> dict[str, Any]:
    """Llama 3.1's rule if it makes this table, else the table: longrope with nothing but divisors."""
    return llama3_parameters(table, theta) or {
        "rope_type": "longrope",
        "short_factor": table,
        "long_factor": table,
        "factor": 1.0,
        "attention_factor": 1.0,
        "original_max_position_embeddings": fields.whole("context_length"),
    }


def _two_tables(fields: Fields, short: list[float], long: list[float]) -> dict[str, Any]:
    trained = fields.whole("rope.scaling.original_context_length", fields.whole("context_length"))
    said: dict[str, Any] = {
        "rope_type": "longrope",
        "short_factor": short,
        "long_factor": long,
        "original_max_position_embeddings": trained,
    }
    if fields.has("rope.scaling.attn_factor"):
        said["attention_factor"] = fields.number("rope.scaling.attn_factor", 1.0)
    return said


def _yarn(fields: Fields) -> dict[str, Any]:
    said: dict[str, Any] = {"rope_type": "yarn", "factor": _factor(fields)}
    if fields.has("rope.scaling.original_context_length"):
        said["original_max_position_embeddings"] = fields.whole("rope.scaling.original_context_length")
    for theirs, ours in (("attn_factor", "attention_factor"), ("beta_fast", "beta_fast"), ("beta_slow", "beta_slow")):
        if fields.has(f"rope.scaling.yarn_{theirs}"):
            said[ours] = fields.number(f"rope.scaling.yarn_{theirs}", 0.0)
    return said


def _factor(fields: Fields) -> float:
    """How often positions are stretched; older files have it under another key."""
    name = "rope.scaling.factor" if fields.has("rope.scaling.factor") else "rope.scale_linear"
    return fields.number(name, 1.0) or 1.0


def _table(info: TensorInfo, n_rotated: int) -> list[float]:
    """A small float32 tensor, read without NumPy."""
    pairs = info.n_elements
    if info.dtype != "F32" or pairs != n_rotated // 2 or pairs > MOST_PAIRS:
        raise CheckpointError(
            f"{info.file}: {info.name} is {info.dtype} {list(info.shape)}; expected {n_rotated // 2} numbers in F32"
        )
    try:
        with info.file.open("rb") as file:
            file.seek(info.start)
            found = struct.unpack(f"<{pairs}f", file.read(info.n_bytes))
    except (OSError, struct.error):
        raise CheckpointError(f"{info.file}: {info.name} can't be read; did the file change?") from None
    if not all(math.isfinite(divisor) and divisor > 0 for divisor in found):
        raise ConfigError(f"{info.file}: {info.name} holds what no frequency can be divided by", info.name)
    return [shortest(divisor) for divisor in found]
