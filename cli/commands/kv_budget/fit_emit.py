"""`--emit … --gpu …`: the command line of the plan that devices have room for, and on stderr how sure that is."""

import shlex
from dataclasses import replace

from glasscli.budget.device_answer import DeviceAnswer, settled
from glasscli.budget.drafting import drafts_itself
from glasscli.budget.emit import command_line
from glasscli.budget.engines import servers
from glasscli.budget.questions import Settings
from glasscli.budget.subjects import Subject
from glasscli.budget.weigh import weigher_of
from glasscli.cli import console
from glasscli.cli.commands.kv_budget import fit_asked, parse
from glasscli.cli.commands.kv_budget.fit_run import verdict
from glasscli.cli.commands.kv_budget.fit_screen import verdict as sentence
from glasscli.cli.commands.kv_budget.options import Options
from glasscli.cli.console import note


def run_emit(options: Options, settings: Settings, subject: Subject) -> int:
    """Write the command; what nobody said is what surely fits: the longest context, then as many sequences of it."""
    assert options.emit is not None
    server = servers()[options.emit]
    asked = fit_asked.asked_of(options)
    settings = fit_asked.spread(options, settings, asked)
    batch_open = options.users is None and options.batch is None
    found = settled(subject, settings, asked, weigher_of(subject, settings.draft), not options.tokens, batch_open)
    plan = replace(found.settings, options=server.told(found.settings))
    budget = plan.budget(subject)
    usual = "" if subject.layout.kv_dtype_hint else subject.layout.dtype  # what an engine left to itself takes
    share = found.main.utilization if server.takes_a_share and asked.device is not None else asked.utilization
    pool = min(found.main.least.fit.pool, found.main.allowed) if asked.device is None else None
    words = command_line(
        options.emit,
        plan,
        budget,
        usual,
        parse.loadable(options),
        pool,
        share,
        drafts_itself(subject),
        parse.drafter(options, plan),
    )
    console.write(shlex.join(words))
    if not options.quiet:
        for text in budget.warnings:
            note(text)
        if open_parts := assumed(options, found):
            note(f"assumed: {open_parts}" + (", the most that surely fits" if found.main.fits else ""))
    if not options.require_fit:
        note(sentence(found))
    return verdict(options, found)


def assumed(options: Options, found: DeviceAnswer) -> str:
    """What was not asked for and is now in the command, as flags."""
    flags = [] if options.tokens else [f"--ctx {found.settings.main}"]
    flags += [f"--users {found.settings.batch}"] if options.users is None and options.batch is None else []
    return " ".join(flags)
