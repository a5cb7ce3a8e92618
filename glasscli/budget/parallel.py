"""Splitting a model over devices: what one rank of each kind of parallelism holds.

Tensor parallelism splits key/value heads; with more ranks than heads each head is kept by several ranks. A latent
(MLA) and a compressed row belong to all heads, so every rank keeps all of it. Recurrent states split by heads; the
groups of Mamba-2 are padded up to the ranks. Pipeline parallelism splits layers, data parallelism sequences.

Source: vLLM's `get_num_kv_heads`, `MambaStateShapeCalculator` and `get_pp_indices`.
"""

from dataclasses import replace

from glasscli.config.families import Layout
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.attention_specs import (
    CacheSpec,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    IndexKeys,
    LatentAttention,
    NoCache,
    WindowedAttention,
)
from glasscli.specs.state_specs import KDA, RGLRU, DeltaNet, LinearState, Mamba1, Mamba2, ShortConv

MOST_RANKS = 64  # how far to look for numbers of ranks that would do


class UnevenError(Exception):
    """These many ranks do not split this layer; says what does not divide."""


def shard(part: CacheSpec, tp: int) -> CacheSpec:
    """What one of `tp` ranks keeps of `part`. Raises UnevenError."""
    match part:
        case FullAttention() | WindowedAttention() | CrossAttention():
            return replace(part, n_kv_heads=heads(part.n_kv_heads, tp))
        case LatentAttention():
            return replace(part, n_heads=divide(part.n_heads, tp, "heads"))
        case CompressedAttention() | IndexKeys() | NoCache():
            return part
        case Mamba2():
            groups = 1 if part.n_groups < tp else divide(part.n_groups, tp, "state groups")
            return replace(part, n_heads=divide(part.n_heads, tp, "state heads"), n_groups=groups)
        case DeltaNet():
            return replace(
                part,
                n_k_heads=divide(part.n_k_heads, tp, "state key heads"),
                n_v_heads=divide(part.n_v_heads, tp, "state value heads"),
            )
        case KDA():
            return replace(part, n_heads=divide(part.n_heads, tp, "state heads"))
        case Mamba1():
            return replace(part, inner=divide(part.inner, tp, "state channels"))
        case ShortConv():
            return replace(part, dim=divide(part.dim, tp, "channels"))
        case RGLRU():
            return replace(part, width=divide(part.width, tp, "state channels"))
        case LinearState():
            free, fixed = (divide(count, tp, "state elements") for count in (part.free, part.fixed))
            return replace(part, free=free, fixed=fixed)
    if tp == 1:
        return part
    raise ConfigError(f"how {part.name} layers split over ranks is not known", "tp")


def heads(n_kv_heads: int, tp: int) -> int:
    """Key/value heads a rank keeps: its share, or one that other ranks keep too."""
    if n_kv_heads % tp == 0:
        return n_kv_heads // tp
    if tp % n_kv_heads == 0:
        return 1
    raise UnevenError(f"{n_kv_heads} key/value heads")


def divide(count: int, tp: int, what: str) -> int:
    """`count` split evenly. Raises UnevenError when it does not."""
    if count % tp:
        raise UnevenError(f"{count} {what}")
    return count // tp


def shard_all(layout: Layout, tp: int) -> dict[CacheSpec, CacheSpec]:
    """Each kind of part in `layout` → what one rank keeps of it.

    Raises ConfigError (field `tp`) that says what does not split and which numbers of ranks would do.
    """
    try:
        return split_over(layout, tp)
    except UnevenError as problem:
        would_do = [ranks for ranks in range(1, MOST_RANKS + 1) if splits(layout, ranks)]
        listed = ", ".join(str(ranks) for ranks in would_do)
        raise ConfigError(f"tp {tp} does not split {problem} evenly; {listed} would do", "tp") from None


def split_over(layout: Layout, tp: int) -> dict[CacheSpec, CacheSpec]:
    """As `shard_all`, but raises UnevenError, which names what does not divide and nothing more."""
    if layout.n_heads is not None:
        divide(layout.n_heads, tp, "query heads")
    return {part: shard(part, tp) for layer in dict.fromkeys(layout.layers) for part in layer.parts}


def splits(layout: Layout, tp: int) -> bool:
    """Whether `tp` ranks split every layer."""
    try:
        split_over(layout, tp)
    except UnevenError:
        return False
    return True


def stages(layout: Layout, pp: int, given: tuple[int, ...] | None) -> list[tuple[CacheSpec, ...]]:
    """The layers of each pipeline stage.

    Split evenly, what is left over goes one each to the stages before the last, which also holds the output
    layer. Raises UsageError when there are more stages than layers.
    """
    if pp > layout.n_layers:
        raise UsageError(f"{pp} pipeline stages for {layout.n_layers} layers: at most {layout.n_layers}")
    counts = list(given) if given else [layout.n_layers // pp] * pp
    if not given:
        for spare in range(layout.n_layers % pp):
            counts[-2 - spare] += 1
    ends = [sum(counts[: stage + 1]) for stage in range(pp)]
    return [layout.layers[end - count : end] for count, end in zip(counts, ends, strict=True)]


def replicas(batch: int, dp: int) -> dict[int, int]:
    """Sequences in a data-parallel replica → how many replicas hold that many; the fullest first.

    A replica without a sequence holds nothing, not even a prefix that the others share.
    """
    share, more = divmod(batch, dp)
    held = {share + 1: more, share: dp - more}
    return {sequences: count for sequences, count in held.items() if sequences and count}
