"""Fits on devices: vLLM's own lines from public logs, to the token; ranges; the smallest devices for so many users."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from glasscli.budget.device_fit import DeviceFit, Load, fit_on, load_of
from glasscli.budget.device_search import devices_for
from glasscli.budget.devices import device_named
from glasscli.budget.fit import capacity
from glasscli.budget.model_weights import weights_config
from glasscli.budget.models import find
from glasscli.budget.overhead import measured, overhead
from glasscli.budget.request import Request
from glasscli.budget.subjects import from_config
from glasscli.budget.weights.rope_cache import rope_cache_bytes
from glasscli.budget.weights.stored import stored
from glasscli.errors import UsageError

DATA = Path(__file__).parents[1] / "data" / "kv"
LOGS = json.loads((DATA / "vllm_logs.json").read_text())
GIB = 2**30


def config_of(name: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(name, dict):
        return name
    (path,) = (path for folder in ("configs", "log_configs") for path in (DATA / folder).glob(f"{name}.json"))
    return json.loads(path.read_text())


def request_of(config: dict[str, Any], tokens: int, **more: Any) -> Request:
    subject = from_config(config, "vllm")
    return Request(subject.layout, tokens, engine="vllm", logical=subject.logical, **more)


LLAMA = config_of("meta-llama--Meta-Llama-3.1-8B")


def answer(device: str, tokens: int, batch: int = 1, version: str = "0.29", **more: Any) -> DeviceFit:
    request = request_of(LLAMA, tokens, batch=batch, options={"version": version})
    load = load_of(stored(LLAMA), rope_cache_bytes(LLAMA, "bf16"), request)
    return fit_on(request, load, device_named(device), **more)


@pytest.mark.parametrize("log", LOGS, ids=[log["id"] for log in LOGS])
def test_vllm_printed_the_same(log: dict[str, Any]) -> None:
    """The bytes are printed to two digits of a GiB: some number of bytes that rounds so must give every other line."""
    more = {name: log[name] for name in ("tp", "dcp", "k_dtype", "state_dtype", "options") if name in log}
    request, tokens = request_of(config_of(log["config"]), log["tokens"], **more), log["tokens"]
    if "available_gib" not in log:
        own = capacity(request, 0)._replace(n_blocks=log["n_blocks"])
        assert f"{float(own.concurrency):.2f}" == log["concurrency"]
        assert own.tokens(tokens) == log.get("cache_tokens", own.tokens(tokens))
        return
    middle = Fraction(log["available_gib"])
    steps = [int((middle + Fraction(step, 10_000)) * GIB) for step in range(-50, 50, 2)]
    printed = [capacity(request, step) for step in steps]
    agreeing = [
        own
        for own in printed
        if own.n_blocks == log.get("n_blocks_logged", own.n_blocks)
        and own.tokens(tokens) == log.get("cache_tokens", own.tokens(tokens))
        and f"{float(own.concurrency):.2f}" == log.get("concurrency", f"{float(own.concurrency):.2f}")
    ]
    assert agreeing


def test_a_card_of_24_gib_as_it_was_logged() -> None:
    fits = answer("rtx 3090", 20_000, available=1952 * 16 * 131072)
    assert f"{fits.weight_bytes / GIB:.4f}" == "14.9888"
    assert fits.least.capacity is not None
    assert f"{float(fits.least.capacity.concurrency):.2f}" == "1.56"
    assert fits.fits is True
    refused = answer("rtx 3090", 29_000, version="0.6.4", available=1478 * 16 * 131072)
    assert refused.fits is False
    assert refused.least.fit.max_tokens == 23_648
    assert f"{float(refused.least.capacity.concurrency):.2f}" == "0.82"  # type: ignore[union-attr]


def test_what_else_an_engine_takes_is_a_range_until_it_is_measured() -> None:
    range_of = answer("h100", 8192)
    assert range_of.least.pool < range_of.most.pool
    assert range_of.most.pool - range_of.least.pool == overhead("vllm", "vLLM").most - overhead("vllm", "vLLM").least
    assert "logs" in overhead("vllm", "vLLM").source
    sure = answer("h100", 8192, taken=measured(2 * GIB))
    assert sure.least == sure.most
    assert sure.least.pool == sure.allowed - sure.weight_bytes - 2 * GIB


def test_what_public_logs_show_lies_within_the_range() -> None:
    """vLLM 0.29 with 0.92 of an RTX 5090: Qwen3-8B left room for 89,040 tokens; Gemma-3-4B took 10.68 GiB (#21489)."""
    config = weights_config(find("qwen3-8b"))
    request = request_of(config, 32768)
    found = fit_on(request, load_of(stored(config), rope_cache_bytes(config, "bf16"), request), device_named("5090"))
    least, most = (room.capacity.tokens(32768) for room in (found.least, found.most) if room.capacity)
    assert least <= 89_040 <= most
    assert overhead("vllm", "vLLM", sees=True).most == int(10.68 * GIB)
    assert (overhead("vllm", "vLLM").most or 0) < 5 * GIB


def test_whether_it_fits_may_depend_on_the_overhead() -> None:
    assert answer("24GiB", 8192).fits is True
    assert answer("16GiB", 8192).fits is False
    tight = answer("24GiB", 40_000)
    assert tight.fits is None
    assert tight.most.holds
    assert not tight.least.holds


def test_a_pool_cannot_be_negative() -> None:
    none = answer("10GiB", 8192)
    assert none.fits is False
    assert none.least.pool == none.most.pool == 0


@pytest.mark.parametrize("share", [0, -1, Fraction(3, 2)])
def test_a_share_is_more_than_none_and_at_most_all(share: int | Fraction) -> None:
    with pytest.raises(UsageError, match="share"):
        answer("h100", 8192, utilization=Fraction(share))


def test_fewer_devices_than_ranks_are_refused() -> None:
    request = request_of(LLAMA, 8192, tp=2)
    with pytest.raises(UsageError, match="2 ranks"):
        fit_on(request, Load((1, 1), 0, ""), device_named("h100"), 1)


def test_the_smallest_devices_come_first_and_do_what_was_asked() -> None:
    model, rope = stored(LLAMA), rope_cache_bytes(LLAMA, "bf16")
    request = request_of(LLAMA, 32768, batch=40)
    found = devices_for(request, lambda split: load_of(model, rope, split))
    sizes = [fit.n_devices * fit.device.total for fit in found]
    assert sizes == sorted(sizes)
    assert len({fit.device.name for fit in found}) == len(found)
    for fit in found:
        assert fit.fits is True
        assert fit.least.concurrency >= 40  # type: ignore[operator]
        if fit.n_devices > 1 and not fit.device.unified:
            fewer = request_of(LLAMA, 32768, batch=40, tp=fit.n_devices // 2)
            assert fit_on(fewer, load_of(model, rope, fewer), fit.device).fits is not True


def test_stages_are_asked_one_by_one_and_the_tightest_decides() -> None:
    request = request_of(LLAMA, 8192, pp=2)
    load = load_of(stored(LLAMA), 0, request)
    assert len(load.weights) == 2
    whole = fit_on(request, load, device_named("h100"))
    uneven = fit_on(request, Load((load.weights[0], load.weights[1] + 8 * GIB), 0, ""), device_named("h100"))
    assert whole.least.pool - uneven.least.pool == 8 * GIB + load.weights[1] - max(load.weights)
