"""The screens of their own (`--what-if`, `--step jacobian`, `--heads`, `--explain`) as JSON documents."""

from dataclasses import asdict
from typing import Any

from glasscli.census import Census
from glasscli.cli.attn_options import Ask
from glasscli.cli.attn_select import pick_heads
from glasscli.dump import Dump
from glasscli.errors import UsageError
from glasscli.export.arrays import describe
from glasscli.export.document import as_json
from glasscli.measures import HeadMeasures
from glasscli.steps import STEPS, explain, source_line
from glasscli.trace import LayerTrace
from glasscli.whatif import jacobian_facts, sharpness, what_if_pattern


def view_document(ask: Ask, dump: Dump) -> dict[str, Any]:
    """The document of the screen that `ask` names.

    Raises:
        UsageError: that screen has no document.
    """
    about = describe(dump)
    if ask.explain:
        return {**about, "schema": "glass.steps/1", "steps": _steps(dump)}
    if ask.jacobian:
        return {**about, "schema": "glass.jacobian/1", "layers": [_jacobian(ask, dump, t) for t in dump.layers]}
    if ask.what_if:
        layers = [_what_if(dump, trace, ask.what_if) for trace in dump.layers]
        return {**about, "schema": "glass.whatif/1", "what_if": ask.what_if, "layers": layers}
    raise UsageError("--blocked measures memory on a screen only; leave --json out.")


def census_document(census: Census) -> dict[str, Any]:
    """All heads, sorted as on the screen."""

    def measured(m: HeadMeasures) -> dict[str, Any]:
        return {"head": m.head, "kv_head": m.kv_head, **m.as_dict()}

    return {
        "schema": "glass.heads/1",
        "probe_ids": list(census.probe_ids),
        "heads": [
            {
                "layer": r.layer,
                "head": r.text.head,
                "role": r.role,
                "text": measured(r.text),
                "probe": measured(r.probe),
            }
            for r in census.reports
        ],
        "uniform": {"text": census.uniform_text.as_dict(), "probe": census.uniform_probe.as_dict()},
    }


def _steps(dump: Dump) -> list[dict[str, Any]]:
    rows = []
    for name, step in STEPS.items():
        file, number, _ = source_line(step)
        text = explain(step, dump.config)
        equation, axes = step.equation(dump.config), list(step.axes)
        rows.append({"step": name, "equation": equation, "axes": axes, "text": text, "source": f"{file}:{number}"})
    return rows


def _jacobian(ask: Ask, dump: Dump, trace: LayerTrace) -> dict[str, Any]:
    head, row = pick_heads(ask.head, None, dump.config)[0], dump.n_queries - 1
    position = dump.start + row
    jacobian, facts = jacobian_facts(trace.scores_HTS[head, row, : position + 1])
    about = {"layer": trace.layer, "head": head, "query": position}
    return {**about, "jacobian": as_json(jacobian), "properties": asdict(facts)}


def _what_if(dump: Dump, trace: LayerTrace, change: str) -> dict[str, Any]:
    scores, pattern = what_if_pattern(trace, change, dump.config.head_dim)
    heads = []
    for head in range(dump.config.n_heads):
        real = sharpness(trace.scores_HTS[head], trace.pattern_HTS[head], dump.start)
        other = sharpness(scores[head], pattern[head], dump.start)
        heads.append({"head": head, "as_it_is": asdict(real), "changed": asdict(other)})
    return {"layer": trace.layer, "softmax": as_json(pattern), "heads": heads}
