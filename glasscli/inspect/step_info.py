"""What is told of a step: its name, formula, axes, two sentences, and where our code computes it."""

from dataclasses import dataclass

from glasscli.config.model_config import ModelConfig


@dataclass(frozen=True)
class StepInfo:
    """What a step is.

    Attributes:
        name: what users call it.
        formula: an equation; `{E}` stands for the width of a head, `{bias}` for a bias where there is one.
        axes: how its array is indexed. `head` counts query heads, `kv_head` key/value heads, `query` new
            positions, `key` all positions seen, `dim` numbers of a vector.
        explanation: two plain sentences.
        source: module, and a piece of the line there that computes it.
        width: how many numbers its last axis has: those of a head ("E"), of the stream ("D"), of the MLP ("F"), or as
            many as there are tokens in the vocabulary ("V").
    """

    name: str
    formula: str
    axes: tuple[str, ...]
    explanation: str
    source: tuple[str, str]
    width: str = "E"

    @property
    def is_square(self) -> bool:
        """Whether it has a number for each query and key."""
        return "query" in self.axes and "key" in self.axes

    def equation(self, config: ModelConfig) -> str:
        """The formula with this model's numbers in it."""
        biased = {"out": config.out_bias, **dict.fromkeys(("q", "k", "v"), config.qkv_bias)}
        there = biased.get(self.name, config.mlp_bias)
        letter = {"out": "O"}.get(self.name, self.name.upper() if len(self.name) == 1 else self.name)
        bias = f" + b_{letter}" if there else ""
        return self.formula.format(E=config.head_dim, bias=bias)

    def shape(self, config: ModelConfig, n_queries: int, n_keys: int) -> tuple[int, ...]:
        """The shape of its array."""
        widths = {"E": config.head_dim, "D": config.dim, "F": config.ffn_dim, "V": config.vocab_size}
        sizes = {"head": config.n_heads, "kv_head": config.n_kv_heads, "query": n_queries, "key": n_keys, "side": 2}
        return tuple(sizes.get(axis, widths[self.width]) for axis in self.axes)
