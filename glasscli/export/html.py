"""A dump as one HTML page that needs nothing else: no network, no library, no further file.

The page's style and script lie beside this module. A content security policy in the page allows these two by
their hashes and nothing besides, so whatever a prompt or a folder's name holds stays text.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from glasscli.arrays import Array, Mask
from glasscli.export.arrays import describe
from glasscli.inspect.checks import check_layer
from glasscli.inspect.dump import Dump
from glasscli.inspect.pool import max_pool
from glasscli.inspect.steps import step_array, steps_of
from glasscli.inspect.trace import LayerTrace

MAX_NUMBERS = 3_000_000  # two a cell, about 7 bytes each: pages stay below 25 MB
LARGEST = 256  # cells along one side of a map


def write_html(dump: Dump, path: Path, steps: Sequence[str] | None) -> None:
    """The page. Long maps are pooled by maximum, and say so."""
    del steps  # the page shows all of them
    path.write_text(page(dump), encoding="utf-8", errors="replace")  # a folder's name need not be Unicode


def page(dump: Dump) -> str:
    """The HTML document."""
    style, script = _asset("page.css"), _asset("page.draw.js") + _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    # "<" never appears in the data, so that no text in it can end the element.
    data = json.dumps(page_data(dump), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    fields = {
        "@POLICY@": policy,
        "@TITLE@": escape(f"attention · {dump.title}"),
        "@STYLE@": style,
        "@DATA@": data,
        "@SCRIPT@": script,
    }
    # In one pass: what is filled in may itself look like a mark.
    return re.sub("@[A-Z]+@", lambda found: fields[found[0]], _asset("page.html"))


def page_data(dump: Dump) -> dict[str, Any]:
    """What the page's script reads. Rows of a map stop where they are masked."""
    pool = pool_factor(dump)
    about = describe(dump)
    return {
        "model": about["model"],
        "prompt": dump.prompt,
        "mode": dump.mode,
        "start": dump.start,
        "queries": dump.n_queries,
        "pool": pool,
        "tokens": [token.label for token in dump.tokens],
        "chosen": [token.label for token in dump.chosen],
        "uniform": dump.uniform().as_dict(),
        "layers": [_layer(dump, trace, pool) for trace in dump.layers],
    }


def pool_factor(dump: Dump) -> int:
    """How many rows and columns become one, so that the page stays small enough to open."""
    pool = -(-max(dump.n_queries, len(dump.tokens)) // LARGEST)
    n_maps = 2 * len(dump.layers) * dump.config.n_heads
    while n_maps * -(-dump.n_queries // pool) * -(-len(dump.tokens) // pool) > MAX_NUMBERS:
        pool += 1
    return pool


def _layer(dump: Dump, trace: LayerTrace, pool: int) -> dict[str, Any]:
    checks = check_layer(trace, dump.config)
    steps = [
        {
            "name": name,
            "formula": step.equation(dump.config),
            "shape": list(step_array(trace, name).shape),
            "check": checks[name].text if name in checks else "",
            "ok": name not in checks or checks[name].ok,
        }
        for name, step in steps_of(dump.config, trace.layer).items()
    ]
    heads = [
        {
            "kv": m.kv_head,
            "measures": m.as_dict(),
            "softmax": _rows(trace.pattern_HTS[m.head or 0], trace.mask_TS, pool),
            "scores": _rows(trace.scores_HTS[m.head or 0], trace.mask_TS, pool),
        }
        for m in dump.measures(trace)
    ]
    return {"layer": trace.layer, "steps": steps, "heads": heads}


def _rows(values_TS: Array, mask_TS: Mask, pool: int) -> list[list[float]]:
    """Rows as far as they are visible, with five digits."""
    values, mask = max_pool(np.where(mask_TS, values_TS, 0.0), mask_TS, pool, pool)
    return [
        [float(f"{x:.5g}") for x in row[: int(seen.sum())].tolist()] for row, seen in zip(values, mask, strict=True)
    ]


def _asset(name: str) -> str:
    return files("glasscli.export").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
