"""`glass kv-budget --gpu …`: does it fit, how much more would, or which devices would do? Ask the library, show."""

from dataclasses import replace

from glasscli.budget.answers import answer
from glasscli.budget.device_answer import DeviceAnswer, on_devices, smallest_devices
from glasscli.budget.questions import Settings
from glasscli.budget.sizer import Sizer
from glasscli.budget.subjects import Subject, from_config
from glasscli.budget.weigh import weigher_of
from glasscli.cli import console
from glasscli.cli.commands.kv_budget import fit_asked, fit_data, values
from glasscli.cli.commands.kv_budget.fit_screen import device_screen, plan_screen
from glasscli.cli.commands.kv_budget.options import Options
from glasscli.cli.commands.kv_budget.subject import STDIN, subject_of
from glasscli.cli.console import note
from glasscli.cli.page.page import Page
from glasscli.errors import ConfigError
from glasscli.units import format_bytes

DEFAULT_TOKENS = 8192  # where neither the asker nor the model says how long
Asking = tuple[Settings, Subject]  # a plan, and the model as the plan's engine holds it


def run_devices(options: Options, settings: Settings, subject: Subject) -> int:
    """Answer a question about one model and devices; the exit code."""
    named = options.config or options.model or ""
    settings, subject = with_rules(options, at_length(options, settings, [subject]), subject, named)
    if options.sweep:
        from glasscli.cli.commands.kv_budget.fit_sweep import run_sweep

        return run_sweep(options, [(settings, subject)])
    if options.emit is not None:
        from glasscli.cli.commands.kv_budget.fit_emit import run_emit

        return run_emit(options, settings, subject)
    if options.gpu is None and options.available is None:
        return show_plan(options, settings, subject, plan_of(options, settings, subject))
    found = found_of(options, settings, subject)
    show_fit(options, found)
    return verdict(options, found)


def with_rules(options: Options, settings: Settings, subject: Subject, named: str) -> Asking:
    """The plan and the model under an engine that has a rule for it.

    Where nobody named an engine and the usual one has none, the cache is what mathematics needs, and a note says so.
    """
    if options.engine is not None or options.emit is not None:
        return settings, subject
    try:
        Sizer(settings.request(subject))
    except ConfigError as error:
        if error.field != "engine":
            return settings, subject  # refused in its place
        if not options.quiet:
            note(f"{error}. Its cache is counted as mathematics needs it.")
    else:
        return settings, subject
    piped = named == STDIN  # what can be read once
    bare = from_config(subject.config, name=subject.name) if piped else subject_of(named, options, "logical")
    return replace(settings, engine="logical", options={}), bare


def at_length(options: Options, settings: Settings, subjects: list[Subject]) -> Settings:
    """`settings` at the context asked for, else at the longest that all of the models were made for."""
    if options.tokens:
        return settings
    made_for = [subject.logical.max_positions for subject in subjects if subject.logical.max_positions is not None]
    return replace(settings, tokens=(min(made_for, default=DEFAULT_TOKENS),))


def found_of(options: Options, settings: Settings, subject: Subject) -> DeviceAnswer:
    """What fits on the devices that were named."""
    asked = fit_asked.asked_of(options)
    spread = fit_asked.spread(options, settings, asked)
    return on_devices(subject, spread, asked, weigher_of(subject, settings.draft))


def plan_of(options: Options, settings: Settings, subject: Subject) -> tuple[DeviceAnswer, ...]:
    """Which devices would do, the smallest first."""
    asked = fit_asked.asked_of(options)
    return smallest_devices(subject, settings, asked, weigher_of(subject, settings.draft))


def document_of(options: Options, found: DeviceAnswer) -> dict[str, object]:
    """One model on one kind of device, for machines."""
    bandwidth = values.bandwidth(options) if options.bandwidth else fit_data.bandwidth_of(found)
    answered = answer(found.subject, found.settings)
    return fit_data.document(found, answered, bandwidth or values.bandwidth(options))


def show_fit(options: Options, found: DeviceAnswer) -> None:
    """One kind of device."""
    if options.as_json:
        console.write_json(document_of(options, found))
    elif options.as_csv:
        fit_data.show_csv([found])
    else:
        page = Page.of_stdout(options.color)
        page.show(device_screen(page, found, fit_asked.assumed(options, found.settings, found), options.quiet))


def show_plan(options: Options, settings: Settings, subject: Subject, found: tuple[DeviceAnswer, ...]) -> int:
    """All kinds of devices, the smallest first; 1 where none will do."""
    if options.as_json:
        console.write_json(fit_data.plan_document(subject, settings, found))
    elif options.as_csv:
        fit_data.show_csv(found)
    else:
        page = Page.of_stdout(options.color)
        page.show(
            plan_screen(page, subject, settings, found, fit_asked.assumed(options, settings, None), options.quiet)
        )
    return 1 if options.require_fit and not found else 0


def verdict(options: Options, found: DeviceAnswer) -> int:
    """1 if `--require-fit` was asked for and it is not sure that it fits, with a word on stderr; else 0."""
    if not options.require_fit or found.main.fits:
        return 0
    need, least, most = found.main.least.fit.bytes, found.main.least.pool, found.main.most.pool
    there = format_bytes(least) if least == most else f"{format_bytes(least)} to {format_bytes(most)}"
    word = "may not fit" if found.main.fits is None else "does not fit"
    why = f"{format_bytes(need)} of cache needed on a device, {there} left for it"
    if found.main.weight_bytes > found.main.allowed:
        why = f"its weights take {format_bytes(found.main.weight_bytes)} of {format_bytes(found.main.allowed)} a device"
    note(f"{found.subject.name} {word}: {why}")
    return 1
