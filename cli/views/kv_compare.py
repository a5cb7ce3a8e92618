"""Models side by side: a row each, a column for each context; and the list of names."""

from collections.abc import Sequence

from glasscli.budget.answers import Answer
from glasscli.budget.describe import sharing
from glasscli.budget.model_facts import Model
from glasscli.budget.sizes import format_bytes
from glasscli.cli.views.kv_remarks import count
from glasscli.cli.views.kv_screen import Screen


def show(answers: Sequence[Answer], assumed: tuple[str, ...], screen: Screen, quiet: bool = False) -> None:
    """The whole page, models in the order they were named."""
    settings = answers[0].settings
    if assumed and not quiet:
        screen.flow("assumed: ", assumed)
        screen.blank()
    headers = ["model", "sharing", "cache", "per token", *(f"{n:,}" for n in settings.tokens)]
    rows = [row(answer) for answer in answers]
    fitted = [answer.fit for answer in answers if answer.fit is not None]
    if fitted:
        headers += ["max tokens", "max batch"]
        rows = [[*cells, count(fit.max_tokens), count(fit.max_batch)] for cells, fit in zip(rows, fitted, strict=True)]
    if settings.batch > 1:
        headers[4:] = [f"{settings.batch:,} × {head}" if head[:1].isdigit() else head for head in headers[4:]]
    if not screen.table(headers, rows, left=(0, 1, 2)):
        stacked(headers, rows, screen)
    if any("*" in cell for cells in rows for cell in cells):
        screen.blank()
        screen.say("* longer than the model was made for", style="dim")
    for answer in () if quiet else answers:
        for text in answer.main.notes:
            screen.flow(f"{answer.subject.name}: ", [text])


def row(answer: Answer) -> list[str]:
    """One model's cells."""
    layout, budget = answer.subject.layout, answer.main
    k, v = budget.k_dtype, budget.v_dtype
    most = layout.max_positions
    sizes = [
        format_bytes(held.bytes_total) + ("*" if most is not None and held.request.tokens > most else "")
        for held in answer.budgets
    ]
    per_token = format_bytes(budget.bytes_per_token) if budget.bytes_per_token else "–"
    return [answer.subject.name, sharing(layout), k if k == v else f"{k}/{v}", per_token, *sizes]


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
