"""What `glass attend` works out, for machines. Hidden scores are null."""

from typing import Any

import numpy as np

from glasscli.arrays import Array
from glasscli.inspect.worked import Worked

COLUMNS = ("step", "head", "query", "column", "query_label", "column_label", "value")


def document(found: Worked, labels: list[str]) -> dict[str, Any]:
    """Every step as nested lists, axes [head, query, key or number]."""
    return {
        "schema": "glass.attend/1",
        "dtype": str(found.raw_HTS.dtype),
        "labels": labels or None,
        "n_heads": len(found.raw_HTS),
        "n_kv_heads": found.n_kv_heads,
        "scale": found.scale,
        "start": found.start,
        **{name: plain(array) for name, array in _given(found).items()},
        "raw": plain(found.raw_HTS),
        "mask": found.mask_TS.tolist(),
        "masked": plain(found.masked_HTS),
        "softmax": plain(found.pattern_HTS),
        "mixed": None if found.mixed_HTE is None else plain(found.mixed_HTE),
    }


def plain(array: Array) -> Any:
    """Nested lists, each number exact; what is not finite is null."""
    if array.ndim:
        return [plain(part) for part in array]
    return float(array) if np.isfinite(array) else None


def rows(found: Worked, labels: list[str]) -> list[dict[str, object]]:
    """A row a number; hidden scores are empty."""
    steps = {"raw": found.raw_HTS, "masked": found.masked_HTS, "softmax": found.pattern_HTS}
    if found.mixed_HTE is not None:
        steps["mixed"] = found.mixed_HTE
    table: list[dict[str, object]] = []
    for step, array in steps.items():
        for (head, query, column), value in np.ndenumerate(array):
            at = found.start + query
            table.append(
                {
                    "step": step,
                    "head": head,
                    "query": at,
                    "column": column,
                    "query_label": labels[at] if at < len(labels) else "",
                    "column_label": labels[column] if labels and step != "mixed" else "",
                    "value": float(value) if np.isfinite(value) else None,
                }
            )
    return table


def _given(found: Worked) -> dict[str, Array]:
    given = {"q": found.q_HTE, "k": found.k_KSE, "v": found.v_KSE}
    return {name: array for name, array in given.items() if array is not None}
