"""The bytes of a model's weights as a checkpoint stores them and an engine loads them, from its config.json alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from glasscli.budget.weights.count import Weights, weights
from glasscli.budget.weights.quantisation import Scheme, scheme
from glasscli.budget.weights.weight import PARTS
from glasscli.config.families import dtype, nested
from glasscli.config.families.fields import Fields


@dataclass(frozen=True)
class Stored:
    """A model's weights and how each is stored. `notes` says what was assumed."""

    weights: Weights
    scheme: Scheme
    notes: tuple[str, ...] = ()

    @property
    def n_bytes(self) -> int:
        """What all of them take, scales included, on no more than one device."""
        return sum(self.scheme.n_bytes(tensor) for tensor in self.weights.tensors)

    def by_part(self) -> dict[str, int]:
        """Bytes of each part that the model has, in the order of `PARTS`."""
        found = dict.fromkeys(PARTS, 0)
        for tensor in self.weights.tensors:
            found[tensor.part] += self.scheme.n_bytes(tensor)
        return {part: size for part, size in found.items() if size}


def stored(config: Mapping[str, Any]) -> Stored:
    """The weights that `config` describes, in the dtype or the quantisation that it names.

    All that is not quantised is counted in the model's dtype, also the few vectors that some engines keep in float32.
    Raises ConfigError, naming the field, as `weights` does, and where the layout of a quantisation is not known.
    """
    found = weights(config)
    root, text = Fields(config), nested.text_part(config, "logical")[1]
    name = dtype.model_dtype(root, text)
    notes = (*found.notes, *root.notes, *text.notes)
    return Stored(found, scheme(root, text, name), tuple(dict.fromkeys(notes)))
