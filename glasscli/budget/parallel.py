"""Splitting a model over devices: what one rank of each kind of parallelism holds.

Tensor parallelism splits each layer as its spec says: key/value heads, with more ranks than heads each kept by
several; a latent (MLA) and a compressed row belong to all heads, so every rank keeps all of it; recurrent states by
heads. Pipeline parallelism splits layers, data parallelism sequences.

Source: vLLM's `get_num_kv_heads`, `MambaStateShapeCalculator` and `get_pp_indices`.
"""

from glasscli.config.families import Layout
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.cache_spec import CacheSpec
from glasscli.specs.sharding import UnevenError, divide

MOST_RANKS = 64  # how far to look for numbers of ranks that would do


def shard_all(layout: Layout, tp: int) -> dict[CacheSpec, CacheSpec]:
    """Each different part in `layout` → what one rank keeps of it.

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
    return {part: part.shard(tp) for layer in dict.fromkeys(layout.layers) for part in layer.parts}


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
