"""How far each layer turns queries and keys: the rotations of positions, made once for all layers that turn alike."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from glasscli.arrays import Array
from glasscli.config.model_config import ModelConfig
from glasscli.config.rotary import RopeScaling
from glasscli.model.rope import Rotations, frequencies, rotate, rotations_at

Positions = NDArray[np.intp]
Turn = Callable[[Array], Array]


class Turning:
    """The rotations of a model. Holds frequencies, and nothing of a text."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        kinds = [rope for rope in dict.fromkeys(config.ropes) if rope is not None]
        self._frequencies = {rope: frequencies(rope, config.head_dim) for rope in kinds}

    @property
    def alike(self) -> bool:
        """Whether all layers turn alike, and by angles that no text's length changes."""
        return set(self.config.ropes) == {self.config.rope} and not self.config.rope.grows

    def span(self, start: int, stop: int, rope: RopeScaling | None = None) -> Rotations:
        """The rotations of positions `start` to `stop` − 1, complex64 [stop − start, E/2]."""
        return rotations_at(self._frequencies[rope or self.config.rope], np.arange(start, stop))

    def by_layer(self, positions: Positions, n_seen: int) -> tuple[Rotations | None, ...]:
        """For each layer the rotations at `positions` of a text of `n_seen` tokens; None where it does not turn."""
        made = {rope: self._at(rope, positions, n_seen) for rope in self._frequencies}
        for rope, turns in made.items():
            if rope.attention_factor != 1:
                turns *= np.float32(rope.attention_factor)
        return tuple(None if rope is None else made[rope] for rope in self.config.ropes)

    def back(self, drop: int, n_seen: int) -> list[Turn | None]:
        """For each layer, what turns keys back by `drop` positions; None where they carry none."""
        turns = {rope: _turner(self._at(rope, np.array([drop]), n_seen).conj()) for rope in self._frequencies}
        return [None if rope is None else turns[rope] for rope in self.config.ropes]

    def forward(self, rows: Array, by: Positions) -> Array:
        """Rows [..., T, E] turned forward by so many positions each [T], as the first layer turns."""
        return rotate(np.ascontiguousarray(rows), rotations_at(self._frequencies[self.config.rope], by))

    def _at(self, rope: RopeScaling, positions: Positions, n_seen: int) -> Rotations:
        """Rotations of length 1."""
        frequency = frequencies(rope, self.config.head_dim, n_seen) if rope.grows else self._frequencies[rope]
        return rotations_at(frequency, positions)


def _turner(rotations: Rotations) -> Turn:
    return lambda keys: rotate(np.ascontiguousarray(keys), rotations)
