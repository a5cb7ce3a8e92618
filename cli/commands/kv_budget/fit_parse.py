"""Whether a question is about devices, and what can't be asked of them. Knows no device: that costs time."""

from dataclasses import replace

from glasscli.cli.commands.kv_budget.options import Options
from glasscli.errors import UsageError

STDIN = "-"
# Options that say nothing where no device and no memory is named.
ABOUT_DEVICES = (("--num", "num"), ("--utilization", "utilization"), ("--overhead", "overhead"))
APART = (("--budget", "budget"), ("--hq", "hq"))


def asks_of_devices(options: Options) -> bool:
    """Whether the question is about devices: does the model fit on them, or which would do?"""
    return any(value is not None for value in (options.gpu, options.available, options.users))


def check(options: Options) -> None:
    """Refuse what says nothing, and what can't be said of devices."""
    if options.draft == STDIN == options.config:
        raise UsageError("--config - and --draft -: standard input can be read once")
    if not asks_of_devices(options):
        for name, field in ABOUT_DEVICES:
            if getattr(options, field) is not None:
                raise UsageError(f"{name} is about devices: name one with --gpu, like --gpu h100")
        return
    given = next(name for name in ("--gpu", "--available", "--users") if getattr(options, name[2:]) is not None)
    for name, field in APART:
        if getattr(options, field) not in (None, False):
            why = ": a device holds weights, and head counts don't tell them" if name == "--hq" else ""
            raise UsageError(f"{given} and {name} don't go together{why}")
    for name, asked in (("--sweep", options.sweep), ("--emit", options.emit is not None)):
        if asked and options.gpu is None and options.available is None:
            raise UsageError(f"--users and {name} need devices that are known: name one with --gpu, like --gpu h100")
    if options.users is not None and options.batch is not None:
        raise UsageError("--users is --batch by another name: how many sequences are held at once; give one of them")
    if options.available is not None and options.overhead is not None:
        raise UsageError("--available is what is left for the cache: --overhead has no part in it; give one of them")
    if options.gpu is None and options.num is not None:
        raise UsageError("--num is how many devices of a kind there are: name it with --gpu, like --gpu h100")


def with_engine(options: Options) -> Options:
    """The options with an engine where a question about devices names none: llama.cpp for Apple's, else vLLM."""
    if options.engine is not None or options.emit is not None or not asks_of_devices(options):
        return options
    from glasscli.cli.commands.kv_budget.fit_asked import usual_engine

    return replace(options, engine=usual_engine(options.gpu))
