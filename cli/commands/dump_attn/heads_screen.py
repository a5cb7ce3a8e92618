"""All heads of a model in one table, those that continue repeats first; and the steps explained."""

from collections.abc import Sequence

from glasscli.cli.commands.dump_attn.figures import percent, reach, share
from glasscli.cli.commands.dump_attn.measures import measure_glossary, measure_legend
from glasscli.cli.page.page import Line, Page, Span
from glasscli.cli.page.style import ACCENT, BAD, DIM, HEAD, tint
from glasscli.inspect.checks import Check, check_layer
from glasscli.inspect.dump import Dump
from glasscli.inspect.head_roles import TIMES, Census, HeadReport
from glasscli.inspect.measures import HeadMeasures
from glasscli.inspect.probes import PROBE_SEED
from glasscli.inspect.steps import explain, source_line, step_array, steps_of
from glasscli.inspect.trace import LayerTrace

MAX_HEADS = 64  # on a terminal; a pipe gets all


def heads_screen(page: Page, census: Census) -> list[Line]:
    """The census, sorted by how well a head continues the probes."""
    reports = census.reports[:MAX_HEADS] if page.terminal else census.reports
    rows = [_row(report) for report in reports]
    uniform = _numbers(census.uniform_text, census.uniform_probe, DIM)
    rows.append([("uniform", DIM), ("", ""), ("", ""), *uniform])
    names = ("head", "kv", "role", "induct", "dup", "induct", "prev", "self", "sink", "entropy", "reach")
    over = ["", "", "", "probe", "probe", *["text"] * 6]
    right = (False, False, False, *[True] * 8)
    lines = page.columns([[(name, DIM) for name in over], [(name, DIM) for name in names], *rows], right)
    if not page.fits(lines):
        lines = _stacked(
            page, (*names[:3], *(f"{a} {b}" for a, b in zip(over[3:5], names[3:5], strict=True)), *names[5:]), rows
        )
    n_probes, n_tokens = len(census.probe_ids), len(census.probe_ids[0]) // 2
    behind = ", behind the opening mark" if len(census.probe_ids[0]) % 2 else ""
    probe = f"probe   {n_tokens} random tokens, twice{behind}; mean of {n_probes} draws (seed {PROBE_SEED})"
    n_layers = max(report.layer for report in census.reports) + 1
    title = (f"{n_layers} layers", f"{len(census.reports)} heads", "sorted by induction on the probe")
    head = page.wrap(probe, "        ", DIM, first="")
    head += [[], *page.listed(title, "  ", HEAD)]
    left = len(census.reports) - len(reports)
    more = [[(f" … {left} more heads (all of them in a pipe, or with --json)", DIM)]] if left else []
    return [*head, [], *lines, *more, *measure_legend(page), [], *_evidence(page, census)]


def _row(report: HeadReport) -> list[Span]:
    kv = report.text.kv_head or 0
    return [
        (f"{report.layer}.{report.text.head}", ACCENT),
        (str(kv), tint(kv)),
        (report.role or "", HEAD),
        *_numbers(report.text, report.probe, ""),
    ]


def _numbers(text: HeadMeasures, probe: HeadMeasures, style: str) -> list[Span]:
    shares = (probe.induct, probe.dup, text.induct, text.prev, text.self_weight, text.sink)
    figures = [*(share(value) for value in shares), percent(text.entropy_share), reach(text.reach)]
    return [(figure, style) for figure in figures]


def _stacked(page: Page, names: Sequence[str], rows: Sequence[Sequence[Span]]) -> list[Line]:
    lines: list[Line] = []
    for row in rows:
        kv = f" · kv {row[1][0]}" if row[1][0] else ""
        title = f"{row[0][0]}{kv}" + (f" · {row[2][0]}" if row[2][0] else "")
        values = [f"{name} {cell}" for name, (cell, _) in zip(names[3:], row[3:], strict=True)]
        lines += [[(title, HEAD)], *page.listed(values, "  ", between="  ", first="  ")]
    return lines


def _evidence(page: Page, census: Census) -> list[Line]:
    """Which heads are induction heads, and why."""
    found = [report for report in census.reports if report.role == "induction"]
    base = census.uniform_probe.induct or 0.0
    best = census.reports[0]
    if found:
        text = "Induction heads: " + ", ".join(
            f"{r.layer}.{r.text.head} ({share(r.probe.induct)} ± {share(r.probed.induct_sd)}, "
            f"{(r.probe.induct or 0) / base:.1f} × uniform)"
            for r in found
        )
        text += ". In the second half of a probe that share of their weight is on the token that came next before."
    else:
        text = (
            f"No induction head: none surely puts {TIMES:.0f} times as much weight as chance on the token that came "
            f"next before. Nearest is {best.layer}.{best.text.head} with {share(best.probe.induct)} "
            f"± {share(best.probed.induct_sd)} (uniform {share(base)})."
        )
    return page.wrap(text, " ")


def explain_screen(page: Page, dump: Dump, trace: LayerTrace) -> list[Line]:
    """Each step with its equation, two sentences, what was found true, and the line of code; then the measures."""
    checks = check_layer(trace, dump.config)
    lines: list[Line] = []
    for number, (name, step) in enumerate(steps_of(dump.config, trace.layer).items(), 1):
        shape = " × ".join(str(n) for n in step_array(trace, name).shape)
        title = f"{number:>2}  {name} = {step.equation(dump.config)} · {shape} ({', '.join(step.axes)})"
        lines += [[], *page.wrap(title, "      ", HEAD, first="")]
        lines += page.wrap(explain(step, dump.config), "    ")
        lines += _found(page, checks.get(name))
        file, line_number, code = source_line(step)
        lines += page.wrap(f"{file}:{line_number}  {code}", "      ", DIM, first="    ")
    return [*lines, [], *measure_glossary(page)]


def _found(page: Page, check: Check | None) -> list[Line]:
    if check is None:
        return []
    text = f"{'✓' if check.ok else '✗'} here: {check.text}"
    return page.wrap(text, "      ", ACCENT if check.ok else BAD, first="    ")
