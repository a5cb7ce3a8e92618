"""What vLLM's log calls "Loading model weights took": the bytes that PyTorch has handed out once a model is loaded.

Four things make it more than the weights. vLLM fuses maps that read the same input into one tensor (queries, keys and
values; gate and up; all experts of a layer); the allocator rounds a large tensor up to 2 MiB where less than 1 MiB
would be left over; each attention layer has four scales of one number (of queries, keys, values and probabilities); and
each kind of rotary embedding keeps its cosines and sines for every position (`rope_cache`), not counted here.

To the fourth digit of 14.9888 (Llama-3.1-8B), 14.2487 (Qwen2.5-7B) and 30.7098 GiB a rank (Qwen2.5-32B on two) as it
was logged. Quantised weights are often rearranged for a kernel after loading, which may add to them.

Source: PyTorch's `CUDACachingAllocator.cpp` (kMinBlockSize, kSmallSize, kMinLargeAlloc, kRoundLarge).
"""

import re
from collections.abc import Iterator

from glasscli.budget.weights.formats import ITEM
from glasscli.budget.weights.ranks import Split, placed, shard_of
from glasscli.budget.weights.stored import Stored
from glasscli.budget.weights.weight import Weight

MIB = 1024**2
BLOCK, SMALL, LARGE, ROUND = 512, MIB, 10 * MIB, 2 * MIB
SCALES = ("q", "k", "v", "prob")
KEYS = ("k_proj", "kv_b_proj", "kv_proj", "key")
FUSED = (
    (re.compile(r"\b[qkv]_proj$"), "qkv_proj"),
    (re.compile(r"\b(gate|up)_proj$"), "gate_up_proj"),
)


def loaded_bytes(model: Stored, split: Split) -> tuple[int, ...]:
    """The bytes that one rank of each pipeline stage has allocated for its weights."""
    held: list[dict[str, int]] = [{} for _ in range(split.pp)]
    for stage, tensor in placed(model, split):
        for name, size in allocations(model, tensor, split):
            held[stage][name] = held[stage].get(name, 0) + size
    return tuple(sum(map(allocated, sizes.values())) for sizes in held)


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


def allocated(size: int) -> int:
    """What PyTorch's allocator books for a tensor of `size` bytes."""
    size = -(-size // BLOCK) * BLOCK
    if size < LARGE:
        return size
    whole = -(-size // ROUND) * ROUND
    return whole if whole - size <= SMALL else size
