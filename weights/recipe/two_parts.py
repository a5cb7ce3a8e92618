"""Both parts of training, one after the other, in a folder: a constant rate, then the decay."""

from collections.abc import Sequence
from pathlib import Path

from .average import go_on
from .data import Corpus
from .evaluate import HeldOut
from .model import Shape
from .settings import CONSTANT, DECAY
from .train import Run


def train_both(
    corpus: Corpus,
    held_out: HeldOut,
    folder: Path,
    shape: Shape,
    points: Sequence[int] = (),
    *,
    share: float,
    compiled: bool,
) -> tuple[Run, Run]:
    """Train on `share` of the tokens, keeping the weights at `points` of the decay; goes on where it was stopped."""
    before, after = folder / "constant", folder / "decay"
    constant = Run(before, CONSTANT.scaled(share), shape, compiled=compiled)
    constant.train(corpus, held_out)
    go_on(constant.path, after / constant.path.name, DECAY.scaled(share))
    decay = Run(after, DECAY.scaled(share), shape, compiled=compiled)
    decay.train(corpus, held_out, points=points)
    return constant, decay
