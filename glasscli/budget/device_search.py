"""The inverse of a fit: which devices, and how many, serve so many users at such a context; the smallest first."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from glasscli.budget.device_fit import DeviceFit, Load, engine_title, fit_on
from glasscli.budget.devices import Device, devices
from glasscli.budget.engines import ENGINES
from glasscli.budget.overhead import ENGINES as MEASURED
from glasscli.budget.overhead import Overhead
from glasscli.budget.request import NO_OPTIONS, Request
from glasscli.budget.sizer import Sizer
from glasscli.errors import ConfigError, UsageError

COUNTS = (1, 2, 4, 8, 16)  # what one machine or two have
NOT_SERVED = {
    "vllm": ("Apple",),
    "sglang": ("Apple",),
    "tensorrt-llm": ("Apple",),
}  # makers whose devices an engine does not run on


def devices_for(
    request: Request,
    load: Callable[[Request], Load],
    *,
    utilization: Fraction | None = None,
    taken: Overhead | None = None,
    among: Iterable[Device] | None = None,
    counts: tuple[int, ...] = COUNTS,
    usual: Callable[[Device], Mapping[str, Any]] = lambda device: NO_OPTIONS,
) -> tuple[DeviceFit, ...]:
    """For each device the fewest that hold `request`'s batch at its context, split as the engine does.

    `load` weighs the model for a split, `usual` gives the engine's defaults on a device. A fit is one even where the
    overhead is at its most. Numbers of ranks that don't divide the model are passed over. Sorted by the memory of all
    devices together, then by how few they are.
    """
    if request.n_ranks > 1:
        raise UsageError("how many devices are needed can't be asked of a plan that says how many ranks there are")
    if taken is None and request.engine not in MEASURED:
        raise UsageError(
            f"which devices would do depends on what {engine_title(request.engine)} takes of one besides, which is not "
            "known here: that overhead has to be given"
        )
    found: list[tuple[int, int, DeviceFit]] = []
    by_stages = ENGINES[request.engine].spread == "pp"
    loads: dict[int, Load | None] = {}
    for device in devices() if among is None else among:
        if among is None and device.maker in NOT_SERVED.get(request.engine, ()):
            continue
        for count in counts[:1] if device.unified else counts:
            split = replace(request, pp=count) if by_stages else replace(request, tp=count)
            if count not in loads:
                loads[count] = _weighed(load, split)
            weighed = loads[count]
            if weighed is None or min(weighed.weights) > device.total:
                continue
            split = replace(split, usual=usual(device))
            answer = fit_on(split, weighed, device, utilization=utilization, taken=taken)
            if answer.least.holds:
                found.append((count * device.total, count, answer))
                break
    return tuple(answer for _, _, answer in sorted(found, key=lambda one: one[:2]))


def _weighed(load: Callable[[Request], Load], request: Request) -> Load | None:
    """What the weights take under a split; None where the model can't be split so."""
    if request.pp > request.layout.n_layers:
        return None
    try:
        Sizer(request)
        return load(request)
    except ConfigError as problem:
        if problem.field != "tp":
            raise
        return None
