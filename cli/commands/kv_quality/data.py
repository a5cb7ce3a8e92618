"""`glass kv-quality` for machines: one JSON document, one CSV table."""

from collections.abc import Sequence
from typing import Any

from glasscli.cli import console
from glasscli.cli.commands.kv_quality.run import Found
from glasscli.cli.commands.kv_quality.traps import warnings
from glasscli.export.arrays import describe_model
from glasscli.quality.flags import llama_cpp_cuda_build, llama_cpp_flags, vllm_flags
from glasscli.quality.parts import Part
from glasscli.quality.trial import Result
from glasscli.quality.verdict import budget_flags, passes

SCHEMA = "glass.kv-quality/1"
COLUMNS = (
    *("cache", "part", "layer", "kv_head", "bytes_per_token", "constant_bytes", "bytes", "of_f16", "delta_nats"),
    *("delta_error", "kld", "kld_p99", "kld_max", "same_top", "copied"),
)


def document(found: Found) -> dict[str, Any]:
    """All that was measured. Divergences are in nats, shares from 0 to 1; null where there is no number."""
    trial, verdict = found.trial, found.verdict
    checkpoint, config = trial.loaded.checkpoint, trial.loaded.config
    parts: list[list[Part]] = [*found.parts, *([] for _ in found.results[len(found.parts) :])]
    return {
        "schema": SCHEMA,
        "model": describe_model(checkpoint.name, config, checkpoint.weights_hash()),
        "text": {
            "source": found.source,
            "context": trial.context,
            "chunks": len(trial.chunks),
            "chunks_there": found.n_there,
            "scored_tokens": len(trial.chunks) * (trial.context - trial.context // 2),
        },
        "full": {"dtype": "f32", "perplexity": trial.perplexity, "copied": trial.copied},
        "bytes_at_tokens": found.trial.context,
        "f16_bytes": found.f16_bytes,
        "by": found.by,
        "caches": [_row(found, result, own) for result, own in zip(found.results, parts, strict=True)],
        "max_kld": found.max_kld,
        "smallest": None if verdict.best is None else verdict.best.choice.explicit_text,
        "smallest_that_drops_tokens": None if verdict.shorter is None else verdict.shorter.choice.explicit_text,
        "warnings": warnings(found),
        "left_out": [{"cache": choice.explicit_text, "why": why} for choice, why in found.skipped],
        "interrupted": found.interrupted,
    }


def _row(found: Found, result: Result, parts: Sequence[Part]) -> dict[str, Any]:
    choice = result.choice
    row = {"cache": choice.explicit_text, "says": choice.says, **_figures(found, result)}
    row["passes"] = passes(result, found.max_kld)
    row["flags"] = {
        "kv_budget": budget_flags(choice),
        "llama_cpp": llama_cpp_flags(choice),
        "llama_cpp_cuda_build": llama_cpp_cuda_build(choice),
        "vllm": vllm_flags(choice),
    }
    if found.by is not None:
        row["parts"] = [_part(part) for part in parts]
    return row


def _figures(found: Found, result: Result) -> dict[str, Any]:
    figures, n_bytes = result.divergence, result.chunk_bytes
    return {
        "bytes_per_token": result.bytes_per_token,
        "constant_bytes": result.constant_bytes,
        "bytes": n_bytes,
        "of_f16": n_bytes / found.f16_bytes,
        "delta_nats": figures.delta_nats,
        "delta_error": figures.delta_error,
        "kld": figures.kld,
        "kld_p99": figures.kld_p99,
        "kld_max": figures.kld_max,
        "same_top": figures.same_top,
        "copied": result.copied,
    }


def show_csv(found: Found) -> None:
    """A row a cache, and one for each of its parts: those have a name, and no bytes of their own."""
    rows: list[dict[str, object]] = []
    for i, result in enumerate(found.results):
        cache = {"cache": result.choice.explicit_text}
        rows.append({**cache, "part": "all", **_figures(found, result)})
        rows += [{**cache, **_part(part)} for part in (found.parts[i] if i < len(found.parts) else ())]
    console.write_csv(COLUMNS, rows)


def _part(part: Part) -> dict[str, Any]:
    return {
        "part": part.name,
        "layer": part.layer,
        "kv_head": part.kv_head,
        "kld": part.kld,
        "delta_nats": part.delta_nats,
    }
