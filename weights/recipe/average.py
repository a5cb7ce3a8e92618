"""From one part of training to the next, and the mean of the weights at the ends of both.

The mean keeps what both know and loses some of what only the later one does, which is mostly single stories by heart.

Source: Izmailov et al. 2018, arXiv:1803.05407 (averaging along a run); Wortsman et al. 2022, arXiv:2109.01903
(interpolating with earlier weights).
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from . import checkpoint
from .model import Llama, Shape
from .settings import Settings


def go_on(before: Path, after: Path, settings: Settings) -> None:
    """Let a part with `settings` begin, at checkpoint `after`, where checkpoint `before` ended, with a new epoch.

    Does nothing if it has begun already.
    """
    if after.exists():
        return
    _, progress, state = checkpoint.load(before)
    progress.epoch, progress.batch = progress.epoch + 1, 0
    progress.loss_sum, progress.loss_count = 0.0, 0
    state["settings"], state["progress"] = vars(settings), vars(progress)
    after.parent.mkdir(parents=True, exist_ok=True)
    checkpoint.write(after, state)


def average(shape: Shape, shares: Mapping[Path, float]) -> Llama:
    """The mean of the models in some checkpoints, each counting for its share. Shares add up to 1."""
    assert abs(sum(shares.values()) - 1) < 1e-9, "shares must add up to 1"
    total: dict[str, Tensor] = {}
    for path, share in shares.items():
        for name, tensor in checkpoint.load(path)[2]["model"].items():
            total[name] = total.get(name, torch.zeros(())) + share * tensor
    model = Llama(shape)
    model.load_state_dict(total)
    return model
