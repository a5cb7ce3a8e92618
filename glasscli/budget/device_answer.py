"""Everything there is to say about one model on devices of a kind: a fit at each context that was asked about."""

from dataclasses import dataclass, replace
from fractions import Fraction

from glasscli.budget.device_fit import DeviceFit, Load, Room, engine_title, fit_in, fit_on
from glasscli.budget.device_search import devices_for
from glasscli.budget.devices import Device
from glasscli.budget.engines import ENGINES
from glasscli.budget.overhead import Overhead
from glasscli.budget.questions import Settings
from glasscli.budget.request import Request
from glasscli.budget.sizer import Sizer
from glasscli.budget.subjects import Subject
from glasscli.budget.weigh import Weigh
from glasscli.errors import ConfigError, UsageError

MOST_ASSUMED = 256  # sequences side by side that nobody asked for: what engines serve at most unless told


@dataclass(frozen=True)
class Asked:
    """What is asked of devices.

    Attributes:
        device: which; None where only `available` bytes are known, or devices are looked for.
        n_devices: how many; None: as many as the plan has ranks.
        utilization: the engine's share of one; None: its own default.
        taken: what an engine takes besides weights and cache, where it was measured.
        available: what an engine says is left for the cache on one.
        rounded: the least and the most that `available` may stand for, where it was printed to so many digits.
    """

    device: Device | None = None
    n_devices: int | None = None
    utilization: Fraction | None = None
    taken: Overhead | None = None
    available: int | None = None
    rounded: tuple[int, int] | None = None


@dataclass(frozen=True)
class DeviceAnswer:
    """`fits` has one entry for each context asked about; the rest is about the longest."""

    subject: Subject
    settings: Settings
    asked: Asked
    fits: tuple[DeviceFit, ...]

    @property
    def main(self) -> DeviceFit:
        """The fit at the longest context."""
        return self.fits[self.settings.tokens.index(self.settings.main)]

    @property
    def rounded(self) -> tuple[Room, Room] | None:
        """What the least and the most hold that a printed size may stand for."""
        if self.asked.rounded is None:
            return None
        least, most = (fit_in(self.settings.request(self.subject), size).least for size in self.asked.rounded)
        return least, most


def on_devices(subject: Subject, settings: Settings, asked: Asked, weigh: Weigh) -> DeviceAnswer:
    """Whether `subject` fits under `settings` on the devices that were asked about.

    `weigh` gives what the weights take under a plan; it isn't asked where what is left for the cache is known.
    Raises UsageError and ConfigError as `fit_on` and `weigh` do.
    """
    settings = at_device(settings, asked.device, subject)
    request = settings.request(subject)
    Sizer(request)  # what ranks don't split is refused by what it is, before its weights are looked at
    if asked.device is None and asked.available is None:
        raise UsageError("no device is named and no memory given")
    load = None
    if asked.device is not None:
        load = weigh(request) if asked.available is None else weighed(weigh, request)
    fits = []
    for tokens in settings.tokens:
        request = settings.request(subject, tokens)
        if asked.device is None:
            assert asked.available is not None
            fits.append(fit_in(request, asked.available))
            continue
        fits.append(
            fit_on(
                request,
                load,
                asked.device,
                asked.n_devices,
                utilization=asked.utilization,
                taken=asked.taken,
                available=asked.available,
            )
        )
    return DeviceAnswer(subject, settings, asked, tuple(fits))


def at_device(settings: Settings, device: Device | None, subject: Subject) -> Settings:
    """`settings` with what the engine takes on such a device where nobody says otherwise."""
    if device is None:
        return settings
    return replace(settings, usual=ENGINES[settings.engine].usual_on(device.total, device.name, subject.config))


def settled(
    subject: Subject, settings: Settings, asked: Asked, weigh: Weigh, tokens_open: bool, batch_open: bool
) -> DeviceAnswer:
    """The plan that devices have room for, where nobody said how long or how many.

    As long as surely fits, else as may fit, up to what `settings` ask for; then as many as surely fit of that length.
    Raises ConfigError (field `weights`) where not a single token has room; as `on_devices` for the rest.
    """
    found = on_devices(subject, settings, asked, weigh)
    if not found.main.sure and (tokens_open or batch_open):
        engine = engine_title(settings.engine)
        raise UsageError(
            f"what {engine} takes of a device besides is not known: to say how long and how many surely fit, that "
            "overhead has to be given"
        )
    least, most = found.main.least.fit, found.main.most.fit
    if most.max_tokens == 0:
        raise ConfigError(f"{subject.name} has no room for a single token; there is no plan to tell", "weights")
    if tokens_open:
        longest = least.max_tokens if least.max_tokens != 0 else most.max_tokens
        settings = replace(settings, tokens=(settings.main if longest is None else min(longest, settings.main),))
        found = on_devices(subject, settings, asked, weigh)
    if batch_open:
        count = found.main.least.fit.max_batch or 1
        settings = replace(settings, batch=min(count, MOST_ASSUMED))
        found = on_devices(subject, settings, asked, weigh)
    return found


def weighed(weigh: Weigh, request: Request) -> Load | None:
    """What the weights take; None where nobody knows and nothing depends on it."""
    try:
        return weigh(request)
    except ConfigError:
        return None


def smallest_devices(subject: Subject, settings: Settings, asked: Asked, weigh: Weigh) -> tuple[DeviceAnswer, ...]:
    """The devices that serve `settings`' batch at its longest context, the smallest first."""
    request, settings = settings.request(subject), replace(settings, tokens=(settings.main,))
    found = devices_for(
        request,
        weigh,
        utilization=asked.utilization,
        taken=asked.taken,
        usual=lambda device: at_device(settings, device, subject).usual,
    )
    return tuple(
        DeviceAnswer(
            subject,
            at_device(settings, fit.device, subject).spread_over(fit.n_devices),
            replace(asked, device=fit.device, n_devices=fit.n_devices),
            (fit,),
        )
        for fit in found
    )
