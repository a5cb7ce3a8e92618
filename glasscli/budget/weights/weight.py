"""One tensor of a model, or as many alike as there are experts: what is counted, stored and split."""

from dataclasses import dataclass
from typing import Literal

Part = Literal["embedding", "attention", "mlp", "experts", "norms", "head", "vision", "audio", "other"]
PARTS: tuple[Part, ...] = ("embedding", "attention", "mlp", "experts", "norms", "head", "vision", "audio", "other")

# How tensor parallelism splits a tensor: by its rows (outputs), by its columns (inputs; a bias stays whole), by
# key/value heads, by vocabulary, or not at all.
Split = Literal["column", "row", "kv", "vocab", "all"]
SPLITS: tuple[Split, ...] = ("column", "row", "kv", "vocab", "all")


@dataclass(frozen=True)
class Weight:
    """A tensor named as the checkpoint names it, without `.weight`; `*` stands for an expert's number.

    Attributes:
        rows: outputs of a linear map, tokens of an embedding, or all the elements of a vector.
        columns: inputs; None for what no matrix multiplication reads: norms, convolutions, scales.
        copies: how many there are alike; more than 1 for experts alone.
        active: how many of them one token goes through.
        bias: elements of the bias of each copy.
        heads: for the split "kv", how many key/value heads the rows divide into.
        plain: whether no quantisation touches it, though it is a linear map: a router.
        stage: which layer it belongs to, counted from 0; -1 before the first, the number of layers after the last.
    """

    name: str
    part: Part
    rows: int
    columns: int | None
    split: Split
    bias: int = 0
    copies: int = 1
    active: int = 1
    heads: int = 0
    plain: bool = False
    stage: int = -1

    @property
    def elements(self) -> int:
        """Numbers of one copy's matrix or vector, without its bias."""
        return self.rows * (1 if self.columns is None else self.columns)

    @property
    def n_parameters(self) -> int:
        """Numbers in all copies, biases included."""
        return self.copies * (self.elements + self.bias)

    @property
    def n_active(self) -> int:
        """Numbers that one token is multiplied with, or added to."""
        return self.active * (self.elements + self.bias)

    @property
    def is_linear(self) -> bool:
        """Whether a matrix multiplication reads it, so that a quantisation may store it otherwise."""
        return self.columns is not None and self.part != "embedding" and not self.plain
