"""From one part of training to the next, and the mean of the weights at its end and at some points before.

The weights of such points lie about the same valley, and their mean nearer to its floor than most of them.

Source: Izmailov et al. 2018, arXiv:1803.05407 (averaging along a run); Wortsman et al. 2022, arXiv:2109.01903
(interpolating with earlier weights).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from . import checkpoint
from .model import Llama, Shape
from .settings import LAST_SHARE, Settings


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


def tail_mean(shape: Shape, points: Sequence[Path], last: Path) -> Llama:
    """The mean that is shipped: `LAST_SHARE` of the last weights, the rest of the points before, each alike."""
    return average(shape, {**dict.fromkeys(points, (1 - LAST_SHARE) / len(points)), last: LAST_SHARE})
