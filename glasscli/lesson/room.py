"""Where a chapter is told: the model, the text, and what several chapters compute of them, once."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from glasscli.config.model_config import ModelConfig
from glasscli.errors import UsageError
from glasscli.generation.prompts import read_prompt
from glasscli.inspect.checks import bound
from glasscli.inspect.dump import Dump, Token, dump_attention
from glasscli.inspect.trace import LayerTrace

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

LONGEST = 48  # tokens: a table of more can't be read
SHOWN = 10  # rows of a table of tokens


class Room:
    """A model and a text.

    Attributes:
        text: as it was given; `n_left_out`: its tokens that are past the longest a chapter looks at.
        ids: its tokens, as the model reads them.
    """

    def __init__(self, loaded: "LoadedModel", text: str) -> None:
        """Read the text.

        Raises:
            UsageError: fewer than three tokens, or what `read_prompt` refuses.
        """
        self.loaded, self.text = loaded, text
        ids = list(read_prompt(loaded, text).token_ids)
        if len(ids) < 3:
            raise UsageError(
                f"a text of {len(ids)} token{'s' * (len(ids) != 1)} is too short for a lesson; it needs at least 3"
            )
        self.ids, self.n_left_out = ids[:LONGEST], max(0, len(ids) - LONGEST)

    @property
    def config(self) -> ModelConfig:
        """The model's settings."""
        return self.loaded.config

    @property
    def layer(self) -> int:
        """The layer that a chapter looks at where one will do: in the middle, where more than the words is known."""
        return self.config.n_layers // 2

    @cached_property
    def dump(self) -> Dump:
        """Every number of every layer's attention."""
        return dump_attention(self.loaded, self.ids, range(self.config.n_layers))

    @property
    def trace(self) -> LayerTrace:
        """Those of `layer`."""
        return self.dump.layers[self.layer]

    @cached_property
    def tokens(self) -> Sequence[Token]:
        """The text's tokens."""
        return self.dump.tokens

    def label(self, position: int) -> str:
        """A token as a table shows it, with its position: `·cat 2`."""
        return f"{self.tokens[position].label} {position}"

    def quoted(self, position: int) -> str:
        """A token in a sentence."""
        return f"“{self.tokens[position].label}”"

    @property
    def last_positions(self) -> range:
        """The positions that a table of tokens shows."""
        return range(max(0, len(self.ids) - SHOWN), len(self.ids))


def within(difference: float) -> str:
    """A difference as a sentence has it: `under 1e-06`, or the number."""
    return bound(difference).replace("< ", "under ")
