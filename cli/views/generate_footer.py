"""The line of numbers below a text, on stderr: how much, why it ended, how fast, how surprising."""

import os
import sys
from typing import TYPE_CHECKING

from glasscli.cli.console import Color, printable, unicode_ok, use_color
from glasscli.cli.views.generate_text import DIM, RESET, tint_legend
from glasscli.generation import Generation

if TYPE_CHECKING:
    from glasscli.batch import Batch


def footer_lines(items: list[str], width: int) -> list[str]:
    """`items` in as many lines of `width` columns as they need, the last one ruled to its end."""
    lines, line = [], "──"
    for item in items:
        joint = " " if line == "──" else " · "
        if len(line) + len(joint) + len(item) > width and line != "──":
            lines.append(line)
            line, joint = "  ", " "
        line += joint + item
    if len(line) + 2 < width:
        line += " " + "─" * (width - len(line) - 1)
    return [*lines, line]


def footer_items(run: Generation) -> list[str]:
    """What there is to say of `run`, most wanted first."""
    written, n = run.written, len(run.token_ids)
    items = [f"{n:,} token{'s' * (n != 1)}", reason(run), f"seed {run.seed}"]
    if run.prefill_s:
        items.append(f"prompt {len(run.prompt.token_ids):,} tok {1000 * run.prefill_s:,.1f} ms")
    if run.decode_s:
        items.append(f"{(n - 1) / run.decode_s:,.0f} tok/s")
    if run.cache is not None:
        items.append(f"KV {size(run.cache.used_bytes)} of {size(run.cache.nbytes)}")
    if run.n_slid:
        items.append(f"{run.n_slid:,} tok slid out")
    if written.perplexity is not None:
        items.append(f"perplexity {written.perplexity:.1f}")
    return items


def reason(run: Generation) -> str:
    """Why the text ended, in words."""
    n = len(run.token_ids)
    if run.finish_reason == "stop":
        return f"stopped before {printable(run.written.stop_string or '')!r}"
    words = {
        "eos": "end of text",
        "length": f"stopped at -n {n}",
        "context": f"context of {run.loaded.config.max_seq_len:,} full",
        "interrupted": "interrupted",
    }
    return words.get(run.finish_reason or "", "unfinished")


def next_try(run: Generation) -> str:
    """One thing to try next."""
    if run.finish_reason == "context":
        return "try  --overflow slide (write on past the context)"
    if run.finish_reason == "length":
        return f"try  -n {max(1, 4 * len(run.token_ids))}   --show probs (every choice)   --temperature 0"
    return f"try  --seed {run.seed + 1}   --show probs (every choice)   --json"


def show_footer(run: Generation, color: Color, *, tinted: bool, hint: bool) -> None:
    """Write the footer to stderr; a closed stderr changes nothing."""
    lines = footer_lines(footer_items(run), _stderr_width())
    if hint:
        lines.append(f"   {next_try(run)}")
    if tinted and use_color(color, sys.stderr):
        lines.insert(0, tint_legend())
    _write(lines, color)


def show_batch_footer(batch: "Batch", color: Color) -> None:
    """The same for several prompts."""
    n = sum(len(run.token_ids) for run in batch.runs)
    items = [f"{len(batch.runs):,} prompts", f"{n:,} tokens"]
    if batch.runs:
        items.append(f"seeds {batch.runs[0].seed} to {batch.runs[-1].seed}")
    items.append(f"prompts {1000 * batch.prefill_s:,.1f} ms")
    if batch.decode_s:
        items.append(f"{batch.n_decoded / batch.decode_s:,.0f} tok/s together")
    items.append(f"KV {size(batch.kv_bytes)}")
    _write(footer_lines(items, _stderr_width()), color)


def _write(lines: list[str], color: Color) -> None:
    dim, reset = (DIM, RESET) if use_color(color, sys.stderr) else ("", "")
    text = "".join(f"{dim}{line}{reset}\n" for line in lines)
    if not unicode_ok(sys.stderr):
        text = text.replace("─", "-").replace("·", "|").encode("ascii", "backslashreplace").decode()
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, AttributeError, ValueError):
        pass


def size(n_bytes: int) -> str:
    """Bytes for people, in binary units."""
    if n_bytes < 1024:
        return f"{n_bytes} B"
    value, units = n_bytes / 1024, ["KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.0f} {units[0]}" if value >= 100 or value == int(value) else f"{value:.1f} {units[0]}"


def _stderr_width() -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return max(20, int(columns))
    try:
        return max(20, os.get_terminal_size(sys.stderr.fileno()).columns)
    except (OSError, AttributeError, ValueError):
        return 80
