"""What tests of several commands need."""

from pathlib import Path

import pytest


@pytest.fixture
def model(tiny_model_folder: Path) -> list[str]:
    """`glass generate` of a tiny model, up to its prompt."""
    return ["generate", "-m", str(tiny_model_folder)]
