"""What was typed about devices: which, how many, what share of them, what else they hold."""

import re
from fractions import Fraction

from glasscli.budget.device_answer import Asked, DeviceAnswer
from glasscli.budget.device_facts import APPLE
from glasscli.budget.devices import Device, device_named
from glasscli.budget.overhead import measured
from glasscli.budget.questions import Settings
from glasscli.cli.commands.kv_budget import values
from glasscli.cli.commands.kv_budget.options import Options
from glasscli.cli.commands.kv_budget.remarks import Said
from glasscli.errors import UsageError
from glasscli.units import parse_bytes

TIMES = re.compile(r"(\d{1,5}) ?[xX×*] ?(.+)")
ROUNDED = re.compile(r"\d[\d_]*\.(\d+) ?([a-zA-Z]+)")


def usual_engine(gpu: str | None) -> str:
    """The engine that a device is usually used with: llama.cpp on Apple's, else vLLM."""
    return "llama.cpp" if gpu is not None and device_of(gpu).maker == APPLE else "vllm"


def device_of(text: str) -> Device:
    """The device that --gpu names, with or without how many."""
    try:
        return device_named(counted(text)[1])
    except UsageError as error:
        raise UsageError(f"--gpu: {error}") from None


def counted(text: str) -> tuple[str | None, str]:
    """How many, and of what: `8xh100`, `2 × 4090`; None where that isn't said."""
    found = TIMES.fullmatch(text.strip())
    return (found[1], found[2]) if found else (None, text)


def how_many(options: Options) -> int | None:
    """How many devices there are, by --num or by --gpu; None where neither says."""
    said = counted(options.gpu)[0] if options.gpu is not None else None
    if said is not None and options.num is not None:
        raise UsageError(f"--gpu {options.gpu} says how many there are, and so does --num: give one of them")
    number = options.num if said is None else said
    return None if number is None else values.count("--num" if said is None else "--gpu", number, most=65536)


def asked_of(options: Options) -> Asked:
    """What was asked of devices."""
    overhead = 0 if options.overhead == "0" else values.size("--overhead", options.overhead)
    return Asked(
        device=None if options.gpu is None else device_of(options.gpu),
        n_devices=how_many(options),
        utilization=share(options.utilization),
        taken=None if overhead is None else measured(overhead),
        available=values.size("--available", options.available),
        rounded=rounded(options.available),
    )


def rounded(text: str | None) -> tuple[int, int] | None:
    """The sizes that `5.98 GiB` may stand for, the first and the last; None for a size that is not rounded."""
    found = ROUNDED.fullmatch(text.strip()) if text else None
    if text is None or found is None:
        return None
    half = Fraction(parse_bytes(f"1{found[2]}"), 2 * 10 ** len(found[1]))
    middle = parse_bytes(text)
    return int(middle - half) + 1, int(middle + half)


def share(text: str | None) -> Fraction | None:
    """The share of a device: `.9`, `0.9` or `90%`."""
    if text is None:
        return None
    bare = text.strip()
    try:
        found = Fraction(bare.removesuffix("%")) / (100 if bare.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"--utilization {text[:24]!r}: a share like 0.9 or 90%") from None
    if not 0 < found <= 1:
        raise UsageError(f"--utilization {text}: a share is more than 0 and at most 1")
    return found


def spread(options: Options, settings: Settings, asked: Asked) -> Settings:
    """`settings` over all the devices that there are, as the engine does where nothing says how."""
    if asked.n_devices is None or settings.n_ranks > 1 or (options.tp, options.pp, options.dp) != ("1", "1", "1"):
        return settings
    return settings.spread_over(asked.n_devices)


def assumed(options: Options, settings: Settings, found: DeviceAnswer | None) -> Said:
    """What was not said, as flags that can be pasted, and flags to try."""
    flags = []
    if options.engine is None:
        flags.append(f"--engine {settings.engine}")
    if not options.tokens:
        flags.append(f"--ctx {settings.main}")
    if options.users is None and options.batch is None:
        flags.append("--users 1")
    if found is not None and found.main.device is not None and options.utilization is None:
        flags.append(f"--utilization {float(found.main.utilization):g}")
    if found is not None and any(part.window is not None for part in found.subject.layout.layers):
        flags += [f"-s {name}={value}" for name, value in found.settings.usual.items() if name not in settings.options]
    split = [(name, getattr(settings, name)) for name in ("tp", "pp") if found is not None]
    flags += [f"--{name} {count}" for name, count in split if count > 1 and getattr(options, name) == "1"]
    tries = ["--users 8"] if options.users is None else []
    tries += ["--overhead 2GiB (if you know it)"] if options.overhead is None and options.available is None else []
    tries += ["--ctx 8k,32k"] if not options.tokens else []
    return Said(tuple(flags), (*tries, "--json"))
