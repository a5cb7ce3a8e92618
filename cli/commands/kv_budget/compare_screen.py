"""Models side by side: a row each, a column for each context; and the list of names."""

from collections.abc import Sequence

from glasscli.budget.answers import Answer
from glasscli.budget.describe import heads, share, sharing
from glasscli.budget.model_facts import Model
from glasscli.cli.commands.kv_budget.remarks import Said, context, count, hint
from glasscli.cli.page.page import Line, Page, spaced
from glasscli.units import format_bytes

FACTS = ("sharing", "heads", "ratio", "cache", "per token")
LONGER = "*"  # marks a size at a context that the model was not made for


def compare_screen(page: Page, answers: Sequence[Answer], said: Said) -> list[Line]:
    """The whole page, models in the order they were named."""
    assumed = page.flow("assumed: ", said.assumed) if said.assumed else []
    rows = [_row(answer) for answer in answers]
    starred = any(LONGER in cell for row in rows for cell in row)
    longer = page.say("* longer than the model was made for", style="dim") if starred else []
    lines = spaced(*_tables(page, answers, rows), longer)
    return spaced(assumed, lines, [] if said.quiet else _remarks(page, answers, said), hint(page, said.tries))


def _remarks(page: Page, answers: Sequence[Answer], said: Said) -> list[Line]:
    """What must be known of each model, or all there is to say; a star says which contexts are too long."""
    lines: list[Line] = []
    for answer in answers:
        budget = answer.main
        for text in budget.notes if said.verbose else budget.warnings[budget.beyond :]:
            lines += page.flow(f"{answer.subject.name}: ", [text])
    return lines


def _tables(page: Page, answers: Sequence[Answer], rows: Sequence[Sequence[str]]) -> list[list[Line]]:
    """The sizes, and what fits into the budget if there is one: one table where the width allows, else two."""
    settings = answers[0].settings
    headers = [
        "model",
        "sharing",
        "heads",
        "ratio",
        "cache",
        "per token",
        *(context(n, settings.batch) for n in settings.tokens),
    ]
    room_headers = ["model", "max tokens", f"max batch at {settings.main:,}"]
    rooms = [
        [answer.subject.name, count(answer.fit.max_tokens), count(answer.fit.max_batch)]
        for answer in answers
        if answer.fit is not None
    ]
    both = [[*cells, *room[1:]] for cells, room in zip(rows, rooms, strict=False)]
    if rooms and (table := page.table([*headers, *room_headers[1:]], both, left=(0, 1, 4))):
        return [table]
    return [_sizes(page, headers, rows), _sizes(page, room_headers, rooms) if rooms else []]


def _row(answer: Answer) -> list[str]:
    """One model's cells."""
    layout, budget = answer.subject.layout, answer.main
    k, v = budget.k_dtype, budget.v_dtype
    most = layout.max_positions
    sizes = []
    for held in answer.budgets:
        size = format_bytes(held.bytes_total)
        sizes.append(f"{size}{LONGER}" if most is not None and held.request.tokens > most else f" {size}")
    per_token = format_bytes(budget.bytes_per_token) if budget.bytes_per_token else "–"
    own = [sharing(layout), heads(layout), share(layout), k if k == v else f"{k}/{v}", per_token]
    return [answer.subject.name, *own, *sizes]


def _sizes(page: Page, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Line]:
    """A table; two where it gets narrow, sizes and facts; blocks of lines where those are too wide, too."""
    if table := page.table(headers, rows, left=(0, 1, 4) if len(headers) > 3 else (0,)):
        return table
    if len(headers) > 6:
        sizes = page.table([headers[0], *headers[6:]], [[cells[0], *cells[6:]] for cells in rows], left=(0,))
        if sizes and (facts := page.table(headers[:6], [cells[:6] for cells in rows], left=(0, 1, 4))):
            return spaced(sizes, facts)
    return spaced(*(_stacked(page, headers, cells) for cells in rows))


def _stacked(page: Page, headers: Sequence[str], row: Sequence[str]) -> list[Line]:
    """A row as a block of lines, for a narrow terminal."""
    widest = min(12, max(len(head) for head in headers[1:]))
    lines = page.say(row[0], style="bold")
    for head, cell in zip(headers[1:], row[1:], strict=True):
        lines += page.flow(f"  {head:>{widest}}  ", [cell.strip()])
    return lines


def list_screen(page: Page, models: Sequence[Model], sizes: Sequence[int | None], as_of: str) -> list[Line]:
    """Every model with a name: how its heads share, bytes of one sequence of 8,192 tokens, date and source."""
    title = page.say(f"{len(models)} models, as of {as_of}; use a name with --model or --compare", "bold", indent=2)
    headers = ["name", "sharing", "at 8,192", "date", "source"]
    rows = [
        [model.name, model.kind, "?" if size is None else format_bytes(size), model.date, model.source]
        for model, size in zip(models, sizes, strict=True)
    ]
    table = page.table(headers, rows, left=(0, 1, 3, 4))
    table = table or page.table(headers[:3], [cells[:3] for cells in rows], left=(0, 1))
    table = table or [line for cells in rows for line in page.flow(f"{cells[0]}  ", cells[1:3], indent=2)]
    return [*title, [], *table]
