"""Answers for machines: one JSON document, one CSV table. Sizes are exact integers of bytes."""

from collections.abc import Mapping, Sequence
from typing import Any

from glasscli.budget.answers import Answer
from glasscli.budget.model_facts import Model
from glasscli.budget.plan import Budget
from glasscli.budget.questions import Settings
from glasscli.budget.subjects import Heads
from glasscli.budget.sweep import Curve
from glasscli.cli import console
from glasscli.cli.console import write_csv
from glasscli.errors import GlassError

SCHEMA = "glass.kv-budget/1"
COMMON = ("model", "engine", "tokens", "batch", "k_dtype", "v_dtype")
TOTALS = (*COMMON, "layers", "bytes_per_token", "bytes_per_sequence_constant", "bytes", "bytes_per_rank")
FITS = ("budget_bytes", "fits", "max_tokens", "max_batch")  # of the longest context
PARTS = (*COMMON, "part", "layers", "window", "bytes_per_token", "bytes_per_sequence_constant", "bytes")


def document(answer: Answer, bandwidth: int) -> dict[str, Any]:
    """One model: everything at the main context, and the sizes at each context in `contexts`."""
    settings, budget = answer.settings, answer.main
    said: dict[str, Any] = {
        "schema": SCHEMA,
        "model": answer.subject.name,
        "source": answer.subject.source or None,
        "engine": settings.engine,
        "engine_version": budget.edition or None,
        "tokens": settings.main,
        "made_for_tokens": answer.subject.logical.max_positions,
        "batch": settings.batch,
        "k_dtype": budget.k_dtype,
        "v_dtype": budget.v_dtype,
        "encoder_tokens": budget.request.encoder,
        "prefix_shared": settings.prefix_shared,
        "bytes_total": budget.bytes_total,
        "bytes_per_token": budget.bytes_per_token,
        "bytes_per_sequence_constant": budget.bytes_per_sequence_constant,
        "logical_bytes": budget.logical_bytes,
        "layers": layers(budget),
        "per_rank": per_rank(budget),
        "contexts": [context(budget) for budget in answer.budgets],
        "decode": {
            "bytes_read": answer.read.bytes,
            "bytes_read_per_rank": answer.read.rank_bytes,
            "flops": answer.read.flops or None,
            "bandwidth_bytes_per_s": bandwidth,
            "nanoseconds": int(answer.read.seconds(bandwidth) * 10**9),
        },
        "warnings": list(budget.warnings),
        "notes": list(budget.notes),
    }
    if answer.fit is not None:
        fit = answer.fit
        said |= {
            "budget_bytes": fit.budget_bytes,
            "fits": fit.fits,
            "max_tokens": fit.max_tokens,
            "max_batch": fit.max_batch,
            "tokens_in_all": fit.tokens_in_all,
        }
    return said


def layers(budget: Budget) -> list[dict[str, Any]]:
    """A line for each kind of layer."""
    return [
        {
            "kind": line.kind,
            "count": line.count,
            "bytes_per_token": line.bytes_per_token,
            "bytes_constant": line.bytes_constant,
            "window": line.window,
            "bytes": line.bytes,
            "bytes_by_role": dict(line.held),
        }
        for line in budget.lines
    ]


def per_rank(budget: Budget) -> dict[str, int]:
    """What the fullest rank holds."""
    rank = budget.per_rank
    return {"tp": rank.tp, "pp": rank.pp, "dp": rank.dp, "bytes": rank.bytes}


def context(budget: Budget) -> dict[str, int]:
    """The sizes at one context."""
    return {
        "tokens": budget.request.tokens,
        "bytes_total": budget.bytes_total,
        "bytes_per_token": budget.bytes_per_token,
        "bytes_per_sequence_constant": budget.bytes_per_sequence_constant,
        "bytes_per_rank": budget.per_rank.bytes,
    }


def heads_document(
    heads: Heads, variants: Sequence[Heads], answers: Sequence[Answer], bandwidth: int
) -> dict[str, Any]:
    """Head counts: the document of those asked for, and each way to share keys in `variants`."""
    said = document(answers[list(variants).index(heads)], bandwidth)
    said |= {"hq": heads.n_heads, "hkv": heads.n_kv_heads, "head_dim": heads.head_dim, "n_layers": heads.n_layers}
    said["variants"] = [
        {
            "kind": variant.kind,
            "hkv": variant.n_kv_heads,
            "times_smaller_than_mha": answers[0].main.bytes_total // answer.main.bytes_total,
            "bytes_per_token": answer.main.bytes_per_token,
            "bytes_total": answer.main.bytes_total,
            "contexts": [context(budget) for budget in answer.budgets],
            **({} if answer.fit is None else {"max_tokens": answer.fit.max_tokens, "max_batch": answer.fit.max_batch}),
        }
        for variant, answer in zip(variants, answers, strict=True)
    ]
    return said


def show_refusal(error: GlassError) -> None:
    """Why there is no number, as a document."""
    field = getattr(error, "field", None)
    console.write_json({"schema": SCHEMA, "error": {"field": field, "message": str(error)}})


def show_csv(answers: Sequence[Answer], by_kind: bool = False) -> None:
    """A row for each context of each model; if `by_kind`, a row for each kind of layer instead, which add up to it."""
    rows_of = kinds if by_kind else totals
    columns = PARTS if by_kind else TOTALS + FITS if answers[0].fit is not None else TOTALS
    write_csv(columns, [row for answer in answers for budget in answer.budgets for row in rows_of(answer, budget)])


def common(answer: Answer, budget: Budget) -> dict[str, object]:
    """What every row says of its question."""
    settings, tokens = answer.settings, budget.request.tokens
    said = (answer.subject.name, settings.engine, tokens, settings.batch, budget.k_dtype, budget.v_dtype)
    return dict(zip(COMMON, said, strict=True))


def totals(answer: Answer, budget: Budget) -> list[Mapping[str, object]]:
    """The row of one context; what fits stands in that of the longest."""
    fit = answer.fit if budget is answer.main else None
    room = () if fit is None else (fit.budget_bytes, str(fit.fits).lower(), fit.max_tokens, fit.max_batch)
    return [
        {
            **common(answer, budget),
            "layers": budget.n_layers,
            "bytes_per_token": budget.bytes_per_token,
            "bytes_per_sequence_constant": budget.bytes_per_sequence_constant,
            "bytes": budget.bytes_total,
            "bytes_per_rank": budget.per_rank.bytes,
            **dict(zip(FITS, room, strict=False)),
        }
    ]


def kinds(answer: Answer, budget: Budget) -> list[Mapping[str, object]]:
    """The rows of one context, one for each kind of layer."""
    return [
        {
            **common(answer, budget),
            "part": line.kind,
            "layers": line.count,
            "window": line.window,
            "bytes_per_token": line.bytes_per_token,
            "bytes_per_sequence_constant": line.bytes_constant,
            "bytes": line.bytes,
        }
        for line in budget.lines
    ]


def show_sweep(curves: Sequence[Curve], settings: Settings, as_csv: bool) -> None:
    """Bytes over context: a list of points for each model, or a CSV row for each point."""
    if as_csv:
        columns = ("model", "engine", "batch", "k_dtype", "v_dtype", "tokens", "bytes")
        points = [
            (curve.name, settings.engine, settings.batch, curve.k_dtype, curve.v_dtype, tokens, size)
            for curve in curves
            for tokens, size in zip(curve.tokens, curve.sizes, strict=True)
        ]
        write_csv(columns, [dict(zip(columns, point, strict=True)) for point in points])
        return
    sweep = [
        {
            "model": curve.name,
            "k_dtype": curve.k_dtype,
            "v_dtype": curve.v_dtype,
            "windows": list(curve.knees),
            "constant": curve.constant_says or None,
            "tokens": list(curve.tokens),
            "bytes": list(curve.sizes),
        }
        for curve in curves
    ]
    console.write_json({"schema": SCHEMA, "engine": settings.engine, "batch": settings.batch, "sweep": sweep})


def show_models(models: Sequence[Model], sizes: Sequence[int | None], as_of: str, as_csv: bool) -> None:
    """The named models and the fields of config.json that size them."""
    table = [
        {"name": model.name, "kind": model.kind, "date": model.date, "source": model.source, "bytes_at_8192": size}
        for model, size in zip(models, sizes, strict=True)
    ]
    if as_csv:
        write_csv(("name", "kind", "date", "source", "bytes_at_8192"), table)
    else:
        said = [{**row, "config": model.config} for row, model in zip(table, models, strict=True)]
        console.write_json({"schema": SCHEMA, "as_of": as_of, "models": said})
