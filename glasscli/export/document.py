"""A dump as one strict JSON document: no NaN, no infinity, masked scores null."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glasscli.config.model_config import ModelConfig
from glasscli.export.arrays import describe, named_arrays
from glasscli.inspect.cache_change import changes
from glasscli.inspect.dump import Dump, SizeError
from glasscli.inspect.measures import HeadMeasures
from glasscli.inspect.steps import EVERY_STEP, step_array
from glasscli.inspect.stream_steps import OUTSIDE
from glasscli.inspect.trace import LayerTrace

MAX_JSON_BYTES = 50_000_000
_BYTES_A_NUMBER = 13  # nine digits, sign, point, comma


def document(dump: Dump, steps: Sequence[str], names: str = "native") -> dict[str, Any]:
    """The document `glass.attn/1`.

    Native: `layers` holds an object a layer, with a `{"shape", "data"}` a step, `summary` (the measures of
    each head) and `uniform` (those of a head that ignores content). `mask` is true where a query may look. `outside`
    holds the steps that are no layer's. Of a run with another cache, `full` holds the steps with the full one, and
    `change` what that did (`cache_change`).
    Other names: `arrays` holds a `{"shape", "data"}` for each of their keys.

    Raises:
        UsageError: it would be larger than 50 MB.
    """
    runs = 2 if dump.full else 1
    check_json_size(dump.config, dump.n_queries, len(dump.tokens), len(dump.layers), tuple(steps) * runs)
    head = describe(dump, names)
    if names != "native":
        arrays = named_arrays(dump, steps, names)
        return {**head, "arrays": {name: as_json(values) for name, values in arrays.items()}}
    inside = [step for step in steps if step not in OUTSIDE]
    layers = [_layer(dump, trace, inside) for trace in dump.layers]
    for entry, full, change in zip(layers, dump.full, changes(dump), strict=False):
        entry |= {"full": _steps(full, inside), "change": asdict(change)}
    outside = {"outside": {name: as_json(values) for name, values in dump.outside.items()}} if dump.outside else {}
    return {**head, "layers": layers, **outside}


def check_json_size(config: ModelConfig, n_queries: int, n_keys: int, n_layers: int, steps: Sequence[str]) -> None:
    """Refuse what would make more than 50 MB of text.

    Raises:
        SizeError: it would; a binary file has no such limit.
    """
    layers = f"{n_layers} layer{'s' * (n_layers > 1)}"
    n_numbers = count_numbers(config, n_queries, n_keys, n_layers, steps)
    check_json_numbers(n_numbers, f"{n_queries:,} × {n_keys:,} tokens in {layers}")


def check_json_numbers(n_numbers: int, what: str) -> None:
    """Refuse so many numbers as would make more than 50 MB of text; `what` says whose they are.

    Raises:
        SizeError: they would.
    """
    n_bytes = _BYTES_A_NUMBER * n_numbers
    if n_bytes > MAX_JSON_BYTES:
        raise SizeError(
            f"{what} make about {n_bytes / 1e6:,.0f} MB of JSON; the limit is {MAX_JSON_BYTES / 1e6:.0f} MB"
        )


def count_numbers(config: ModelConfig, n_queries: int, n_keys: int, n_layers: int, steps: Sequence[str]) -> int:
    """How many numbers `steps` hold, in so many layers."""
    return sum(
        math.prod(EVERY_STEP[step].shape(config, n_queries, n_keys)) * (1 if step in OUTSIDE else n_layers)
        for step in steps
    )


def write_json(dump: Dump, path: Path, steps: Sequence[str], names: str) -> None:
    """The document as a file, ASCII only."""
    with path.open("w", encoding="ascii") as file:
        json.dump(document(dump, steps, names), file, allow_nan=False)
        file.write("\n")


def _layer(dump: Dump, trace: LayerTrace, steps: Sequence[str]) -> dict[str, Any]:
    config = dump.config
    entry: dict[str, Any] = {
        "layer": trace.layer,
        "heads": config.n_heads,
        "kv_heads": config.n_kv_heads,
        "kv_of_head": [head // config.group_size for head in range(config.n_heads)],
        **_steps(trace, steps),
    }
    entry["summary"] = [measures_entry(m) for m in dump.measures(trace)]
    entry["uniform"] = dump.uniform().as_dict()
    return entry


def _steps(trace: LayerTrace, steps: Sequence[str]) -> dict[str, Any]:
    arrays = {step: step_array(trace, step) for step in steps}
    for step in arrays.keys() & {"scores", "softcap"}:
        arrays[step] = np.where(trace.seen, arrays[step], np.nan)
    return {step: as_json(values) for step, values in arrays.items()}


def measures_entry(m: HeadMeasures) -> dict[str, Any]:
    """The measures of one head, and its strongest link."""
    strongest = asdict(m.strongest) if m.strongest is not None else None
    return {"head": m.head, "kv_head": m.kv_head, **m.as_dict(), "strongest": strongest}


def as_json(values: NDArray[Any]) -> dict[str, Any]:
    """An array as its shape and nested lists; what is not finite is null."""
    return {"shape": list(values.shape), "data": _plain(values)}


def _plain(values: NDArray[Any]) -> Any:
    """Nested lists; nine digits bring a float32 back exactly, and what is no number becomes None."""
    if values.ndim > 1:
        return [_plain(part) for part in values]
    if values.dtype == np.bool:
        return values.tolist()
    finite = np.isfinite(values).tolist()
    return [float(f"{x:.9g}") if ok else None for x, ok in zip(values.tolist(), finite, strict=True)]
