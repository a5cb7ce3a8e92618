"""What a model's weights are, as data: what `outlines/*.txt` say, once read.

A line is a tensor, or as many alike as there are experts. Sizes, conditions and the words of a row are expressions
over the config's fields (see `expressions` and `names`); `reader` tells the format.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from glasscli.budget.weights.weight import Part, Split


@dataclass(frozen=True)
class Line:
    """One tensor of an outline. Every field but `name`, `part` and `split` is an expression; empty: none."""

    name: str
    part: Part
    rows: str
    columns: str
    split: Split
    heads: str = ""
    bias: str = ""
    copies: str = ""
    condition: str = ""
    plain: bool = False

    def when(self, condition: str) -> "Line":
        """The same tensor, there only where `condition` holds too."""
        both = f"({condition}) and ({self.condition})" if self.condition else condition
        return replace(self, condition=both)


Lines = tuple[Line, ...]


@dataclass(frozen=True)
class Stack:
    """Layers alike up to what their conditions say: `count` of them, named `prefix` and a number.

    `words` are meanings that hold in these layers alone: an encoder's heads are not the decoder's.
    """

    prefix: str
    count: str
    lines: Lines
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Inner:
    """A model nested in the config's field `place`, and what its outline's words mean there.

    `part` is the part that all its weights belong to: vision, audio; empty where they keep their own.
    """

    place: str
    part: str = ""
    model_type: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    condition: str = ""


@dataclass(frozen=True)
class Outline:
    """A model: what there is once, its stacks of layers, the models nested in it, and what its own words mean.

    `unknown` lists what no count is known for: a condition, the field at fault and what to say of it.
    """

    top: Lines = ()
    stacks: tuple[Stack, ...] = ()
    inner: tuple[Inner, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[tuple[str, str, str], ...] = ()
