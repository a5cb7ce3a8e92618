"""What each cache costs, as a page: a row a cache, what is smallest, what to beware of."""

import shlex
from collections.abc import Sequence

from glasscli.cache.choice import CacheChoice
from glasscli.cli.commands.kv_quality.command import Options
from glasscli.cli.commands.kv_quality.figures import copied, delta, nats, percent, share, size, sizes, wide_nats
from glasscli.cli.commands.kv_quality.parts_screen import parts_lines
from glasscli.cli.commands.kv_quality.run import Found
from glasscli.cli.commands.kv_quality.traps import warnings
from glasscli.cli.page.page import Line, Page, spaced
from glasscli.cli.page.wrap import SPACE
from glasscli.locate.shipped import SHIPPED, shipped_folder
from glasscli.quality.flags import llama_cpp_cuda_build, llama_cpp_flags, vllm_flags
from glasscli.quality.trained_heads import trained_heads
from glasscli.quality.trial import Result
from glasscli.quality.verdict import budget_flags

HEADERS = ("cache", "a token", "fixed", "of f16", "Δ nats/token", "KLD", "p99", "same top", "copy")
FEWER = ("cache", "of f16", "Δ nats/token", "KLD", "same top", "copy")


def quality_screen(page: Page, found: Found, options: Options) -> list[Line]:
    """The whole page; no line is wider than the terminal."""
    rows = [_row(found, result) for result in found.results]
    legend = page.flow("", _legend(found), style="dim", gap=3) if rows and not options.quiet else []
    legend += [] if options.quiet else _trained(page, found)
    said = [] if options.quiet else _warnings(page, found)
    hint = [] if options.quiet or not page.terminal else page.flow("try  ", _tries(options), style="dim", gap=3)
    verdict = _verdict(page, found, options)
    return spaced(_head(page, found), [*_table(page, rows), *legend], parts_lines(page, found), [*verdict, *said], hint)


def _head(page: Page, found: Found) -> list[Line]:
    trial, config = found.trial, found.trial.loaded.config
    shipped = trial.loaded.folder == shipped_folder()
    title = page.say(SHIPPED if shipped else str(trial.loaded.checkpoint.name), "bold")
    heads = f"{config.n_heads} query heads → {config.n_kv_heads} KV heads × {config.head_dim}"
    title += page.flow("", [f"{config.n_layers} layers", heads, "each beside the full float32 cache"], gap=3)
    n, scored = len(trial.chunks), len(trial.chunks) * (trial.context - trial.context // 2)
    of = f" of {found.n_there:,}" if found.n_there > n else ""
    pieces = [
        found.source,
        f"{n:,}{of} × {trial.context:,} tokens, second halves scored: {scored:,}",
        f"perplexity {trial.perplexity:.2f}",
        f"copies {100 * trial.copied:.0f} % of a random string",
    ]
    return title + page.flow("text  ", pieces, gap=3)


def _row(found: Found, result: Result) -> dict[str, str]:
    figures, (grown, fixed) = result.divergence, sizes(result)
    return {
        "cache": result.choice.explicit_text,
        "a token": grown,
        "fixed": fixed,
        "size": size(result),
        "of f16": percent(result.chunk_bytes / found.f16_bytes),
        "Δ nats/token": delta(figures.delta_nats, figures.delta_error),
        "KLD": nats(figures.kld),
        "p99": wide_nats(figures.kld_p99),
        "same top": share(figures.same_top),
        "copy": copied(result),
    }


def _table(page: Page, rows: Sequence[dict[str, str]]) -> list[Line]:
    """A table of all columns, of the fewer ones where it is narrow, or a block of lines for each cache."""
    if not rows:
        return []
    for headers in (HEADERS, FEWER):
        cells = [[row[header] for header in headers] for row in rows]
        if table := page.table(headers, cells, left=(0,)):
            return table
    lines = []
    for row in rows:
        lines += page.say(row["cache"], style="bold")
        lines += page.flow("  ", [row["size"], f"{row['of f16']} of f16"])
        lines += page.flow("  ", [f"Δ {row['Δ nats/token']}", f"KLD {row['KLD']}", f"p99 {row['p99']}"])
        lines += page.flow("  ", [f"same top {row['same top']}", f"copy {row['copy']}"])
    return lines


def _legend(found: Found) -> list[str]:
    said = [f"of f16: bytes of {found.trial.context:,} tokens, a chunk", "KLD: full ‖ this, nats"]
    if _has_merged(found):
        said.append("kv-heads: not retrained")
    if not found.trial.can_copy:
        said.append("copy n/a: the full cache can't either")
    return said


def _trained(page: Page, found: Found) -> list[Line]:
    """Beside merged heads of the shipped model: what as few cost that were there from the first step of training."""
    if found.trial.loaded.folder != shipped_folder() or not _has_merged(found):
        return []
    rows = trained_heads()
    bits = [f"{row.n_kv_heads}: {f'{row.bits_per_byte:.4f}'.lstrip('0')}" for row in rows]
    said = f"trained with so many from the first step, bits/byte after {rows[0].tokens / 1e6:.0f} M tokens"
    return page.flow("", [said, *bits], style="dim", gap=2)


def _has_merged(found: Found) -> bool:
    return any(result.choice.kv_heads is not None for result in found.results)


def _verdict(page: Page, found: Found, options: Options) -> list[Line]:
    """The smallest that passes, and how to have it elsewhere."""
    verdict = found.verdict
    limit = f"a KL divergence of {found.max_kld:g}"
    if verdict.best is None:
        return page.say(f"No cache here that keeps every token stays under {limit}.", "bold") if found.results else []
    best = verdict.best
    of_f16 = percent(best.chunk_bytes / found.f16_bytes)
    words = f"Smallest under {limit}: {best.choice.explicit_text}, {of_f16} of f16, KLD {nats(best.divergence.kld)}."
    lines = page.say(words, "bold")
    for command in () if options.quiet else commands_for(best.choice, options):
        lines += page.flow("  ", [command], indent=4)
    if not options.quiet and (built := llama_cpp_cuda_build(best.choice)) is not None:
        words = f"on CUDA: llama.cpp built with {' '.join(built)}, or attention runs on the CPU"
        lines += page.flow("  ", SPACE.split(words), style="dim", gap=1, indent=4)
    return lines


def commands_for(choice: CacheChoice, options: Options) -> list[str]:
    """What sizes this cache with glass, and what serves with it elsewhere."""
    found = []
    if (words := budget_flags(choice)) is not None:
        found.append(shlex.join(["glass", "kv-budget", "--model", options.model or SHIPPED, *words]))
    if (words := llama_cpp_flags(choice)) is not None:
        at = next(i for i, word in enumerate(words) if "=" not in word)
        found.append(" ".join([*words[:at], "llama-server", *words[at:]]))
    if (words := vllm_flags(choice)) is not None:
        found.append(" ".join(["vllm serve", *words]))
    return found


def _warnings(page: Page, found: Found) -> list[Line]:
    return [line for text in warnings(found) for line in page.flow("beware  ", SPACE.split(text), gap=1)]


def _tries(options: Options) -> list[str]:
    """What the command can do beside what it was asked for."""
    tries = {
        "--spec q8_0 --spec k=q8_0,v=q4_0": options.spec,
        "--by layer": options.by,
        "--svg cost.svg": options.svg,
        "--json": options.as_json,
    }
    return [words for words, asked in tries.items() if not asked]
