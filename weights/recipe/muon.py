"""Muon: momentum whose matrix updates are made orthogonal. One update rule for all block matrices.

Source: Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/ (coefficients and the
Nesterov form). Matrices of one size are updated together, stacked on a first axis.
"""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor


def orthogonalise(matrices: Tensor, steps: int = 5) -> Tensor:
    """Replace each matrix [n, rows, cols] by roughly U V^T of its singular value decomposition.

    A quintic Newton-Schulz iteration that pushes every singular value towards one (it ends
    between about 0.7 and 1.2, which is close enough for an update direction).
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    found: Tensor = x.mT if tall else x
    return found


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, orthogonalised, with decoupled weight decay. For 2-D parameters only."""

    def __init__(
        self,
        params: Iterable[torch.nn.Parameter],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Apply one update from the gradients that `backward` left."""
        for group in self.param_groups:
            by_size: defaultdict[torch.Size, list[torch.nn.Parameter]] = defaultdict(list)
            for param in group["params"]:
                by_size[param.shape].append(param)
            for params in by_size.values():
                self._step_alike(params, group["lr"], group["momentum"], group["weight_decay"])

    def _step_alike(self, params: list[torch.nn.Parameter], lr: float, momentum: float, weight_decay: float) -> None:
        moments, grads = [], []
        for param in params:
            assert param.grad is not None, "backward comes first"
            grads.append(param.grad)
            state = self.state[param]
            if "momentum" not in state:
                state["momentum"] = torch.zeros_like(param)
            moments.append(state["momentum"].lerp_(param.grad, 1 - momentum))
        updates = orthogonalise(torch.stack(grads).lerp(torch.stack(moments), momentum))
        rows, cols = params[0].shape
        # A tall matrix gets a larger step, so that a unit input moves its output equally far.
        scale = lr * max(1.0, rows / cols) ** 0.5
        for param, update in zip(params, updates, strict=True):
            param.mul_(1 - lr * weight_decay).sub_(update, alpha=scale)
