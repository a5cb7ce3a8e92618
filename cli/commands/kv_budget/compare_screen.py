"""Models side by side: a row each, a column for each context; and the list of names."""

from collections.abc import Sequence

from glasscli.budget.answers import Answer
from glasscli.budget.describe import sharing
from glasscli.budget.model_facts import Model
from glasscli.cli.commands.kv_budget.remarks import Said, context, count, hint
from glasscli.cli.page.screen import Screen
from glasscli.units import format_bytes


def show(answers: Sequence[Answer], said: Said, screen: Screen, quiet: bool = False) -> None:
    """The whole page, models in the order they were named."""
    if said.assumed and not quiet:
        screen.flow("assumed: ", said.assumed)
        screen.blank()
    settings = answers[0].settings
    headers = ["model", "sharing", "cache", "per token", *(context(n, settings.batch) for n in settings.tokens)]
    rows = [row(answer) for answer in answers]
    room_headers = ["model", "max tokens", f"max batch at {settings.main:,}"]
    rooms = [
        [answer.subject.name, count(answer.fit.max_tokens), count(answer.fit.max_batch)]
        for answer in answers
        if answer.fit is not None
    ]
    both = [[*cells, *room[1:]] for cells, room in zip(rows, rooms, strict=False)]
    if not (rooms and screen.table([*headers, *room_headers[1:]], both, left=(0, 1, 2))):
        sizes(headers, rows, screen)
        if rooms:
            screen.blank()
            sizes(room_headers, rooms, screen)
    if any("*" in cell for cells in rows for cell in cells):
        screen.blank()
        screen.say("* longer than the model was made for", style="dim")
    for answer in () if quiet else answers:
        for text in answer.main.notes:
            screen.flow(f"{answer.subject.name}: ", [text])
    if not quiet:
        hint(said.tries, screen)


def row(answer: Answer) -> list[str]:
    """One model's cells."""
    layout, budget = answer.subject.layout, answer.main
    k, v = budget.k_dtype, budget.v_dtype
    most = layout.max_positions
    sizes = [
        format_bytes(held.bytes_total) + ("*" if most is not None and held.request.tokens > most else " ")
        for held in answer.budgets
    ]
    per_token = format_bytes(budget.bytes_per_token) if budget.bytes_per_token else "–"
    return [answer.subject.name, sharing(layout), k if k == v else f"{k}/{v}", per_token, *sizes]


def sizes(headers: Sequence[str], rows: Sequence[Sequence[str]], screen: Screen) -> None:
    """A table, without the columns between name and sizes if it gets narrow, stacked if that is too wide too."""
    if screen.table(headers, rows, left=(0, 1, 2) if len(headers) > 3 else (0,)):
        return
    if len(headers) > 4 and screen.table([headers[0], *headers[4:]], [[cells[0], *cells[4:]] for cells in rows], (0,)):
        for cells in rows:
            screen.flow(f"{cells[0]}: ", cells[1:4])
        return
    stacked(headers, rows, screen)


def stacked(headers: Sequence[str], rows: Sequence[Sequence[str]], screen: Screen) -> None:
    """A block of lines for each row, for a narrow terminal."""
    widest = min(12, max(len(head) for head in headers[1:]))
    for cells in rows:
        screen.blank()
        screen.say(cells[0], style="bold")
        for head, cell in zip(headers[1:], cells[1:], strict=True):
            screen.flow(f"  {head:>{widest}}  ", [cell])


def show_list(models: Sequence[Model], sizes: Sequence[int | None], as_of: str, screen: Screen) -> None:
    """Every model with a name: how its heads share, bytes of one sequence of 8,192 tokens, date and source."""
    screen.say(f"{len(models)} models, as of {as_of}; use a name with --model or --compare", style="bold", indent=2)
    screen.blank()
    headers = ["name", "sharing", "at 8,192", "date", "source"]
    rows = [
        [model.name, model.kind, "?" if size is None else format_bytes(size), model.date, model.source]
        for model, size in zip(models, sizes, strict=True)
    ]
    if screen.table(headers, rows, left=(0, 1, 3, 4)):
        return
    if screen.table(headers[:3], [cells[:3] for cells in rows], left=(0, 1)):
        return
    for cells in rows:
        screen.flow(f"{cells[0]}  ", cells[1:3], indent=2)
