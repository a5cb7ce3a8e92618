"""The screens of their own (`--what-if`, `--step jacobian`, `--weighted`, `--cell`, `--heads`, `--explain`) as data.

Documents hold arrays as they are; `export.view` makes JSON or a file of them.
"""

from dataclasses import asdict
from typing import Any

from glasscli.cli.commands.dump_attn.options import Options
from glasscli.cli.commands.dump_attn.pick import pick_cell, pick_heads, pick_jacobian_heads
from glasscli.export.arrays import describe
from glasscli.export.document import check_json_numbers, check_json_size, measures_entry
from glasscli.inspect.dump import Dump
from glasscli.inspect.head_roles import Census
from glasscli.inspect.neurons import CellTerms, cell_terms
from glasscli.inspect.steps import explain, source_line, steps_of
from glasscli.inspect.trace import LayerTrace
from glasscli.inspect.weighted import weigh
from glasscli.inspect.whatif import jacobian_facts, sharpness, what_if_pattern


def view_document(options: Options, dump: Dump) -> dict[str, Any]:
    """The document of the screen that `options` names.

    Raises:
        UsageError: there is no such cell, or the text would be larger than 50 MB.
    """
    about = describe(dump)
    if options.as_json or (options.output is not None and options.output.suffix == ".json"):
        _check_size(options, dump)
    if options.explain:
        return {**about, "schema": "glass.steps/1", "steps": _steps(dump)}
    if options.jacobian:
        heads = pick_jacobian_heads(options.head, dump.config)
        entries = [_jacobian(dump, trace, head) for trace in dump.layers for head in heads]
        return {**about, "schema": "glass.jacobian/1", "layers": entries}
    if options.what_if:
        layers = [_what_if(dump, trace, options.what_if) for trace in dump.layers]
        return {**about, "schema": "glass.whatif/1", "what_if": options.what_if, "layers": layers}
    if options.weighted:
        return {**about, "schema": "glass.weighted/1", "layers": [_weighted(trace) for trace in dump.layers]}
    assert options.cell is not None
    place, heads = pick_cell(options.cell), pick_heads(options.head, None, dump.config)
    cells = [_cell(cell_terms(trace, dump.config, head, *place)) for trace in dump.layers for head in heads]
    return {**about, "schema": "glass.cell/1", "layers": cells}


def census_document(census: Census, model: dict[str, Any], prompt: str) -> dict[str, Any]:
    """All heads, sorted as on the screen. `model` says which one, see `describe_model`."""
    return {
        "schema": "glass.heads/2",
        "model": model,
        "prompt": prompt,
        "probe_ids": [list(ids) for ids in census.probe_ids],
        "heads": [
            {
                "layer": r.layer,
                "head": r.text.head,
                "role": r.role,
                "text": measures_entry(r.text),
                "probe": measures_entry(r.probe),
                "probe_sd": {"induct": r.probed.induct_sd, "dup": r.probed.dup_sd},
            }
            for r in census.reports
        ],
        "uniform": {"text": census.uniform_text.as_dict(), "probe": census.uniform_probe.as_dict()},
    }


def _steps(dump: Dump) -> list[dict[str, Any]]:
    rows = []
    for name, step in steps_of(dump.config, dump.layers[0].layer).items():
        file, number, _ = source_line(step)
        text = explain(step, dump.config)
        equation, axes = step.equation(dump.config), list(step.axes)
        rows.append({"step": name, "equation": equation, "axes": axes, "text": text, "source": f"{file}:{number}"})
    return rows


def _check_size(options: Options, dump: Dump) -> None:
    n_keys, n_layers = len(dump.tokens), len(dump.layers)
    if options.jacobian:
        n_maps = n_layers * len(pick_jacobian_heads(options.head, dump.config))
        what = f"{n_maps} Jacobian{'s' * (n_maps > 1)} of {n_keys:,} × {n_keys:,}"
        check_json_numbers(n_maps * n_keys**2, what)
    elif options.what_if or options.weighted:
        check_json_size(dump.config, dump.n_queries, n_keys, n_layers, ("softmax",))


def _jacobian(dump: Dump, trace: LayerTrace, head: int) -> dict[str, Any]:
    row = dump.n_queries - 1
    position = dump.start + row
    jacobian, facts = jacobian_facts(trace.seen_scores(head, row))
    about = {"layer": trace.layer, "head": head, "query": position}
    return {**about, "jacobian": jacobian, "properties": asdict(facts)}


def _what_if(dump: Dump, trace: LayerTrace, change: str) -> dict[str, Any]:
    scores, mask, pattern = what_if_pattern(trace, change, dump.config.score_scale, dump.config.attention_softcap)
    heads = []
    for head in range(dump.config.n_heads):
        real = sharpness(trace.last_scores[head], trace.mask_TS, trace.pattern_HTS[head], dump.start)
        other = sharpness(scores[head], mask, pattern[head], dump.start)
        heads.append({"head": head, "as_it_is": asdict(real), "changed": asdict(other)})
    return {"layer": trace.layer, "softmax": pattern, "heads": heads}


def _weighted(trace: LayerTrace) -> dict[str, Any]:
    found = weigh(trace)
    heads = [asdict(head) for head in found.heads]
    return {
        "layer": trace.layer, "weighted": found.weighted_HTS, "value_lengths": found.lengths_KS, "summary": heads
    }  # fmt: skip


def _cell(cell: CellTerms) -> dict[str, Any]:
    return {**asdict(cell), "total": cell.total, "at_distance_0": cell.at_distance_0}
