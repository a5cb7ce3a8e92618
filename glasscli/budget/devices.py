"""A device by the name that people type, or by its size: how many bytes it has, how fast, and who says so.

Exact names first, then the same without hyphens, makers and "gb"; else the nearest names, never one of several.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from glasscli.budget.device_facts import APPLE, APPLE_FACTS, FACTS
from glasscli.errors import UsageError
from glasscli.likeness import asked, nearest
from glasscli.units import parse_bytes

GIB, MIB = 2**30, 2**20
SIZE = re.compile(r"\d[\d_.]*\s*([kmgtp]i?b?|b)", re.IGNORECASE)
MAKERS = re.compile(r"^(nvidia|amd|intel|apple|geforce|instinct|radeon|tesla|quadro)[- ]+")


@dataclass(frozen=True)
class Device:
    """A GPU, or a machine whose one memory serves as such.

    Attributes:
        n_bytes: its memory as the driver reports it, else as its maker says: `source` tells which.
        program_bytes: what a program sees of that, where it is known; an engine's share is taken of this.
        bandwidth: bytes a second; None for a size without a name.
        unified: whether processor and GPU share the memory: one machine has one.
    """

    name: str
    maker: str
    n_bytes: int
    program_bytes: int | None
    bandwidth: int | None
    source: str
    unified: bool = False

    @property
    def total(self) -> int:
        """The bytes that an engine takes its share of."""
        return self.program_bytes or self.n_bytes

    @property
    def lent(self) -> Fraction:
        """The share that its system lends a GPU: of Apple's, about three quarters."""
        return Fraction(3, 4) if self.maker == APPLE else Fraction(1)


def device_named(text: str) -> Device:
    """`h100`, `A100-40GB`, `rtx 4090`, `m3-max-128`, or a size such as `24GiB`.

    Raises UsageError with the nearest names where there is no such device.
    """
    wanted = plain(text)
    found = by_name().get(wanted)
    if found:
        return found
    if SIZE.fullmatch(text.strip()):
        size = parse_bytes(text)
        return Device(text.strip(), "", size, None, None, "as given")
    if text.strip().replace(".", "", 1).isdecimal():
        raise UsageError(f"{text[:40]!r} has no unit. Write {text.strip()[:40]}GB, or the name of a device")
    names = list(dict.fromkeys(by_name()[name].name for name in nearest(wanted, by_name(), most=8)))[:5]
    hint = asked(names) or f"There are {len(devices())}, from b300 to m5-32."
    raise UsageError(f"no device is called {text[:40]!r}. {hint} A size will do, too: 24GiB")


def plain(text: str) -> str:
    """`text` in small letters without maker, hyphens, spaces and the last "b" of a size."""
    bare = re.sub(r"[\s_]+", "-", text.strip().lower())
    bare = MAKERS.sub("", MAKERS.sub("", bare))
    return re.sub(r"(\d)gi?b?$", r"\1g", bare.replace("-", ""))


@cache
def devices() -> tuple[Device, ...]:
    """All devices of the table, each once."""
    found = []
    for fact in FACTS:
        said = f"{fact.maker}'s figure, {fact.year}" if fact.smi is None else "as its driver reports it"
        n_bytes = fact.nominal * 10**9 if fact.smi is None else fact.smi * MIB
        seen = None if fact.cuda is None else round(fact.cuda * GIB)
        found.append(Device(fact.name, fact.maker, n_bytes, seen, round(fact.bandwidth * 10**9), said, fact.unified))
    for chip, speed, year, sizes in APPLE_FACTS:
        said = f"Apple's figure, {year}; macOS lends a GPU about three quarters of it unless told otherwise"
        found += [Device(f"{chip}-{size}", APPLE, size * GIB, None, round(speed * 10**9), said, True) for size in sizes]
    return tuple(found)


@cache
def by_name() -> dict[str, Device]:
    """Every spelling → its device. The table gives no two devices one name."""
    known = {device.name: device for device in devices()}
    found = {plain(name): device for name, device in known.items()}
    for fact in FACTS:
        for alias in fact.aliases.split():
            assert plain(alias) not in found or found[plain(alias)].name == fact.name, alias
            found[plain(alias)] = known[fact.name]
    for device in devices():
        if device.maker == APPLE:
            found[plain(f"{device.name}g")] = device
    return found
