"""What a notebook shows of a cache's size: a line for each kind of layer, and the sum. Plain HTML, no NumPy."""

from html import escape
from typing import TYPE_CHECKING

from glasscli.units import format_bytes

if TYPE_CHECKING:
    from glasscli.budget.plan import Budget

HEADINGS = ("layers", "kind", "a token", "constant", "window", "in all")


def budget_table(budget: "Budget") -> str:
    """The budget as an HTML table under a line that says for what it is."""
    asked, rank = budget.request, budget.per_rank
    engine = f" · {asked.engine}" if asked.engine != "logical" else ""
    types = budget.k_dtype if budget.k_dtype == budget.v_dtype else f"keys {budget.k_dtype}, values {budget.v_dtype}"
    title = f"{asked.batch:,} × {asked.tokens:,} tokens · {types}{engine}"
    rows = [
        (
            f"{line.count:,}",
            line.kind,
            format_bytes(line.bytes_per_token),
            format_bytes(line.bytes_constant) if line.bytes_constant else "–",
            f"{line.window:,}" if line.window else "–",
            format_bytes(line.bytes),
        )
        for line in budget.lines
    ]
    total = ("", "in all", format_bytes(budget.bytes_per_token), "", "", format_bytes(budget.bytes_total))
    split = rank.tp * rank.pp * rank.dp > 1
    ranks = f"<p>the fullest of {rank.tp * rank.pp * rank.dp} devices holds {format_bytes(rank.bytes)}</p>"
    notes = "".join(f"<li>{escape(note)}</li>" for note in budget.notes)
    return (
        f"<p><b>KV cache {format_bytes(budget.bytes_total)}</b> ({budget.bytes_total:,} bytes) · {escape(title)}</p>"
        f"<table>{_row(HEADINGS, 'th')}{''.join(_row(row) for row in [*rows, total])}</table>"
        f"{ranks if split else ''}{f'<ul>{notes}</ul>' if notes else ''}"
    )


def _row(cells: tuple[str, ...], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
