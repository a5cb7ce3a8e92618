"""A model without some of its heads or MLPs, to be used as any other: it generates, is traced, is scored.

Ablation edits a run (`ablation.remove`); here the weights are changed, to the same end, so that all forms of a run see
it, the fast decode step included. A part's rows of the output matrix become zero; its mean, where that is to stand in
its place, becomes a bias. What the part itself computes stays to be seen.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.errors import UsageError
from glasscli.inspect.ablation import METHODS, Part, check_part, mean_outputs
from glasscli.model.ops import linear
from glasscli.model.weights import BlockWeights

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

PART = re.compile(r"(?P<layer>\d{1,9})\.(?P<head>\d{1,9})|mlp[ .]?(?P<mlp>\d{1,9})")


def named_part(name: str) -> Part:
    """The part that a name means: `3.2` is head 2 of layer 3, `mlp1` the MLP of layer 1; what `Part.label` says, too.

    Raises:
        UsageError: it means none.
    """
    found = PART.fullmatch(name.strip())
    if found is None:
        raise UsageError(
            f"{name.strip()!r} names no part of a model; expected a head such as 3.2 or an MLP such as mlp1"
        )
    return Part(int(found["mlp"])) if found["mlp"] else Part(int(found["layer"]), int(found["head"]))


def named_parts(names: str) -> dict[Part, str]:
    """The parts that `3.2,mlp1=mean` names, each with what is put in its place: "zero", or what follows its `=`.

    Raises:
        UsageError: a name means no part, a part is named twice, or a method is unknown.
    """
    parts: dict[Part, str] = {}
    for item in names.split(","):
        name, equals, method = item.partition("=")
        part, method = named_part(name), method.strip() if equals else "zero"
        if part in parts:
            raise UsageError(f"{part.label} is named twice")
        if method not in METHODS:
            raise UsageError(f"no ablation {method!r} for {part.label}. There are: {', '.join(METHODS)}.")
        parts[part] = method
    return parts


def without(
    loaded: "LoadedModel", parts: Sequence[Part] | Mapping[Part, str], ids: Sequence[int] = ()
) -> "LoadedModel":
    """The model without some parts.

    Args:
        parts: with the method of each, see `named_parts`; a sequence is set to zero.
        ids: the text that means are taken over, see `mean_outputs`.

    Raises:
        UsageError: the model has no such part, or there is a mean to take and no text.
    """
    methods = dict(parts) if isinstance(parts, Mapping) else dict.fromkeys(parts, "zero")
    for part in methods:
        check_part(part, loaded.config)
    averaged = [part for part, method in methods.items() if method == "mean"]
    if averaged and not len(ids):
        raise UsageError(f"{averaged[0].label} can't be set to its mean: there is no text to take the mean over")
    means = mean_outputs(loaded, ids, averaged) if averaged else {}
    blocks = {layer: loaded.model.weights.blocks[layer] for layer in {part.layer for part in methods}}
    for part in methods:
        blocks[part.layer] = _taken_out(blocks[part.layer], part, loaded.config.head_dim, means.get(part))
    names = [f"{part.label}={method}" if method != "zero" else part.label for part, method in methods.items()]
    return replace(loaded, model=loaded.model.with_blocks(blocks), removed=(*loaded.removed, *names))


def _taken_out(block: BlockWeights, part: Part, head_dim: int, mean: Array | None) -> BlockWeights:
    """A block whose head, or MLP, adds nothing, or always `mean`."""
    mean = None if mean is None else mean.astype(np.float32)
    if part.head is None:
        return replace(block, down=np.zeros_like(block.down), down_bias=mean)
    rows = slice(part.head * head_dim, (part.head + 1) * head_dim)
    out, bias = block.out.copy(), block.out_bias
    if mean is not None:
        bias = linear(mean, out[rows], bias)
    out[rows] = 0
    return replace(block, out=out, out_bias=bias)
