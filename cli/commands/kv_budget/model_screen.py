"""The screen of one model: a line per kind of layer, totals over contexts, and what follows from them."""

from glasscli.budget.answers import Answer
from glasscli.budget.describe import sharing
from glasscli.budget.engines import ENGINES
from glasscli.budget.plan import Budget
from glasscli.cli.commands.kv_budget.remarks import Said, context, hint, remarks
from glasscli.cli.page.page import Line, Page, spaced
from glasscli.units import format_bytes


def model_screen(page: Page, answer: Answer, bandwidth: int, said: Said) -> list[Line]:
    """The whole page."""
    title = _title(page, answer)
    title += page.flow("assumed: ", said.assumed) if said.assumed else []
    sizes, sums = _kinds(page, answer), _contexts(page, answer)
    return spaced(title, sizes, sums, remarks(page, answer, bandwidth, said), hint(page, said.tries))


def _title(page: Page, answer: Answer) -> list[Line]:
    """Which model, and the facts that decide."""
    layout, budget = answer.subject.layout, answer.main
    k, v = budget.k_dtype, budget.v_dtype
    facts = [f"{layout.n_layers:,} layers"]
    if layout.n_heads:
        facts.append(f"{layout.n_heads:,} query heads")
    facts.append(f"cache {k}" if k == v else f"cache K {k}, V {v}")
    if layout.max_positions:
        facts.append(f"up to {layout.max_positions:,} tokens")
    if budget.edition:
        facts.append(f"by the rules of {ENGINES[answer.settings.engine].title} {budget.edition}")
    words = [answer.subject.name, *("· " + fact for fact in [sharing(layout), *facts])]
    lines = page.flow("", words, style="bold", gap=1, indent=2)
    if answer.subject.source:
        lines += page.say(f"source: {answer.subject.source}", style="dim", indent=2)
    return lines


def _kinds(page: Page, answer: Answer) -> list[Line]:
    """A line for each kind of layer: how many, what one holds, growth, constant, bytes at the main context."""
    budget = answer.main
    found = [line for line in budget.lines if line.bytes or line.bytes_per_token or line.part.keeps_nothing]
    rows = [
        [
            f"{line.count:,}",
            line.part.label,
            line.part.shape,
            _dashed(line.bytes_per_token),
            _dashed(line.bytes_constant),
            _dashed(line.bytes),
        ]
        for line in found
    ]
    sums = (budget.bytes_per_token, budget.bytes_per_sequence_constant, budget.bytes_total)
    total = [f"{budget.n_layers:,}", "total", "", *map(_dashed, sums)]
    dtypes = budget.k_dtype if budget.k_dtype == budget.v_dtype else f"{budget.k_dtype}/{budget.v_dtype}"
    cells = [*rows, total] if len(rows) > 1 else rows
    headers: list[str] = []
    for per_token in (f"per token ({dtypes})", "per token"):  # the title says the dtypes, too
        headers = ["layers", "kind", "a layer holds", per_token, "constant", _at(answer)]
        if table := page.table(headers, cells, left=(1, 2), sections=(len(rows) - 1,)):
            return table
    brief = [[row[0], row[1], *row[3:]] for row in cells]
    if table := page.table([headers[0], headers[1], *headers[3:]], brief, left=(1,), sections=(len(rows) - 1,)):
        return [*table, *(line for row in rows for line in page.flow(f"{row[1]}: ", [row[2]]))]
    return [line for row in cells for line in _stacked(page, headers, row)]


def _stacked(page: Page, headers: list[str], row: list[str]) -> list[Line]:
    """A row as lines, for a narrow terminal."""
    lines = page.say(f"{row[0]} × {row[1]}" if row[2] else "total", style="bold")
    for head, value in zip(headers[2:], row[2:], strict=True):
        if value and value != "–":
            lines += page.flow(f"{head:>13}  ", [value])
    return lines


def _at(answer: Answer) -> str:
    """The head of the column of bytes: `at 8,192`, `64 × 8,192`."""
    batch, text = answer.settings.batch, context(answer.settings.main, answer.settings.batch)
    return f"at {text}" if batch == 1 else text


def _dashed(n_bytes: int) -> str:
    """A size, or a dash for nothing."""
    return format_bytes(n_bytes) if n_bytes else "–"


def _contexts(page: Page, answer: Answer) -> list[Line]:
    """The total at each context; beside it what the layers need, where the engine takes another amount."""
    budgets = answer.budgets
    if len(budgets) == 1:
        return []
    batch = answer.settings.batch
    differs = any(budget.bytes_total != budget.logical_bytes for budget in budgets)
    ranks = answer.settings.n_ranks > 1
    headers = ["context" if batch == 1 else f"{batch:,} × context", "bytes"]
    headers += ["logical"] if differs else []
    headers += ["per rank"] if ranks else []
    rows = [_row(budget, differs, ranks) for budget in budgets]
    if table := page.table(headers, rows):
        return table
    lines: list[Line] = []
    for cells in rows:
        sizes = [f"{head} {cell}" for head, cell in zip(headers[1:], cells[1:], strict=True)]
        lines += page.flow(f"{cells[0]:>9}  ", sizes)
    return lines


def _row(budget: Budget, differs: bool, ranks: bool) -> list[str]:
    """One context's line."""
    cells = [f"{budget.request.tokens:,}", format_bytes(budget.bytes_total)]
    cells += [format_bytes(budget.logical_bytes)] if differs else []
    cells += [format_bytes(budget.per_rank.bytes)] if ranks else []
    return cells
