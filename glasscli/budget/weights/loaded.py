"""What vLLM's log calls "Loading model weights took": the bytes that PyTorch has handed out once a model is loaded.

Four things make it more than the weights. vLLM fuses maps that read the same input into one tensor (queries, keys and
values; gate and up; all experts of a layer); PyTorch's allocator books more than a tensor has (`allocator`); each
attention layer has four scales of one number (of queries, keys, values and probabilities); and each kind of rotary
embedding keeps its cosines and sines for every position (`rope_cache`). Those are not counted here, but the numbers
they are made from leave holes that later tensors fall into.

To the fourth digit of 2.8875 (Qwen2.5-1.5B), 14.9888 (Llama-3.1-8B), 14.2487 (Qwen2.5-7B) and 30.7098 GiB a rank
(Qwen2.5-32B on two) as it was logged. Quantised weights are often rearranged for a kernel after loading, which may add
to them.
"""

import re
from collections.abc import Iterator, Mapping

from glasscli.budget.weights.allocator import Allocator
from glasscli.budget.weights.formats import ITEM
from glasscli.budget.weights.ranks import Split, placed, shard_of
from glasscli.budget.weights.stored import Stored
from glasscli.budget.weights.weight import Weight

SCALES = ("q", "k", "v", "prob")
KEYS = ("k_proj", "kv_b_proj", "kv_proj", "key")
FUSED = (
    (re.compile(r"\b[qkv]_proj$"), "qkv_proj"),
    (re.compile(r"\b(gate|up)_proj$"), "gate_up_proj"),
)


def loaded_bytes(model: Stored, split: Split, rope: int = 0) -> tuple[int, ...]:
    """The bytes that one rank of each pipeline stage has allocated for its weights, `rope` bytes of tables apart."""
    held: list[dict[str, int]] = [{} for _ in range(split.pp)]
    first: list[str] = [""] * split.pp  # what is made after the tables are
    attended = [False] * split.pp
    for stage, tensor in placed(model, split):
        attended[stage] |= tensor.part == "attention"
        for name, size in allocations(model, tensor, split):
            held[stage][name] = held[stage].get(name, 0) + size
            if attended[stage] and tensor.part != "attention" and not first[stage]:
                first[stage] = name
    item = ITEM[model.scheme.usual.name]
    return tuple(booked(sizes, name, rope, item) - rope for sizes, name in zip(held, first, strict=True))


def booked(sizes: Mapping[str, int], first: str, rope: int, item: int) -> int:
    """The bytes for tensors in this order, and for the rotary table that is made before the one called `first`."""
    allocator = Allocator()
    for name, size in sizes.items():
        if name == first and rope:
            table(allocator, rope, item)
        allocator.take(size)
    return allocator.booked + (0 if first in sizes else rope)


def table(allocator: Allocator, rope: int, item: int) -> None:
    """Make a rotary table: angles, their cosines and sines, both beside each other in float32, then in the dtype."""
    exact = rope * ITEM["f32"] // item
    *parts, both = [allocator.take(size) for size in (exact // 2, exact // 2, exact // 2, exact)]
    for part in parts:
        allocator.give(part)
    allocator.take(rope)
    allocator.give(both)


def allocations(model: Stored, tensor: Weight, split: Split) -> Iterator[tuple[str, int]]:
    """The tensors that a weight becomes a part of: its numbers, their scales, its bias."""
    copies, rows, columns, bias = shard_of(tensor, split)
    name = tensor.name
    for pattern, fused in FUSED:
        name = pattern.sub(fused, name)
    for kind, size in enumerate(model.scheme.of(tensor).tensors(rows, columns)):
        yield f"{name}.{kind}", copies * size
    if tensor.stage >= 0 and tensor.name.endswith(KEYS):
        yield from ((f"{name}.{scale}_scale", 4) for scale in SCALES)
    if bias:
        yield f"{name}.bias", copies * bias * ITEM[model.scheme.usual.name]
