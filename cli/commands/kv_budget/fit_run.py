"""`glass kv-budget --gpu …`: does it fit, how much more would, or which devices would do? Ask the library, show."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from glasscli.budget.answers import answer
from glasscli.budget.device_answer import DeviceAnswer, Weigh, on_devices, smallest_devices
from glasscli.budget.device_fit import Load, load_of, load_of_files
from glasscli.budget.questions import Settings
from glasscli.budget.request import Request
from glasscli.budget.subjects import Subject, from_config
from glasscli.budget.weights.files import Files, files_at
from glasscli.budget.weights.rope_cache import rope_cache_bytes
from glasscli.budget.weights.stored import Stored, stored
from glasscli.cli import console
from glasscli.cli.commands.kv_budget import fit_asked, fit_data, parse
from glasscli.cli.commands.kv_budget.fit_screen import device_screen, plan_screen
from glasscli.cli.commands.kv_budget.options import Options
from glasscli.cli.commands.kv_budget.subject import STDIN, subject_of
from glasscli.cli.console import note
from glasscli.cli.page.page import Page
from glasscli.errors import ConfigError
from glasscli.units import format_bytes

HEADS = re.compile(r"eagle|medusa|dflash|mtp", re.IGNORECASE)
DEFAULT_TOKENS = 8192  # where neither the asker nor the model says how long


def run_devices(options: Options, settings: Settings, subject: Subject) -> int:
    """Answer a question about devices; the exit code.

    Where nobody named an engine and the usual one has no rule for the model, the cache is what the mathematics needs.
    """
    try:
        return answer_of(options, settings, subject)
    except ConfigError as error:
        if options.engine is not None or error.field != "engine":
            raise
        if not options.quiet:
            note(f"{error}. Its cache is counted as mathematics needs it.")
    name = options.config or options.model or ""
    piped = name == STDIN  # what can be read once
    bare = from_config(subject.config, name=subject.name) if piped else subject_of(name, options, "logical")
    return answer_of(options, replace(settings, engine="logical", options={}), bare)


def answer_of(options: Options, settings: Settings, subject: Subject) -> int:
    """Answer a question about devices under the engine of `settings`; the exit code."""
    asked = fit_asked.asked_of(options)
    if not options.tokens:
        settings = replace(settings, tokens=(subject.logical.max_positions or DEFAULT_TOKENS,))
    weigher: Weigh = Weigher(subject)
    if settings.draft is not None:
        weigher = with_draft(weigher, Weigher(settings.draft))
    if asked.device is None and asked.available is None:
        found = smallest_devices(subject, settings, asked, weigher)
        return show_plan(options, settings, subject, found)
    settings = fit_asked.spread(options, settings, asked)
    found_here = on_devices(subject, settings, asked, weigher)
    show_fit(options, found_here)
    return verdict(options, found_here)


def with_draft(model: Weigh, draft: Weigh) -> Weigh:
    """What a model takes, and on the last stage the model that drafts for it."""

    def weigh(request: Request) -> Load:
        assert request.draft is not None
        load, more = model(request), draft(replace(request, layout=request.draft, pp=1, pp_layers=None, draft=None))
        weights = (*load.weights[:-1], load.weights[-1] + more.weights[0])
        source = f"{load.source}; with the drafting model's"
        return Load(weights, (load.rope or 0) + (more.rope or 0) or None, source, load.sees or more.sees)

    return weigh


def is_head(config: Mapping[str, Any]) -> bool:
    """Whether a config describes a head that drafts from a model's own activations, not a model of its own."""
    named = config.get("architectures")
    names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    return any(HEADS.search(name) for name in (*names, str(config.get("model_type", ""))))


class Weigher:
    """What a subject's weights take under a plan; counted once."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    @cached_property
    def model(self) -> Stored:
        """The weights, counted from the config."""
        if is_head(self.subject.config):
            raise ConfigError(
                f"{self.subject.name}: a head's weights are known from its files only; give its folder", "draft"
            )
        if not self.subject.config:
            name = self.subject.name
            raise ConfigError(
                f"{name}: its cache is known here, its weights are not; its config.json would tell", "model"
            )
        return stored(self.subject.config)

    @cached_property
    def files(self) -> Files | None:
        """The files with the weights, where the model is given as a folder or a GGUF."""
        path = Path(self.subject.source)
        where = path.parent if path.name == "config.json" else path
        if not self.subject.source or not where.exists():  # a citation, standard input
            return None
        return files_at(where, self.subject.config, self.subject.logical.n_layers)

    def __call__(self, request: Request) -> Load:
        rope = rope_cache_bytes(self.subject.config, self.subject.logical.dtype)
        if self.files is None:
            return load_of(self.model, rope, request)
        try:
            model = None if self.files.gguf else self.model
        except ConfigError:
            model = None
        return load_of_files(self.files, model, rope, request)


def show_fit(options: Options, found: DeviceAnswer) -> None:
    """One kind of device."""
    if options.as_json:
        bandwidth = parse.bandwidth(options) if options.bandwidth else fit_data.bandwidth_of(found)
        answered = answer(found.subject, found.settings)
        console.write_json(fit_data.document(found, answered, bandwidth or parse.bandwidth(options)))
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
    note(f"{found.subject.name} {word}: {format_bytes(need)} of cache needed on a device, {there} left for it")
    return 1
