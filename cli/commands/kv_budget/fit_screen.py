"""The screens of devices: does it fit, in the engine's own lines, and why; or which devices would do."""

from collections.abc import Callable, Sequence

from glasscli.budget.device_answer import DeviceAnswer
from glasscli.budget.device_fit import DeviceFit, Room, engine_title
from glasscli.budget.devices import Device
from glasscli.budget.engines import ENGINES
from glasscli.budget.questions import Settings
from glasscli.budget.sizer import Sizer
from glasscli.budget.subjects import Subject
from glasscli.cli.commands.kv_budget.remarks import Said, hint
from glasscli.cli.page.page import Line, Page, spaced
from glasscli.units import decimal, format_bytes, short_bytes

GIB = 2**30
MOST_ROWS = 12  # devices of a plan that a person is shown; a pipe gets them all
VERDICT = {True: "fits", False: "does not fit", None: "may fit"}
STYLE = {True: "bold green", False: "bold red", None: "bold yellow"}


def device_screen(page: Page, found: DeviceAnswer, said: Said, quiet: bool = False) -> list[Line]:
    """The whole page of one kind of device: the answer first, then what it is made of."""
    title = page.flow("", title_of(found), style="bold", gap=1, indent=2)
    if said.assumed and not quiet:
        title += page.flow("assumed: ", said.assumed)
    answer = page.say(verdict(found), style=STYLE[found.main.fits], indent=2)
    answer += own_lines(page, found) if found.main.most.pool else []
    answer += page.say(idle(found), indent=2) if idle(found) else []
    if quiet:
        return spaced(title, answer, contexts(page, found), memory(page, found))
    warnings = Sizer(found.settings.request(found.subject)).engine.warnings()
    told = [line for text in warnings for line in page.flow("note  ", [text], gap=1)]
    return spaced(title, answer, contexts(page, found), memory(page, found), told, hint(page, said.tries))


def title_of(found: DeviceAnswer) -> list[str]:
    """The model, the devices and the engine, as pieces of a line."""
    fit, settings = found.main, found.settings
    engine = ENGINES[settings.engine]
    request = settings.request(found.subject)
    edition = Sizer(request).engine.edition
    version = f" {edition}" if edition else ""
    where = f"on {fit.n_devices:,} × {fit.device.name}" if fit.device else f"with {gib(fit.allowed)} for the cache"
    split = [f"{name} {count:,}" for name, count in ranks(settings)]
    return [found.subject.name, where, f"· {engine.title}{version}", *(f"· {text}" for text in split)]


def ranks(settings: Settings) -> list[tuple[str, int]]:
    """How a plan is split, where it is."""
    counts = [(name, getattr(settings, name)) for name in ("tp", "pp", "dp", "dcp", "pcp")]
    return [(name, count) for name, count in counts if count > 1]


def verdict(found: DeviceAnswer) -> str:
    """The answer in a sentence, with what is short where it doesn't fit."""
    fit, settings = found.main, found.settings
    asked = "a sequence" if settings.batch == 1 else f"{settings.batch:,} sequences"
    need = f"{asked} of {settings.main:,} tokens"
    engine = whose(settings)
    if not fit.sure and fit.most.holds:
        spare = short_bytes(fit.most.pool - fit.most.fit.pool)
        return f"fits if {engine} takes no more than {spare} of a device besides: {need}"
    if fit.fits:
        known = fit.overhead is None or fit.overhead.most is None or fit.least == fit.most
        return f"fits: {need}" + ("" if known else f", even if {engine} takes {most_besides(fit)} of a device besides")
    over = fit.weight_bytes - fit.allowed
    if not fit.fits and fit.load is not None and over > 0:
        return f"does not fit: the weights take {gib(fit.weight_bytes)} of the {gib(fit.allowed)} that {engine} may use"
    takes = f"{need} take{'s' * (settings.batch == 1)} {short_bytes(fit.least.fit.bytes)} a device"
    there = between(fit, lambda room: short_bytes(room.pool))
    if fit.fits is None:
        return f"may fit: {takes}, and {there} is left for the cache, as {engine} takes more or less besides"
    return f"does not fit: {takes}, and {there} is left for the cache"


def own_lines(page: Page, found: DeviceAnswer) -> list[Line]:
    """The size of the cache as a paged engine logs it, the longest context and the most sequences."""
    fit, settings = found.main, found.settings
    lines: list[Line] = []
    if fit.least.capacity is not None:
        lines += page.say(f"GPU KV cache size: {between(fit, lambda room: cache_tokens(room, settings.main))} tokens")
        times = between(fit, lambda room: concurrency(room))
        lines += page.say(f"Maximum concurrency for {settings.main:,} tokens per request: {times}")
    if words := ENGINES[settings.engine].pool_words if fit.most.tokens is not None else "":
        lines += page.say(words.format(between(fit, lambda room: counted(room.tokens))))
    whose = "one sequence" if settings.batch == 1 else f"each of {settings.batch:,} sequences"
    lines += page.say(f"longest context of {whose}: {longest(found)}")
    count = between(fit, lambda room: counted(room.fit.max_batch))
    lines += page.say(f"sequences of {settings.main:,} tokens side by side: {count}")
    if found.rounded is not None and fit.least.capacity is not None:
        tokens = " to ".join(cache_tokens(room, settings.main) for room in found.rounded)
        times = " to ".join(concurrency(room) for room in found.rounded)
        lines += page.say(f"a size rounded so stands for {tokens} tokens, {times}", style="dim")
    return lines


def longest(found: DeviceAnswer) -> str:
    """The longest context: as much as there is room for, or all that the model was made for."""
    fit, most = found.main, found.subject.logical.max_positions
    room = f"{between(fit, lambda room: counted(room.fit.max_tokens))} tokens"
    least = fit.least.fit.max_tokens
    if most is None:
        return room
    if least is None or least >= most:
        return f"{most:,} tokens, all that it was made for (there is room for {room})"
    return f"{room} (it was made for {most:,})"


def most_besides(fit: DeviceFit) -> str:
    """The most that an engine may take besides weights and cache."""
    return short_bytes(fit.overhead.most) if fit.overhead and fit.overhead.most else "nothing"


def whose(settings: Settings) -> str:
    """Who takes the rest of a device, in a sentence."""
    return engine_title(settings.engine)


def idle(found: DeviceAnswer) -> str:
    """A sentence about devices that the plan has no rank for."""
    n_ranks, n_devices = found.settings.n_ranks, found.main.n_devices
    if n_devices == n_ranks:
        return ""
    text = f"{n_devices - n_ranks} of the {n_devices} devices stay idle"
    return text + (
        f": --dp {n_devices // n_ranks * found.settings.dp} would use them" if n_devices % n_ranks == 0 else ""
    )


def contexts(page: Page, found: DeviceAnswer) -> list[Line]:
    """How many sequences at each context, where several were asked about."""
    if len(found.fits) == 1:
        return []
    headers, rows = ["context", "sequences", "cache of one device", "fits"], []
    for tokens, fit in zip(found.settings.tokens, found.fits, strict=True):
        count = between(fit, lambda room: counted(room.fit.max_batch))
        rows.append([f"{tokens:,}", count, format_bytes(fit.least.fit.bytes), VERDICT[fit.fits]])
    return page.table(headers, rows) or [
        line for row in rows for line in page.flow(f"{row[0]:>9}  ", [f"{row[1]} sequences", row[3]])
    ]


def memory(page: Page, found: DeviceAnswer) -> list[Line]:
    """Where the memory of the fullest device goes, a row each."""
    rows = [(name, size, note) for name, size, note in memory_rows(found) if size]
    head = "on the fullest of them" if found.main.n_devices > 1 else "on it"
    if table := page.table([head, "", "by whose word"], rows, left=(0, 2)):
        return table
    width = max(len(name) for name, _, _ in rows) + 2
    return [
        line for name, size, note in rows for line in page.flow(f"{name:<{width}}", [size, *([note] if note else [])])
    ]


def memory_rows(found: DeviceAnswer) -> list[tuple[str, str, str]]:
    """Name, size and source of each."""
    fit, settings = found.main, found.settings
    rows: list[tuple[str, str, str]] = []
    if fit.device is not None:
        rows.append(("memory", gib(fit.device.total), memory_source(fit.device)))
        rows.append(("engine's share", gib(fit.allowed), f"{float(fit.utilization):g} of it"))
    if fit.load is not None:
        rows.append(("weights", gib(max(fit.load.weights), 4), fit.load.source))
        if fit.load.rope:
            rows.append(("rope cache", gib(fit.load.rope, 4), "cosines and sines of every position"))
            rows.append(("  together", gib(fit.weight_bytes, 4), "what its log says that the model took"))
    if fit.overhead is not None:
        least, most, source = fit.overhead
        size = (
            "not known" if most is None else gib(least) if least == most else f"{gib(least, unit=False)} to {gib(most)}"
        )
        rows.append(("overhead", size, source if most is not None else f"{source}: --overhead would say it"))
    rows.append(
        (
            "cache pool",
            between(fit, lambda room: gib(room.pool)),
            "as given" if fit.overhead is None else "what is left of the share",
        )
    )
    at = f"{settings.batch:,} × {settings.main:,} tokens" if settings.batch > 1 else f"{settings.main:,} tokens"
    rows.append(("needed", gib(fit.least.fit.bytes), at))
    rows.append(("left over", between(fit, lambda room: gib(max(0, room.pool - room.fit.bytes))), ""))
    return rows


def memory_source(device: Device) -> str:
    """By whose word a device has its memory."""
    if device.program_bytes is None:
        return device.source
    return f"what programs see of {gib(device.n_bytes)}"


def plan_screen(
    page: Page, subject: Subject, settings: Settings, found: Sequence[DeviceAnswer], said: Said, quiet: bool = False
) -> list[Line]:
    """Which devices serve so many users, the smallest first."""
    engine = ENGINES[settings.engine].title
    asked = f"{settings.batch:,} × {settings.main:,} tokens"
    title = page.flow("", [subject.name, f"· {asked}", f"· {engine}"], style="bold", gap=1, indent=2)
    if said.assumed and not quiet:
        title += page.flow("assumed: ", said.assumed)
    if not found:
        return spaced(title, page.say("none of the devices listed holds it, up to 16 of a kind", style="bold red"))
    first = found[0].main
    assert first.device is not None
    total = format_bytes(first.n_devices * first.device.total)
    answer = page.say(f"smallest: {first.n_devices} × {first.device.name}, {total} in all", style="bold green")
    shown = found[:MOST_ROWS] if page.terminal else found
    more = len(found) - len(shown)
    rest = page.say(f"and {more} more: --json has them all", style="dim") if more else []
    return spaced(title, answer, [*plan_table(page, shown), *rest], [] if quiet else hint(page, said.tries))


def plan_table(page: Page, found: Sequence[DeviceAnswer]) -> list[Line]:
    """A row for each kind of device."""
    headers = ["devices", "memory", "weights each", "pool each, at least", "sequences, at least"]
    rows = []
    for one in found:
        fit = one.main
        assert fit.device is not None
        rows.append(
            [
                f"{fit.n_devices} × {fit.device.name}",
                format_bytes(fit.n_devices * fit.device.total),
                format_bytes(fit.weight_bytes),
                format_bytes(fit.least.pool),
                counted(fit.least.fit.max_batch),
            ]
        )
    return page.table(headers, rows, left=(0,)) or page.table(
        ["devices", "memory", "sequences"], [[row[0], row[1], row[4]] for row in rows], left=(0,)
    )


def between(fit: DeviceFit, say: Callable[[Room], str]) -> str:
    """What is said of the tightest case and of the roomiest: one word, or `this to that`."""
    least, most = say(fit.least), say(fit.most)
    if not fit.sure:
        return f"at most {most}"
    if least == most:
        return least
    unit = least.rsplit(" ", 1)[-1]
    if " " in least and most.endswith(f" {unit}"):
        least = least.removesuffix(f" {unit}")
    return f"{least} to {most}"


def cache_tokens(room: Room, tokens: int) -> str:
    """The size of the cache in tokens as the engine logs it."""
    assert room.capacity is not None
    return f"{room.capacity.tokens(tokens):,}"


def concurrency(room: Room) -> str:
    """Requests side by side, as the engine logs it."""
    assert room.concurrency is not None
    return f"{float(room.concurrency):.2f}x"


def counted(value: int | None) -> str:
    """A number, or that memory does not bound it."""
    return "any number of" if value is None else f"{value:,}"


def gib(n_bytes: int, digits: int = 2, unit: bool = True) -> str:
    """Bytes in GiB, as engines log them; small ones in their own unit."""
    if n_bytes < GIB // 128:
        return format_bytes(n_bytes)
    return decimal(n_bytes, GIB, digits) + (" GiB" if unit else "")
