"""Threads of NumPy's matrix products: one for small models, the user's choice for large ones."""

import os
from pathlib import Path

import pytest

from glasscli.cli import blas


@pytest.fixture(autouse=True)
def _two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in blas._VARIABLES:
        monkeypatch.setenv(variable, "2")


def threads() -> set[str]:
    return {os.environ[variable] for variable in blas._VARIABLES}


def test_a_small_model_gets_one_thread_whatever_the_environment_says(tiny_model_folder: Path) -> None:
    blas.pin_threads(tiny_model_folder)
    assert threads() == {"1"}


@pytest.mark.parametrize("folder", [None, Path("/no/such/folder"), Path("\0")])
def test_the_shipped_model_and_a_missing_folder_count_as_small(folder: Path | None) -> None:
    blas.pin_threads(folder)
    assert threads() == {"1"}


def test_a_large_model_leaves_the_choice_to_the_user(tmp_path: Path) -> None:
    for name in ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(blas.SMALL_BYTES // 2 + 1)  # a hole: takes no room on the disk
    blas.pin_threads(tmp_path)
    assert threads() == {"2"}


def test_where_a_large_model_begins_and_whom_it_concerns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """50 million float32 numbers; OpenBLAS, OpenMP, MKL and Apple's Accelerate each have a variable of their own."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    for n_bytes, found in ((4 * 50_000_000, "1"), (4 * 50_000_000 + 1, "2")):
        for name in names:
            monkeypatch.setenv(name, "2")
        with (tmp_path / "model.safetensors").open("wb") as file:
            file.truncate(n_bytes)
        blas.pin_threads(tmp_path)
        assert [os.environ[name] for name in names] == [found] * 4
