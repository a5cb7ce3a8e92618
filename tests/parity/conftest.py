"""Everything here compares with another program (transformers on torch, CPU), installed by `make parity`."""

import pathlib

import pytest

HERE = pathlib.Path(__file__).parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Don't even import this folder for `-m "not parity"`, so that it runs without torch. Any other run needs it."""
    return True if "not parity" in config.getoption("markexpr") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder, so that `-m parity` runs it alone."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("parity")


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Tiny models lose more to waiting threads than they gain."""
    import torch

    torch.set_num_threads(1)
