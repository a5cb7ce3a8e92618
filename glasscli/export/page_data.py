"""What the page's script reads: a dump as plain numbers and texts, pooled where it would grow too large."""

from typing import Any

import numpy as np

from glasscli.arrays import Array, Mask
from glasscli.export.arrays import describe
from glasscli.inspect.checks import check_layer
from glasscli.inspect.dump import Dump
from glasscli.inspect.head_roles import lift, text_role
from glasscli.inspect.measures import MEANING, HeadMeasures
from glasscli.inspect.pool import max_pool
from glasscli.inspect.reading import Reading
from glasscli.inspect.steps import step_array, steps_of
from glasscli.inspect.trace import LayerTrace

MAX_NUMBERS = 2_500_000  # two a cell, about 8 bytes each: pages stay below 25 MB
LARGEST = 256  # cells along one side of a map


def page_data(dump: Dump, max_numbers: int = MAX_NUMBERS) -> dict[str, Any]:
    """Everything the page shows. `pool` says how many tokens a cell of a map stands for."""
    pool = pool_factor(dump, max_numbers)
    return {
        "model": describe(dump)["model"],
        "mode": dump.mode,
        "start": dump.start,
        "prompt": dump.n_prompt,
        "queries": dump.n_queries,
        "pool": pool,
        "tokens": [token.label for token in dump.tokens],
        "texts": [token.text or token.label for token in dump.tokens],
        "chosen": [token.label for token in dump.chosen],
        "uniform": dump.uniform().as_dict(),
        "meanings": MEANING,
        "opens": strongest_head(dump),
        "layers": [_layer(dump, trace, pool) for trace in dump.layers],
        "reading": None if dump.reading is None else _reading(dump.reading),
    }


def pool_factor(dump: Dump, max_numbers: int = MAX_NUMBERS) -> int:
    """How many rows and columns become one, so that the page stays small enough to open."""
    pool = max(1, -(-max(dump.n_queries, len(dump.tokens)) // LARGEST))
    n_maps = 2 * len(dump.layers) * dump.config.n_heads
    while n_maps * -(-dump.n_queries // pool) * -(-len(dump.tokens) // pool) > max_numbers:
        pool += 1
    return pool


def strongest_head(dump: Dump) -> tuple[int, int]:
    """Which of the layers, and which head of it, is farthest from ignoring content: where a page opens.

    By the measure that is farthest on its way from chance to all, of prev, self, dup and induct. Resting on the first
    token is no strength.
    """
    base = dump.uniform()
    found = {
        (i, head): _strength(measures, base)
        for i, trace in enumerate(dump.layers)
        for head, measures in enumerate(dump.measures(trace))
    }
    return max(found, key=lambda at: (found[at], -at[0], -at[1]))


def _strength(m: HeadMeasures, base: HeadMeasures) -> float:
    pairs = ((m.prev, base.prev), (m.self_weight, base.self_weight), (m.dup, base.dup), (m.induct, base.induct))
    return max((lift(a, b) for a, b in pairs if a is not None and b is not None), default=0.0)


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
    _, seen = max_pool(trace.pattern_HTS[0], trace.mask_TS, pool, pool)
    spans = [(int(row.argmax()), len(row) - int(row[::-1].argmax())) if row.any() else (0, 0) for row in seen]
    roles = None if dump.reading is None else dump.reading.roles
    base = dump.uniform()
    heads = [
        {
            "kv": m.kv_head,
            "role": text_role(m, base) if roles is None else roles.get((trace.layer, m.head or 0)),
            "measures": m.as_dict(),
            **_maps(trace, m.head or 0, pool, spans),
        }
        for m in dump.measures(trace)
    ]
    return {"layer": trace.layer, "seen": spans, "steps": steps, "heads": heads}


def _maps(trace: LayerTrace, head: int, pool: int, spans: list[tuple[int, int]]) -> dict[str, list[list[float | None]]]:
    """The three stages of a head: scores in full rows, what softmax reads and the weights where a query may look.

    `masked` is left out where it is a part of `scores`.
    """
    scores_TS = trace.scores_HTS[head]
    maps = {
        "scores": _rows(scores_TS, np.isfinite(scores_TS), pool, None),
        "softmax": _rows(trace.pattern_HTS[head], trace.mask_TS, pool, spans),
    }
    if pool > 1 or trace.softcap_HTS is not None:
        maps["masked"] = _rows(trace.last_scores[head], trace.mask_TS, pool, spans)
    return maps


def _rows(values_TS: Array, mask_TS: Mask, pool: int, spans: list[tuple[int, int]] | None) -> list[list[float | None]]:
    """Rows with five digits, null where there is nothing; of each the part that `spans` says."""
    values, mask = max_pool(values_TS, mask_TS, pool, pool)
    parts = spans or [(0, values.shape[1])] * len(values)
    return [
        [float(f"{x:.5g}") if ok else None for x, ok in zip(row[a:b].tolist(), seen[a:b].tolist(), strict=True)]
        for row, seen, (a, b) in zip(values, mask, parts, strict=True)
    ]


def _reading(reading: Reading) -> dict[str, Any]:
    """Tokens once, in `labels`; of each place and row the index of a label and its p, by turns."""
    labels: dict[str, int] = {}
    places = [
        {
            "layer": said.layer,
            "place": said.place,
            "norms": [float(f"{norm:.4g}") for norm in said.norms],
            "top": [
                [part for guess in row for part in (labels.setdefault(guess.token.label, len(labels)), _p(guess.p))]
                for row in said.top
            ],
        }
        for said in reading.places
    ]
    after = [(_p(p), rank) for p, rank in reading.next]
    return {"start": reading.start, "labels": list(labels), "places": places, "next": after}


def _p(p: float) -> float:
    return float(f"{p:.4g}")
