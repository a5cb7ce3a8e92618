"""Two runs to one model: a second run that leaves the first halfway, and the mean of their weights.

Models that share their first half lie in one valley, so the mean of their weights is a model too. It keeps what both
learnt and loses much of what only one did, which is mostly single stories by heart.

Source: Wortsman et al. 2022, arXiv:2203.05482 (model soups); Izmailov et al. 2018, arXiv:1803.05407 (averaging along
one run).
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from . import checkpoint
from .model import Llama, Shape
from .settings import Settings
from .train import BRANCH


def begin_branch(first: Path, second: Path, settings: Settings) -> None:
    """Let a run in folder `second` begin where that in `first` kept a copy, at the start of a new epoch.

    Does nothing if it has begun already.
    """
    if (second / "checkpoint.pt").exists():
        return
    _, progress, state = checkpoint.load(first / BRANCH)
    progress.epoch, progress.batch, progress.epoch_tokens = progress.epoch + 1, 0, progress.tokens
    progress.loss_sum, progress.loss_count = 0.0, 0
    state["settings"], state["progress"] = vars(settings), vars(progress)
    second.mkdir(parents=True, exist_ok=True)
    checkpoint.write(second / "checkpoint.pt", state)


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
