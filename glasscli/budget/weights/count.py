"""How many parameters a model has, counted from its config.json alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from glasscli.budget.weights.classes import defaults
from glasscli.budget.weights.expand import expanded
from glasscli.budget.weights.names import FFN, VOCAB
from glasscli.budget.weights.weight import PARTS, Weight
from glasscli.config.families import known, nested
from glasscli.config.families.fields import Fields
from glasscli.errors import ConfigError

STATED = nested.STATED | {*VOCAB, *FFN}  # a config at the root says these itself


@dataclass(frozen=True)
class Weights:
    """The weights of one model. `notes` says what was taken from the class because the config says nothing."""

    model_type: str
    tensors: tuple[Weight, ...]
    notes: tuple[str, ...] = ()

    @property
    def n_parameters(self) -> int:
        """All of them; a head that is the embedding counts once."""
        return sum(tensor.n_parameters for tensor in self.tensors)

    @property
    def n_active(self) -> int:
        """Those that one token meets: of the experts, only the ones it goes through.

        Raises ConfigError where the config doesn't say how many experts that is.
        """
        if any(not tensor.active for tensor in self.tensors):
            raise ConfigError(
                "num_experts_per_tok is missing: how many experts a token goes through", "num_experts_per_tok"
            )
        return sum(tensor.n_active for tensor in self.tensors)

    def by_part(self) -> dict[str, int]:
        """Parameters of each part that the model has, in the order of `PARTS`."""
        found = dict.fromkeys(PARTS, 0)
        for tensor in self.tensors:
            found[tensor.part] += tensor.n_parameters
        return {part: count for part, count in found.items() if count}


def weights(config: Mapping[str, Any]) -> Weights:
    """The weights of the model that `config` describes: of the class that generates, with its towers.

    Raises ConfigError, naming the field, where something is missing or malformed, and naming the type where no
    outline is known: a count is never guessed.
    """
    if not isinstance(config, Mapping):
        raise ConfigError("a config is a JSON object, not a list or a single value")
    root = Fields(config)
    kind = nested.published_type(config, nested.model_type(root))
    usual = {**known.defaults(kind), **defaults(kind)}
    own = {name: value for name, value in usual.items() if name not in STATED}
    read = Fields(config, "", own, notes=root.notes)
    return Weights(kind, tuple(expanded(read, kind)), tuple(read.notes))
