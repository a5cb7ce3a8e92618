"""Words for layouts: how a model's heads share keys (MHA, GQA, MQA, MLA …) and what a layer of each kind holds."""

from glasscli.config.families import Layout
from glasscli.specs.attention_specs import (
    CacheSpec,
    ChunkedAttention,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    LatentAttention,
    NoCache,
    SlidingAttention,
    WindowedAttention,
    each_part,
)

STATES = {
    "mamba1": "Mamba",
    "mamba2": "Mamba-2",
    "deltanet": "DeltaNet",
    "kda": "KDA",
    "conv": "conv",
    "rg-lru": "RG-LRU",
    "linear": "linear",
}


def sharing(layout: Layout) -> str:
    """How the model's heads share what is cached: `GQA + window`, `MLA`, `GQA + DeltaNet`.

    With layers of several shapes, the attention that keeps every token decides between MHA, GQA and MQA.
    """
    parts = list(dict.fromkeys(each_part(layout.layers)))
    heads: list[FullAttention | WindowedAttention] = [part for part in parts if isinstance(part, FullAttention)]
    heads = heads or [part for part in parts if isinstance(part, WindowedAttention)]
    words = []
    if heads:
        words.append(sharing_of(heads[0].n_kv_heads, layout.n_heads))
    if any(isinstance(part, LatentAttention) for part in parts):
        words.append("MLA")
    if any(isinstance(part, CompressedAttention) for part in parts):
        words.append("compressed")
    if any(part.name == "index" or getattr(part, "index_dim", 0) for part in parts):
        words.append("index")
    most = layout.max_positions
    if any(isinstance(part, SlidingAttention) and (most is None or part.size < most) for part in parts):
        words.append("window")
    if any(isinstance(part, ChunkedAttention) for part in parts):
        words.append("chunks")
    words += dict.fromkeys(STATES[part.name] for part in parts if part.name in STATES)
    if any(isinstance(part, CrossAttention) for part in parts):
        words.append("cross")
    return " + ".join(words) or "no cache"


def sharing_of(n_kv_heads: int, n_heads: int | None) -> str:
    """MHA, GQA or MQA."""
    if n_heads is None or n_kv_heads == n_heads:
        return "MHA"
    return "MQA" if n_kv_heads == 1 else "GQA"


def name(part: CacheSpec) -> str:
    """A kind with the length at which it stops growing: `sliding 1,024`."""
    if isinstance(part, NoCache):
        return "no cache"
    if isinstance(part, CompressedAttention):
        return f"{part.name} {part.ratio}:1" if part.ratio else f"sliding {part.size:,}"
    return part.name if part.window is None else f"{part.name} {part.window:,}"


def shape(part: CacheSpec) -> str:
    """What one layer holds: the widths of a token's row, or of the state."""
    if isinstance(part, FullAttention | WindowedAttention | CrossAttention):
        heads = f"{part.n_kv_heads:,} KV head{'s' * (part.n_kv_heads != 1)}"
        return f"{heads} × {part.k_dim}" if part.k_dim == part.v_dim else f"{heads} × K {part.k_dim}, V {part.v_dim}"
    if isinstance(part, LatentAttention):
        index = f" + index {part.index_dim}" if part.index_dim else ""
        return f"latent {part.latent_dim} + {part.rope_dim}{index}"
    if isinstance(part, CompressedAttention):
        index = f" + index {part.index_dim}" if part.index_dim else ""
        return f"rows of {part.width}{index}"
    if isinstance(part, NoCache):
        return part.why
    return " + ".join(f"{tensor.role} {tensor.rows * tensor.width:,}" for tensor in part.tensors(1))
