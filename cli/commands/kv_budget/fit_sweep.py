"""`--sweep --gpu …`: how many sequences fit at each length, as a plot and a table, a picture or data."""

from collections.abc import Sequence
from dataclasses import replace

from glasscli.budget.device_answer import DeviceAnswer
from glasscli.budget.device_sweep import room_curve
from glasscli.budget.sweep import spaced
from glasscli.budget.sweep_axes import SEQUENCES, round_numbers
from glasscli.cli import console
from glasscli.cli.commands.kv_budget import fit_data, parse
from glasscli.cli.commands.kv_budget.data import SCHEMA
from glasscli.cli.commands.kv_budget.fit_run import Asking, found_of
from glasscli.cli.commands.kv_budget.fit_screen import between, concurrency, counted, title_of
from glasscli.cli.commands.kv_budget.options import Axis, Options
from glasscli.cli.commands.kv_budget.sweep_screen import MOST, n_columns, sweep_screen
from glasscli.cli.console import note
from glasscli.cli.page.page import Line, Page
from glasscli.cli.page.page import spaced as apart
from glasscli.errors import UsageError
from glasscli.export.curves import write_curves
from glasscli.units import format_bytes

POINTS = 33  # of a sweep that is not drawn on a terminal


def run_sweep(options: Options, asking: Sequence[Asking]) -> int:
    """Sequences over context on the devices that were named."""
    if len(asking) > MOST:
        raise UsageError(f"--sweep: at most {MOST} models in one plot, found {len(asking)}")
    page, log = Page.of_stdout(options.color), options.axis is Axis.log
    first, last = parse.span(options, asking[0][0], [subject for _, subject in asking])
    drawn = not (options.as_json or options.as_csv or options.output)
    lengths = spaced(first, last, n_columns(page) if drawn else POINTS, log)
    found = [found_of(options, replace(settings, tokens=lengths), subject) for settings, subject in asking]
    asked = None if options.users is None and options.batch is None else found[0].settings.batch
    if options.as_json:
        sweep = [fit_data.sweep_document(one) for one in found]
        settings = found[0].settings
        console.write_json({"schema": SCHEMA, "engine": settings.engine, "batch": settings.batch, "sweep": sweep})
    elif options.as_csv:
        fit_data.show_csv(found)
    elif options.output is not None:
        size = write_curves([room_curve(one) for one in found], options.output, log, asked, SEQUENCES)
        if not options.quiet:
            note(f"{options.output} written, {format_bytes(size)}")
    else:
        titles = [line for one in found for line in page.flow("", title_of(one), style="bold", gap=1, indent=2)]
        titles += page.say(SEQUENCES.title, style="dim", indent=2)
        plot = sweep_screen(page, [room_curve(one) for one in found], log, asked, SEQUENCES)
        sizes = tuple(dict.fromkeys((*round_numbers(first, last, True), last)))
        at = [found_of(options, replace(settings, tokens=sizes), subject) for settings, subject in asking]
        page.show(apart(titles, plot, rounds(page, at)))
    return 0


def rounds(page: Page, found: Sequence[DeviceAnswer]) -> list[Line]:
    """A table at round lengths: sequences of each model; of one model also what a paged engine calls concurrency."""
    first, paged = found[0], found[0].main.least.capacity is not None
    headers = ["context", *(one.subject.name for one in found)]
    if len(found) == 1:
        headers = ["context", "sequences", *(["concurrency"] if paged else [])]
    rows = []
    for index, tokens in enumerate(first.settings.tokens):
        cells = [between(one.fits[index], lambda room: counted(room.fit.max_batch)) for one in found]
        if len(found) == 1 and paged:
            cells.append(between(first.fits[index], concurrency))
        rows.append([f"{tokens:,}", *cells])
    return page.table(headers, rows) or [
        line
        for row in rows
        for line in page.flow(
            f"{row[0]:>9}  ", [f"{name} {cell}" for name, cell in zip(headers[1:], row[1:], strict=True)]
        )
    ]
