"""`glass kv-budget`: how big is the KV cache? Parse, ask the library, show."""

import shlex
from dataclasses import replace

from glasscli.budget.answers import Answer, answer
from glasscli.budget.drafting import drafts_itself
from glasscli.budget.emit import command_line
from glasscli.budget.engines import servers
from glasscli.budget.model_facts import MODELS, Model
from glasscli.budget.models import AS_OF
from glasscli.budget.questions import Settings
from glasscli.budget.subjects import Heads, Subject, from_config, from_name
from glasscli.budget.sweep import curve, spaced
from glasscli.cli import console
from glasscli.cli.commands.kv_budget import data, fit_parse, parse, values
from glasscli.cli.commands.kv_budget.compare_screen import compare_screen, list_screen
from glasscli.cli.commands.kv_budget.heads_screen import HeadsShown, heads_screen
from glasscli.cli.commands.kv_budget.model_screen import model_screen
from glasscli.cli.commands.kv_budget.options import Axis, Options
from glasscli.cli.commands.kv_budget.remarks import needed_of
from glasscli.cli.commands.kv_budget.said import said_of_heads, said_of_model
from glasscli.cli.commands.kv_budget.subject import subject_of, with_environment
from glasscli.cli.commands.kv_budget.sweep_screen import MOST, n_columns, sweep_screen
from glasscli.cli.console import note
from glasscli.cli.page.page import Page
from glasscli.errors import ConfigError, GlassError, UsageError
from glasscli.export.curves import write_curves
from glasscli.units import format_bytes

EPILOG = """\
The settings of an engine (-s NAME=VALUE): glass help engines. The formats of a cache: glass help formats. The models
that have a name: glass help models. -v adds a decode step, other types and how the engine allocates; to --csv, rows
by kind of layer.

\b
Examples:
  glass kv-budget --hq 32 --hkv 8 --ctx 8k,128k
  glass kv-budget --config path/to/config.json --budget 24GiB --batch 4
  glass kv-budget --config model-Q4_K_M.gguf --ctx 32k
  glass kv-budget --model deepseek-v3 --engine vllm --tp 8 --batch 64
  glass kv-budget --model llama-3.1-8b --gpu rtx-4090 --ctx 16k --users 2
  glass kv-budget --model qwen3-32b --users 40 --ctx 32k
  glass kv-budget --compare qwen3-8b,gemma-3-12b --gpu l40s --ctx 32k
  glass kv-budget --compare llama-2-70b,gemma-3-27b --sweep -o sizes.svg
  glass kv-budget --model llama-3.1-8b --dtype q8_0 --emit llama.cpp"""


def run(options: Options) -> int:
    """Answer what was asked; with --json a refusal is a document too. The exit code."""
    try:
        return answer_to(options)
    except GlassError as error:
        if isinstance(error, ConfigError) and error.field in parse.SPLITS:  # the command line is at fault
            raise UsageError(str(error)) from None
        if not options.as_json or error.exit_code != 1:
            raise
        data.show_refusal(error)
        return 1


def answer_to(options: Options) -> int:
    """Answer what was asked; the exit code."""
    options = with_environment(options)
    parse.check(options)
    fit_parse.check(options)
    if options.list_models:
        return run_list(options)
    settings = parse.settings(fit_parse.with_engine(options))
    if options.draft is not None:
        settings = replace(settings, draft=subject_of(options.draft, options, settings.engine))
    if options.hq is not None:
        return run_heads(options, settings, parse.heads(options))
    if options.compare is not None:
        return run_compare(options, settings)
    name = options.config or options.model or ""
    subject = subject_of(name, options, settings.engine, file=options.config is not None)
    if fit_parse.asks_of_devices(options):
        from glasscli.cli.commands.kv_budget.fit_run import run_devices

        return run_devices(options, settings, subject)
    return run_model(options, parse.shortened(options, settings, subject), subject)


def run_model(options: Options, settings: Settings, subject: Subject) -> int:
    """One model: everything there is to say about its cache."""
    available, bandwidth = values.size("--budget", options.budget), values.bandwidth(options)
    if options.emit is not None:
        return run_emit(options, settings, subject, available)
    if options.sweep:
        return run_sweep(options, settings, [subject], available)
    answered = answer(subject, settings, available)
    if options.as_json:
        console.write_json(data.document(answered, bandwidth))
    elif options.as_csv:
        data.show_csv([answered], options.verbose)
    else:
        page = Page.of_stdout(options.color)
        page.show(model_screen(page, answered, bandwidth, said_of_model(options, settings)))
    return verdict(options, answered)


def run_heads(options: Options, settings: Settings, heads: Heads) -> int:
    """MHA, GQA and MQA from head counts."""
    available, bandwidth = values.size("--budget", options.budget), values.bandwidth(options)
    variants = heads.variants()
    if options.emit is not None:
        return run_emit(options, settings, heads.subject(), available)
    if options.sweep:
        return run_sweep(options, settings, [variant.subject() for variant in variants], available)
    answers = tuple(answer(variant.subject(), settings, available) for variant in variants)
    chosen = answers[variants.index(heads)]
    if options.as_json:
        console.write_json(data.heads_document(heads, variants, answers, bandwidth))
    elif options.as_csv:
        data.show_csv(answers, options.verbose)
    else:
        page = Page.of_stdout(options.color)
        shipped = Settings(tokens=(512,), k_dtype="f32", v_dtype="f32").budget(from_name("glass-1m"))
        shown = HeadsShown(heads, variants, answers, bandwidth, shipped, said_of_heads(options))
        page.show(heads_screen(page, shown))
    return verdict(options, chosen)


def run_compare(options: Options, settings: Settings) -> int:
    """Several models side by side."""
    names = parse.compared(options)
    subjects = [subject_of(name, options, settings.engine) for name in names]
    if fit_parse.asks_of_devices(options):
        from glasscli.cli.commands.kv_budget.fit_compare import run_compared

        return run_compared(options, settings, list(zip(names, subjects, strict=True)))
    available, bandwidth = values.size("--budget", options.budget), values.bandwidth(options)
    if options.sweep:
        return run_sweep(options, settings, subjects, available)
    answers = [answer(subject, settings, available) for subject in subjects]
    if options.as_json:
        models = [data.document(answered, bandwidth) for answered in answers]
        console.write_json({"schema": data.SCHEMA, "models": models})
    elif options.as_csv:
        data.show_csv(answers, options.verbose)
    else:
        page = Page.of_stdout(options.color)
        page.show(compare_screen(page, answers, said_of_model(options, settings)))
    return max(verdict(options, answered) for answered in answers)


def run_sweep(options: Options, settings: Settings, subjects: list[Subject], available: int | None) -> int:
    """Bytes over context, as a plot or as data."""
    if len(subjects) > MOST:
        raise UsageError(f"--sweep: at most {MOST} models in one plot, found {len(subjects)}")
    page = Page.of_stdout(options.color)
    log = options.axis is Axis.log
    first, last = parse.span(options, settings, subjects)
    drawn = not (options.as_json or options.as_csv or options.output)
    lengths = spaced(first, last, n_columns(page) if drawn else 65, log)
    curves = [curve(subject, settings, lengths) for subject in subjects]
    if options.as_json or options.as_csv:
        data.show_sweep(curves, settings, options.as_csv)
    elif options.output is not None:
        size = write_curves(curves, options.output, log, available)
        if not options.quiet:
            note(f"{options.output} written, {format_bytes(size)}")
    else:
        page.show(sweep_screen(page, curves, log, available))
    return 0


def run_emit(options: Options, settings: Settings, subject: Subject, available: int | None) -> int:
    """The plan as the engine's command line; on stderr, what it will need, and whether that is there.

    Of a budget the cache gets what the plan needs: the weights need their share of a device, too.
    """
    assert options.emit is not None
    settings = replace(settings, options=servers()[options.emit].told(settings))
    answered = answer(subject, settings, available)
    model = parse.loadable(options)
    usual = "" if subject.layout.kv_dtype_hint else subject.layout.dtype  # what an engine left to itself takes
    given = None if answered.fit is None else min(answered.fit.pool, answered.fit.budget_bytes)
    words = command_line(
        options.emit,
        settings,
        answered.main,
        usual,
        model,
        given,
        drafts_itself=drafts_itself(subject),
        drafter=parse.drafter(options, settings),
    )
    console.write(shlex.join(words))
    if not options.quiet:
        for text in answered.main.warnings:
            note(text)
        need = format_bytes(answered.main.per_rank.bytes)
        note(f"{need} of cache on a rank for {settings.batch:,} × {settings.main:,} tokens ({settings.engine})")
    if answered.fit is not None and not options.require_fit:
        said = "fits" if answered.fit.fits else "does not fit"
        need, there = needed_of(answered.fit, format_bytes)
        note(f"{need} needed of {there} on a rank: {said}")
    return verdict(options, answered)


def run_list(options: Options) -> int:
    """The models that have a name."""
    sizes = [size_of(model) for model in MODELS]
    if options.as_json or options.as_csv:
        data.show_models(MODELS, sizes, AS_OF, options.as_csv)
    else:
        page = Page.of_stdout(options.color)
        page.show(list_screen(page, MODELS, sizes, AS_OF))
    return 0


def size_of(model: Model) -> int | None:
    """Bytes of one sequence of 8,192 tokens; None if the model can't be sized."""
    try:
        return Settings().budget(from_config(model.config)).bytes_total
    except GlassError:
        return None


def verdict(options: Options, chosen: Answer) -> int:
    """1 if `--require-fit` was asked for and the plan does not fit, with a word on stderr; else 0."""
    if not options.require_fit or chosen.fit is None or chosen.fit.fits:
        return 0
    need, there = needed_of(chosen.fit, format_bytes)
    note(f"{chosen.subject.name} does not fit: {need} needed on a rank, {there} there")
    return 1
