"""`--compare A,B --gpu …`: which of several models fits and how many sequences of it, a row each."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from glasscli.budget.device_answer import DeviceAnswer
from glasscli.budget.engines import ENGINES
from glasscli.budget.questions import Settings
from glasscli.budget.sizer import Sizer
from glasscli.budget.subjects import Subject
from glasscli.cli import console
from glasscli.cli.commands.kv_budget import fit_asked, fit_data
from glasscli.cli.commands.kv_budget.data import SCHEMA
from glasscli.cli.commands.kv_budget.fit_run import (
    Asking,
    at_length,
    document_of,
    found_of,
    plan_of,
    verdict,
    with_rules,
)
from glasscli.cli.commands.kv_budget.fit_screen import (
    between,
    cache_tokens,
    concurrency,
    counted,
    gib,
    ranks,
)
from glasscli.cli.commands.kv_budget.options import Options
from glasscli.cli.commands.kv_budget.remarks import hint
from glasscli.cli.console import note
from glasscli.cli.page.page import Line, Page, spaced
from glasscli.errors import ConfigError
from glasscli.units import format_bytes

SHORT = {True: "yes", False: "no", None: "may"}
Answered = TypeVar("Answered")


def run_compared(options: Options, settings: Settings, subjects: Sequence[tuple[str, Subject]]) -> int:
    """Answer a question about several models and devices; the exit code."""
    settings = at_length(options, settings, [subject for _, subject in subjects])
    asking = [with_rules(options, settings, subject, name) for name, subject in subjects]
    if options.sweep:
        from glasscli.cli.commands.kv_budget.fit_sweep import run_sweep

        return run_sweep(options, asking)
    if options.gpu is None and options.available is None:
        return show_plans(options, asking)
    found = [named(found_of, options, *one) for one in asking]
    if options.as_json:
        console.write_json({"schema": SCHEMA, "models": [document_of(options, one) for one in found]})
    elif options.as_csv:
        fit_data.show_csv(found)
    else:
        page = Page.of_stdout(options.color)
        page.show(fits_screen(page, options, found))
    return max(verdict(options, one) for one in found)


def show_plans(options: Options, asking: Sequence[Asking]) -> int:
    """The smallest devices for each model; 1 where one of them has none and `--require-fit` was asked for."""
    plans = [named(plan_of, options, *one) for one in asking]
    if options.as_json:
        models = [
            fit_data.plan_document(subject, settings, plan)
            for (settings, subject), plan in zip(asking, plans, strict=True)
        ]
        console.write_json({"schema": SCHEMA, "models": models})
    elif options.as_csv:
        fit_data.show_csv([one for plan in plans for one in plan])
    else:
        page = Page.of_stdout(options.color)
        page.show(plans_screen(page, options, asking, plans))
    without = [subject.name for (_, subject), plan in zip(asking, plans, strict=True) if not plan]
    if not options.require_fit or not without:
        return 0
    note(f"{' and '.join(without)}: none of the devices listed holds it")
    return 1


def named(ask: Callable[[Options, Settings, Subject], Answered], options: Options, *one: Any) -> Answered:
    """What `ask` finds of one model; a refusal says which model it is about."""
    settings, subject = one
    try:
        return ask(options, settings, subject)
    except ConfigError as error:
        if str(error).startswith(subject.name):
            raise
        raise ConfigError(f"{subject.name}: {error}", error.field) from None


def fits_screen(page: Page, options: Options, found: Sequence[DeviceAnswer]) -> list[Line]:
    """The devices, then a row for each model."""
    first = found[0]
    fit, settings = first.main, first.settings
    where = f"{fit.n_devices:,} × {fit.device.name}" if fit.device else f"{gib(fit.allowed)} for the cache"
    split = [f"· {name} {count:,}" for name, count in ranks(settings)]
    words = [where, f"· {settings.batch:,} × {settings.main:,} tokens", f"· {engine_of(first)}", *split]
    title = page.flow("", words, style="bold", gap=1, indent=2)
    said = fit_asked.assumed(options, settings, first)
    if said.assumed and not options.quiet:
        title += page.flow("assumed: ", said.assumed)
    headers = ["model", "weights", "cache pool", "fits"]
    room = ["model", "cache tokens", "concurrency", f"sequences of {settings.main:,}"]
    sizes = [size_cells(one, first) for one in found]
    counts = [room_cells(one, first) for one in found]
    if not any(one.main.least.capacity for one in found):
        room, counts = [room[0], room[-1]], [[row[0], row[-1]] for row in counts]
    if fit.device is None:
        headers, sizes = [headers[0], headers[-1]], [[row[0], row[-1]] for row in sizes]
    both = [[*size, *count[1:]] for size, count in zip(sizes, counts, strict=True)]
    table = page.table([*headers, *room[1:]], both, left=(0,))
    if not table:
        apart = page.table(headers, sizes, left=(0,)), page.table(room, counts, left=(0,))
        table = spaced(*apart) if all(apart) else stacked(page, [*headers, *room[1:]], both)
    return spaced(title, table, [] if options.quiet else hint(page, said.tries))


def engine_of(found: DeviceAnswer) -> str:
    """Whose rules a row is by."""
    if found.settings.engine == "logical":
        return "as mathematics needs it"
    edition = Sizer(found.settings.request(found.subject)).engine.edition
    return f"{ENGINES[found.settings.engine].title} {edition}".rstrip()


def label(found: DeviceAnswer, first: DeviceAnswer) -> str:
    """The model, and whose rules its row is by where they are not those of the first."""
    differs = found.settings.engine != first.settings.engine
    return f"{found.subject.name} ({engine_of(found)})" if differs else found.subject.name


def size_cells(found: DeviceAnswer, first: DeviceAnswer) -> list[str]:
    """A model's weights on one device, what they leave for the cache, and whether the sequences fit there."""
    fit = found.main
    weights = gib(fit.weight_bytes) if fit.load is not None else "not known"
    return [label(found, first), weights, between(fit, lambda room: gib(room.pool)), SHORT[fit.fits]]


def room_cells(found: DeviceAnswer, first: DeviceAnswer) -> list[str]:
    """What is left holds so many tokens and sequences; the first two in a paged engine's own words."""
    fit, tokens = found.main, found.settings.main
    own = ["–", "–"]
    if fit.least.capacity is not None:
        own = [between(fit, lambda room: cache_tokens(room, tokens)), between(fit, concurrency)]
    return [label(found, first), *own, between(fit, lambda room: counted(room.fit.max_batch))]


def plans_screen(
    page: Page, options: Options, asking: Sequence[Asking], plans: Sequence[tuple[DeviceAnswer, ...]]
) -> list[Line]:
    """What is asked, then for each model its smallest devices."""
    settings = asking[0][0]
    words = [f"{settings.batch:,} × {settings.main:,} tokens", f"· {ENGINES[settings.engine].title}"]
    title = page.flow("", words, style="bold", gap=1, indent=2)
    said = fit_asked.assumed(options, settings, None)
    if said.assumed and not options.quiet:
        title += page.flow("assumed: ", said.assumed)
    headers = ["model", "smallest devices", "memory", "weights each", "sequences, at least"]
    rows = [plan_cells(subject, plan) for (_, subject), plan in zip(asking, plans, strict=True)]
    table = page.table(headers, rows, left=(0, 1)) or stacked(page, headers, rows)
    return spaced(title, table, [] if options.quiet else hint(page, said.tries))


def plan_cells(subject: Subject, plan: tuple[DeviceAnswer, ...]) -> list[str]:
    """One model's row."""
    if not plan or plan[0].main.device is None:
        return [subject.name, "none of those listed", "–", "–", "–"]
    fit = plan[0].main
    assert fit.device is not None
    memory = format_bytes(fit.n_devices * fit.device.total)
    count = counted(fit.least.fit.max_batch)
    return [subject.name, f"{fit.n_devices} × {fit.device.name}", memory, format_bytes(fit.weight_bytes), count]


def stacked(page: Page, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Line]:
    """Rows as blocks of lines, for a narrow terminal."""
    widest = max(len(head) for head in headers[1:])
    blocks = []
    for row in rows:
        lines = page.say(row[0], style="bold")
        for head, cell in zip(headers[1:], row[1:], strict=True):
            lines += page.flow(f"  {head:<{widest}}  ", [cell])
        blocks.append(lines)
    return spaced(*blocks)
