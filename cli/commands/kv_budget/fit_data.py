"""Fits on devices for machines: a part of the model's document, or a CSV row for each context. Bytes are exact."""

from collections.abc import Sequence
from typing import Any

from glasscli.budget.answers import Answer
from glasscli.budget.device_answer import DeviceAnswer
from glasscli.budget.device_fit import DeviceFit, Room
from glasscli.budget.questions import Settings
from glasscli.budget.subjects import Subject
from glasscli.cli import console
from glasscli.cli.commands.kv_budget.data import SCHEMA
from glasscli.cli.commands.kv_budget.data import document as cache_document

COLUMNS = (
    *("model", "engine", "device", "devices", "tp", "pp", "dp", "tokens", "batch", "fits"),
    *("device_bytes", "utilization", "allowed_bytes", "weight_bytes", "rope_bytes"),
    *("overhead_least_bytes", "overhead_most_bytes", "pool_least_bytes", "pool_most_bytes", "needed_bytes"),
    *("cache_tokens_least", "cache_tokens_most", "concurrency_least", "concurrency_most"),
    *("max_tokens_least", "max_tokens_most", "max_batch_least", "max_batch_most"),
)


def bandwidth_of(found: DeviceAnswer) -> int | None:
    """Bytes a second that the device reads, where that is known."""
    return found.asked.device.bandwidth if found.asked.device else None


def document(found: DeviceAnswer, answered: Answer, bandwidth: int) -> dict[str, Any]:
    """The model's document, and what fits on the devices."""
    return cache_document(answered, bandwidth) | {
        "fits": found.main.fits,
        "device": device(found.main),
        "at": [at_context(found, index) for index in range(len(found.fits))],
    }


def plan_document(subject: Subject, settings: Settings, found: Sequence[DeviceAnswer]) -> dict[str, Any]:
    """Each kind of device that serves so many, the smallest first."""
    return {
        "schema": SCHEMA,
        "model": subject.name,
        "source": subject.source or None,
        "engine": settings.engine,
        "tokens": settings.main,
        "batch": settings.batch,
        "devices": [{**device(one.main), **at_context(one, 0)} for one in found],
    }


def sweep_document(found: DeviceAnswer) -> dict[str, Any]:
    """One model of a sweep: the devices, and what there is room for at each length."""
    return {
        "model": found.subject.name,
        "source": found.subject.source or None,
        "engine": found.settings.engine,
        "made_for_tokens": found.subject.logical.max_positions,
        "device": device(found.main),
        "at": [at_context(found, index) for index in range(len(found.fits))],
    }


def device(fit: DeviceFit) -> dict[str, Any]:
    """What one device has, and what takes it."""
    said: dict[str, Any] = {"devices": fit.n_devices}
    if fit.device is not None:
        said |= {
            "name": fit.device.name,
            "maker": fit.device.maker or None,
            "driver_bytes": fit.device.n_bytes,
            "program_bytes": fit.device.program_bytes,
            "source": fit.device.source,
            "utilization": float(fit.utilization),
            "allowed_bytes": fit.allowed,
        }
    if fit.load is not None:
        said |= {
            "weight_bytes": max(fit.load.weights),
            "weight_bytes_of_stages": list(fit.load.weights),
            "rope_bytes": fit.load.rope,
            "weights_source": fit.load.source,
        }
    if fit.overhead is not None:
        least, most, source = fit.overhead
        said["overhead"] = {"least_bytes": least, "most_bytes": most, "source": source}
    return said


def at_context(found: DeviceAnswer, index: int) -> dict[str, Any]:
    """What there is room for at one of the contexts, if the overhead is at its most and at its least."""
    fit, tokens = found.fits[index], found.settings.tokens[index]
    return {
        "tokens": tokens,
        "fits": fit.fits,
        "needed_bytes": fit.least.fit.bytes,
        "least": room(fit.least, tokens) if fit.sure else None,
        "most": room(fit.most, tokens),
    }


def room(room: Room, tokens: int) -> dict[str, Any]:
    """What a pool holds, in bytes, and in a paged engine's own words."""
    said: dict[str, Any] = {
        "pool_bytes": room.pool,
        "max_tokens": room.fit.max_tokens,
        "max_batch": room.fit.max_batch,
    }
    if room.tokens is not None:
        said["pool_tokens"] = room.tokens
    if room.capacity is not None:
        said |= {
            "blocks": room.capacity.n_blocks,
            "blocks_per_request": room.capacity.blocks_per_request,
            "cache_tokens": room.capacity.tokens(tokens),
            "max_concurrency": float(room.capacity.concurrency),
        }
    return said


def show_csv(answers: Sequence[DeviceAnswer]) -> None:
    """A row for each kind of device and each context."""
    console.write_csv(COLUMNS, [row(found, index) for found in answers for index in range(len(found.fits))])


def row(found: DeviceAnswer, index: int) -> dict[str, object]:
    """One row."""
    fit, settings, tokens = found.fits[index], found.settings, found.settings.tokens[index]
    said: dict[str, object] = {
        "model": found.subject.name,
        "engine": settings.engine,
        "devices": fit.n_devices,
        "tp": settings.tp,
        "pp": settings.pp,
        "dp": settings.dp,
        "tokens": tokens,
        "batch": settings.batch,
        "fits": {True: "yes", False: "no", None: "depends"}[fit.fits],
        "needed_bytes": fit.least.fit.bytes,
    }
    if fit.device is not None:
        said |= {
            "device": fit.device.name,
            "device_bytes": fit.device.total,
            "utilization": f"{float(fit.utilization):g}",
        }
        said["allowed_bytes"] = fit.allowed
    if fit.load is not None:
        said |= {"weight_bytes": max(fit.load.weights), "rope_bytes": fit.load.rope}
    if fit.overhead is not None:
        said |= {"overhead_least_bytes": fit.overhead.least, "overhead_most_bytes": fit.overhead.most}
    for end, held in (("least", fit.least), ("most", fit.most))[0 if fit.sure else 1 :]:
        own = room(held, tokens)
        said |= {f"pool_{end}_bytes": own["pool_bytes"], f"max_tokens_{end}": own["max_tokens"]}
        said |= {f"max_batch_{end}": own["max_batch"], f"cache_tokens_{end}": own.get("cache_tokens")}
        if held.concurrency is not None:
            said[f"concurrency_{end}"] = f"{float(held.concurrency):.2f}"
    return said
