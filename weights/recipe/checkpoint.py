"""What a run must remember, and keeping it so that a kill at any moment loses no more than a minute.

A checkpoint is written beside the old one and then put in its place in one step, so there is always
a whole one. Nothing random has a state of its own: batches are a function of seed, epoch and place.
"""

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from .settings import Settings


@dataclass
class Progress:
    """Where the run stands. Times are added up over every stretch of it."""

    tokens: int = 0  # targets learnt from
    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch already used
    cpu_s: float = 0.0
    wall_s: float = 0.0
    loss_sum: float = 0.0  # over the steps since the curve's last point
    loss_count: int = 0
    curve: list[dict[str, float]] = field(default_factory=list)


def save(path: Path, settings: Settings, progress: Progress, model: torch.nn.Module, optimizers: list[Any]) -> None:
    """Write everything needed to go on."""
    state = {
        "settings": asdict(settings),
        "progress": asdict(progress),
        "model": model.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in optimizers],
    }
    write(path, state)


def write(path: Path, state: dict[str, Any]) -> None:
    """Write a state under another name first, so that `path` is always whole."""
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def load(path: Path) -> tuple[Settings, Progress, dict[str, Any]]:
    """Settings, progress, and the states of `model` and `optimizers` under those names."""
    state = torch.load(path, weights_only=True)
    return Settings(**state["settings"]), Progress(**state["progress"]), state
