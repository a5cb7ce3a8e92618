"""The screen of one model: a line per kind of layer, totals over contexts, and what follows from them."""

from glasscli.budget.answers import Answer
from glasscli.budget.describe import name, shape, sharing
from glasscli.budget.plan import Budget
from glasscli.cli.commands.kv_budget.remarks import Said, context, decode_step, fits, hint, notes, other_types, per_rank
from glasscli.cli.page.screen import Screen
from glasscli.units import format_bytes


def show(answer: Answer, bandwidth: int, said: Said, screen: Screen, quiet: bool = False) -> None:
    """The whole page; if `quiet`, without what was assumed and what follows."""
    title(answer, screen)
    if said.assumed and not quiet:
        screen.flow("assumed: ", said.assumed)
    screen.blank()
    kinds(answer, screen)
    screen.blank()
    contexts(answer, screen)
    if quiet:
        return
    screen.blank()
    per_rank(answer, screen)
    fits(answer, screen)
    decode_step(answer, bandwidth, screen)
    other_types(answer, screen)
    notes(answer.main, screen)
    hint(said.tries, screen)


def title(answer: Answer, screen: Screen) -> None:
    """Which model, and the facts that decide."""
    layout, budget = answer.subject.layout, answer.main
    k, v = budget.k_dtype, budget.v_dtype
    facts = [f"{layout.n_layers:,} layers"]
    if layout.n_heads:
        facts.append(f"{layout.n_heads:,} query heads")
    facts.append(f"cache {k}" if k == v else f"cache K {k}, V {v}")
    if layout.max_positions:
        facts.append(f"up to {layout.max_positions:,} tokens")
    dot = "· "
    words = [answer.subject.name, *(dot + fact for fact in [sharing(layout), *facts])]
    screen.flow("", words, style="bold", gap=1, indent=2)
    if answer.subject.source:
        screen.say(f"source: {answer.subject.source}", style="dim", indent=2)


def kinds(answer: Answer, screen: Screen) -> None:
    """A line for each kind of layer: how many, what one holds, growth, constant, bytes at the main context."""
    budget = answer.main
    lines = [line for line in budget.lines if line.bytes or line.bytes_per_token or line.kind == "none"]
    rows = [
        [
            f"{line.count:,}",
            name(line.part),
            shape(line.part),
            dashed(line.bytes_per_token),
            dashed(line.bytes_constant),
            dashed(line.bytes),
        ]
        for line in lines
    ]
    sums = (budget.bytes_per_token, budget.bytes_per_sequence_constant, budget.bytes_total)
    total = [f"{answer.subject.layout.n_layers:,}", "total", "", *map(dashed, sums)]
    headers = ["layers", "kind", "a layer holds", "per token", "constant", at(answer)]
    table = [*rows, total] if len(rows) > 1 else rows
    if screen.table(headers, table, left=(1, 2), sections=(len(rows) - 1,)):
        return
    brief = [[row[0], row[1], *row[3:]] for row in table]
    if screen.table([headers[0], headers[1], *headers[3:]], brief, left=(1,), sections=(len(rows) - 1,)):
        for row in rows:
            screen.flow(f"{row[1]}: ", [row[2]])
        return
    for row in table:
        screen.say(f"{row[0]} × {row[1]}" if row[2] else "total", style="bold")
        for head, value in zip(headers[2:], row[2:], strict=True):
            if value and value != "–":
                screen.flow(f"{head:>13}  ", [value])


def at(answer: Answer) -> str:
    """The head of the column of bytes: `at 8,192`, `64 × 8,192`."""
    batch, text = answer.settings.batch, context(answer.settings.main, answer.settings.batch)
    return f"at {text}" if batch == 1 else text


def dashed(n_bytes: int) -> str:
    """A size, or a dash for nothing."""
    return format_bytes(n_bytes) if n_bytes else "–"


def contexts(answer: Answer, screen: Screen) -> None:
    """The total at each context; beside it what the layers need, where the engine takes another amount."""
    budgets = answer.budgets
    if len(budgets) == 1:
        return
    batch = answer.settings.batch
    differs = any(budget.bytes_total != budget.logical_bytes for budget in budgets)
    ranks = answer.settings.n_ranks > 1
    headers = ["context" if batch == 1 else f"{batch:,} × context", "bytes"]
    headers += ["logical"] if differs else []
    headers += ["per rank"] if ranks else []
    rows = [row(budget, differs, ranks) for budget in budgets]
    if screen.table(headers, rows):
        return
    for cells in rows:
        screen.flow(f"{cells[0]:>9}  ", [f"{head} {cell}" for head, cell in zip(headers[1:], cells[1:], strict=True)])


def row(budget: Budget, differs: bool, ranks: bool) -> list[str]:
    """One context's line."""
    cells = [f"{budget.request.tokens:,}", format_bytes(budget.bytes_total)]
    cells += [format_bytes(budget.logical_bytes)] if differs else []
    cells += [format_bytes(budget.per_rank.bytes)] if ranks else []
    return cells
