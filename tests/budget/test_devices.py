"""Devices by the names that people type, and what their drivers report."""

import pytest

from glasscli.budget.device_facts import FACTS
from glasscli.budget.devices import device_named, devices, plain
from glasscli.errors import UsageError

MIB, GIB = 2**20, 2**30


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("h100", "h100"),
        ("H100-80G", "h100"),
        ("H100 80GB", "h100"),
        ("nvidia h100-sxm", "h100"),
        ("a100-40", "a100-40"),
        ("A100-40GB", "a100-40"),
        ("a100_80gb", "a100"),
        ("rtx4090", "rtx-4090"),
        ("4090", "rtx-4090"),
        ("GeForce RTX 4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 3090 Ti", "rtx-3090-ti"),
        ("l40s", "l40s"),
        ("mi300x", "mi300x"),
        ("AMD Instinct MI300X", "mi300x"),
        ("m3-max-128", "m3-max-128"),
        ("M3 Max 128GB", "m3-max-128"),
        ("rtx pro 6000", "rtx-pro-6000"),
        ("t4", "t4"),
    ],
)
def test_names_as_people_type_them(typed: str, name: str) -> None:
    assert device_named(typed).name == name


def test_bytes_are_those_that_drivers_report() -> None:
    assert device_named("h100").n_bytes == 81559 * MIB
    assert device_named("b200").n_bytes == 183359 * MIB
    assert device_named("mi300x").n_bytes == 206_141_652_992 - 206_141_652_992 % MIB
    assert "driver" in device_named("h100").source
    assert device_named("m3-max-128").n_bytes == 128 * GIB
    assert "Apple's figure" in device_named("m3-max-128").source


def test_a_size_is_a_device() -> None:
    assert device_named("24GiB").n_bytes == 24 * GIB
    assert device_named("24 GB").total == 24 * 10**9


@pytest.mark.parametrize(("typed", "meant"), [("h10", "h100"), ("rtx-490", "rtx-4090"), ("m3-max", "m3-max-128")])
def test_others_are_refused_with_what_was_perhaps_meant(typed: str, meant: str) -> None:
    with pytest.raises(UsageError, match=meant):
        device_named(typed)


@pytest.mark.parametrize("typed", ["", "   ", "nonsense", "80", "-1GiB", "h100 " * 50])
def test_nonsense_is_refused(typed: str) -> None:
    with pytest.raises(UsageError):
        device_named(typed)


def test_the_table_is_whole() -> None:
    assert len(devices()) >= 40
    assert len({plain(device.name) for device in devices()}) == len(devices())
    for device in devices():
        assert device.bandwidth
        assert device.source
        assert device.program_bytes is None or 0.9 * device.n_bytes <= device.program_bytes <= device.n_bytes
    for fact in FACTS:
        reported = fact.smi and fact.smi * MIB / 10**9 / fact.nominal
        assert not reported or 0.93 <= reported <= 1.08, fact.name
