"""What one rank keeps of the weights, as vLLM splits and copies them.

Tensor parallelism splits a map by its outputs or its inputs; key/value heads that are fewer than the ranks are copied,
norms and routers are on every rank, a vocabulary is padded to a multiple of 64 first. Experts are split over all ranks
of all replicas: each by its width, or whole experts where they are spread. Pipeline stages hold their layers; the first
holds the embedding, the last the head, and a copy of the embedding where that is the head. A tower is on every stage.

Source: vLLM's `linear.py`, `vocab_parallel_embedding.py`, `fused_moe/config.py` and `get_pp_indices`; data parallel
deployment in its documentation ("expert layers form a tensor parallel group of size DP × TP").
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from glasscli.budget.weights.formats import ITEM
from glasscli.budget.weights.stored import Stored
from glasscli.budget.weights.weight import Weight
from glasscli.errors import ConfigError, UsageError

TOWERS = ("vision", "audio")
VOCABULARY = 64  # rows of an embedding are padded to a multiple
LAST = ("model.norm", "lm_head")


@dataclass(frozen=True)
class Split:
    """How a model is split: tensor-parallel ranks, pipeline stages, replicas; `ep`: experts spread whole.

    `pcp` ranks share the work on a prompt: the experts are split over them, too.
    `pp_layers` gives the layers of each stage where they are not split evenly.
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: bool = False
    pp_layers: tuple[int, ...] | None = None
    pcp: int = 1


def stage_bytes(model: Stored, split: Split) -> tuple[int, ...]:
    """The bytes of one rank of each pipeline stage.

    Raises ConfigError (field `tp`) for a map that the ranks do not split evenly, UsageError for stages that do not
    add up to the layers.
    """
    held = [0] * split.pp
    for stage, tensor in placed(model, split):
        copies, rows, columns, bias = shard_of(tensor, split)
        one = model.scheme.of(tensor).n_bytes(rows, columns) + bias * ITEM[model.scheme.usual.name]
        held[stage] += copies * one
    return tuple(held)


def placed(model: Stored, split: Split) -> Iterator[tuple[int, Weight]]:
    """Every tensor with each stage that holds it."""
    tensors = model.weights.tensors
    n_layers = max((tensor.stage for tensor in tensors), default=-1) + 1
    counts = layers_of(n_layers, split)
    ends = [sum(counts[: stage + 1]) for stage in range(split.pp)]
    tied = not any(tensor.part == "head" for tensor in tensors)
    for tensor in tensors:
        for stage in stages_of(tensor, ends, tied):
            yield stage, tensor


def layers_of(n_layers: int, split: Split) -> Sequence[int]:
    """How many layers each stage holds: what is left over goes one each to the stages before the last."""
    if split.pp_layers:
        if len(split.pp_layers) != split.pp or sum(split.pp_layers) != n_layers:
            raise UsageError(f"pp_layers must be {split.pp} numbers that add up to {n_layers} layers")
        return split.pp_layers
    if split.pp > max(n_layers, 1):
        raise UsageError(f"{split.pp} pipeline stages for {n_layers} layers: at most {n_layers}")
    counts = [n_layers // split.pp] * split.pp
    for spare in range(n_layers % split.pp):
        counts[-2 - spare] += 1
    return counts


def stages_of(tensor: Weight, ends: Sequence[int], tied: bool) -> Iterator[int]:
    """The stages that hold a tensor."""
    last = len(ends) - 1
    if tensor.part in TOWERS:
        yield from range(last + 1)
    elif tensor.stage >= 0:
        yield next(stage for stage, end in enumerate(ends) if tensor.stage < end)
    elif tensor.part == "head" or tensor.name.removeprefix("text_config.").startswith(LAST):
        yield last
    else:
        yield 0
        if tied and last and tensor.part == "embedding" and tensor.split == "vocab":
            yield last


def shard_of(tensor: Weight, split: Split) -> tuple[int, int, int, int]:
    """Copies, and rows, columns and bias of each, that one tensor-parallel rank keeps of a tensor."""
    copies, ranks = tensor.copies, split.tp
    if tensor.copies > 1:
        ranks = split.tp * split.dp * split.pcp
        if split.ep:
            copies, ranks = -(-tensor.copies // ranks), 1
    return (copies, *shard(tensor, ranks))


def shard(tensor: Weight, ranks: int) -> tuple[int, int, int]:
    """Rows, columns and bias of one rank's share of one copy."""
    rows, columns, bias = tensor.rows, tensor.columns or 1, tensor.bias
    match tensor.split:
        case "column":
            rows = _divided(rows, ranks, tensor)
        case "row":
            columns = _divided(columns, ranks, tensor)
        case "kv":
            whole = tensor.heads >= ranks
            rows = _divided(rows, ranks, tensor) if whole else rows // tensor.heads
        case "vocab":
            rows = -(-rows // VOCABULARY) * VOCABULARY // ranks
    if bias and tensor.split != "row":
        bias = rows
    return rows, columns, bias


def _divided(count: int, ranks: int, tensor: Weight) -> int:
    if count % ranks:
        raise ConfigError(f"tp {ranks} does not split {tensor.name} evenly: it has {count:,} to split", "tp")
    return count // ranks
