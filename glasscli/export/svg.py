"""Maps of a dump as one SVG picture: every head of every layer, light and dark, values when pointed at."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from glasscli.inspect.dump import Dump
from glasscli.inspect.pool import max_pool
from glasscli.inspect.trace import LayerTrace

CELL = 13
LARGEST = 64  # cells along one side of a map; more are pooled
_MAX_CELLS = 60_000  # of the whole picture; a browser still scrolls that

# One colour in all strengths: the share of the weight is the share of the colour over the background.
STYLE = """
svg { background: #fff; color: #0b4f9e; font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
text { fill: #222; } .dim { fill: #767676; } rect { fill: currentColor; }
.frame { fill: none; stroke: #c8c8c8; } .seen { opacity: .07; }
@media (prefers-color-scheme: dark) {
  svg { background: #14171c; color: #f2c744; }
  text { fill: #e6e6e6; } .dim { fill: #9a9a9a; } .frame { stroke: #444; }
}
"""


def write_svg(dump: Dump, path: Path, steps: Sequence[str] | None) -> None:
    """A row of maps for each layer. Long maps are pooled by maximum, and say so."""
    del steps  # a picture shows the softmax whatever else was asked for
    path.write_text(picture(dump), encoding="utf-8")


def picture(dump: Dump) -> str:
    """The SVG document."""
    n_rows, n_columns = dump.n_queries, len(dump.tokens)
    pool = _pool(dump)
    rows, columns = -(-n_rows // pool), -(-n_columns // pool)
    label = 20 + 7 * min(18, max(len(token.label) for token in dump.tokens) + len(str(n_columns)) + 1)
    heads = dump.config.n_heads
    longest = len(_title(dump, dump.layers[-1], heads - 1))
    step_x, step_y = max(columns * CELL, 7 * longest) + 24, rows * CELL + 44
    width, height = label + max(heads * step_x, 420), 74 + len(dump.layers) * step_y
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="attention of {xml(dump.title)}">',
        f"<style>{STYLE}</style>",
        _text(12, 22, f"{dump.title} · softmax · rows read, columns are read"),
        _text(12, 40, _note(dump, pool), "dim"),
    ]
    for i, trace in enumerate(dump.layers):
        top = 74 + i * step_y
        parts += _labels(dump, pool, rows, top)
        for head in range(heads):
            left = label + head * step_x
            parts.append(_text(left, top - 8, _title(dump, trace, head)))
            parts += _map(dump, trace, head, pool, left, top)
    return "\n".join([*parts, "</svg>", ""])


def _pool(dump: Dump) -> int:
    """How many rows and columns become one, so that the picture can still be opened."""
    pool = -(-max(dump.n_queries, len(dump.tokens)) // LARGEST)
    n_maps = len(dump.layers) * dump.config.n_heads
    while n_maps * (-(-dump.n_queries // pool)) * (-(-len(dump.tokens) // pool)) > _MAX_CELLS:
        pool += 1
    return pool


def _note(dump: Dump, pool: int) -> str:
    note = f"{len(dump.tokens)} tokens · {dump.mode} {dump.n_queries} × {len(dump.tokens)}"
    return f"{note} · each cell = max of {pool}×{pool}" if pool > 1 else note


def _title(dump: Dump, trace: LayerTrace, head: int) -> str:
    return f"layer {trace.layer} head {head} · kv {head // dump.config.group_size}"


def _labels(dump: Dump, pool: int, rows: int, top: int) -> list[str]:
    lines = []
    for i in range(rows):
        position = dump.start + i * pool
        label = dump.tokens[position].label
        shown = label if len(label) <= 14 else f"{label[:13]}…"
        lines.append(_text(12, top + i * CELL + 10, f"{position} {shown}", "dim"))
    return lines


def _map(dump: Dump, trace: LayerTrace, head: int, pool: int, left: int, top: int) -> list[str]:
    values, mask = max_pool(trace.pattern_HTS[head], trace.mask_TS, pool, pool)
    rows, columns = values.shape
    frame = f'<rect class="frame" x="{left}" y="{top}" width="{columns * CELL}" height="{rows * CELL}"/>'
    cells = [frame]
    for i in range(rows):
        seen = int(mask[i].sum())
        cells.append(f'<rect class="seen" x="{left}" y="{top + i * CELL}" width="{seen * CELL}" height="{CELL}"/>')
        for j in range(columns):
            if mask[i, j]:
                query, key = dump.start + i * pool, j * pool
                labels = f"{dump.tokens[query].label}[{query}] ← {dump.tokens[key].label}[{key}]"
                value = float(values[i, j])
                cells.append(
                    f'<rect x="{left + j * CELL}" y="{top + i * CELL}" width="{CELL}" height="{CELL}" '
                    f'fill-opacity="{value:.3g}"><title>{xml(labels)} {value:.4f}</title></rect>'
                )
    return cells


def _text(x: int, y: int, text: str, style: str = "") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text x="{x}" y="{y}"{kind}>{xml(text)}</text>'


def xml(text: str) -> str:
    """`text` escaped, without characters that XML 1.0 has no place for."""
    return escape(
        "".join(c if c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff" else "�" for c in text)
    )
