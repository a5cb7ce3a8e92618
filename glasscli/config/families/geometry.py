"""What a config says about attention: how many heads, how wide, over how many tokens.

One function for each kind of attention layer; each takes the fields as they are for one layer and that
layer's number. The names a quantity goes by stand in one place, the oldest models' last.
"""

from glasscli.config.families.fields import Fields, shown
from glasscli.specs.attention_specs import (
    CacheSpec,
    ChunkedAttention,
    FullAttention,
    LatentAttention,
    NoCache,
    SlidingAttention,
)

LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers", "layers")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads", "num_query_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "num_attention_groups", "num_query_groups",
            "n_kv_heads", "n_kv_head", "kv_n_heads", "num_multi_query_heads", "n_query_groups", "num_kv_groups",
            "n_kv_groups")  # fmt: skip
WIDTH = ("hidden_size", "d_model", "n_embd", "n_embed", "model_dim", "embed_dim", "emb_dim", "dim",
         "decoder_embed_dim")  # fmt: skip
HEAD_DIM = ("head_dim", "attention_head_dim", "d_kv", "kv_channels", "d_head", "attention_head_size",
            "hidden_size_per_head", "dim_head", "head_size")  # fmt: skip
WINDOW = ("sliding_window", "sliding_window_size", "attention_window_size")
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length",
             "model_max_length", "n_ctx")  # fmt: skip


def n_heads(read: Fields) -> int:
    """Query heads."""
    return int(read.integer(*HEADS))


def n_kv_heads(read: Fields) -> int:
    """Key/value heads; as many as query heads where nothing is said. They must divide the query heads.

    A config that gives them need not give the query heads: the cache has no use for those.
    """
    if not read.has(*HEADS) and read.has(*KV_HEADS):
        return int(read.integer(*KV_HEADS))
    heads = n_heads(read)
    if read.defaults.get("alike"):  # the class knows no other number
        return heads
    kv_heads: int = read.integer(*KV_HEADS, default=heads)
    if heads % kv_heads:
        name = read.named(*KV_HEADS)
        read.refuse(name, f"is {kv_heads}, which does not divide {read.named(*HEADS)} ({heads})")
    return kv_heads


def head_dim(read: Fields) -> int:
    """Width of a head: its own field, else the model's width over the query heads."""
    own = read.integer(*HEAD_DIM, default=None)
    if own:
        return int(own)
    if read.defaults.get("floors"):  # the class rounds down
        return max(1, int(read.integer(*WIDTH)) // n_heads(read))
    return read.divide("|".join(WIDTH), n_heads(read), read.named(*HEADS))


def value_dim(read: Fields, k_dim: int) -> int:
    """Width of a value head: a key's, unless stated. DeepSeek's files say 0 where they mean no MLA."""
    return int(read.integer("v_head_dim", default=0, least=0)) or k_dim


def window_size(read: Fields) -> int:
    """The window of a layer that has one."""
    size = read.get(*WINDOW)
    if size is None:
        read.refuse(WINDOW[0], "is missing, but a layer is said to slide")
    return read.whole(size, read.named(*WINDOW))


def is_latent(read: Fields) -> bool:
    """Whether attention caches a latent row (MLA): DeepSeek's smallest models switch it off by use_mla."""
    return read.get("kv_lora_rank") is not None and read.flag("use_mla", True)


def full(read: Fields, layer: int) -> CacheSpec:
    """Attention over everything: a latent row where the config has a `kv_lora_rank`, else keys and values."""
    if is_latent(read):
        return latent(read, layer)
    k_dim = head_dim(read)
    return FullAttention(n_kv_heads(read), k_dim, value_dim(read, k_dim))


def sliding(read: Fields, layer: int) -> CacheSpec:
    """Attention over a window, with the geometry that `swa_` fields give such layers."""
    size = window_size(read)
    if is_latent(read):
        return latent(read, layer, size)
    for name in ("num_attention_heads", "num_key_value_heads", "head_dim", "v_head_dim"):
        own = read.get(f"swa_{name}")
        if own is not None:
            read = read.over({name: own})
    k_dim = head_dim(read)
    return SlidingAttention(n_kv_heads(read), k_dim, value_dim(read, k_dim), size)


def chunked(read: Fields, layer: int) -> CacheSpec:
    """Attention within a chunk (Llama 4)."""
    k_dim = head_dim(read)
    size = read.integer("attention_chunk_size")
    return ChunkedAttention(n_kv_heads(read), k_dim, value_dim(read, k_dim), size)


def latent(read: Fields, layer: int, size: int | None = None, index_dim: int = 0) -> CacheSpec:
    """One latent row a token (MLA): num_key_value_heads and head_dim are decoys here."""
    return LatentAttention(
        read.integer("kv_lora_rank"),
        read.integer("qk_rope_head_dim", least=0),
        index_dim,
        n_heads=read.integer(*HEADS, default=0),
        nope_dim=read.integer("qk_nope_head_dim", default=0, least=0),
        v_dim=read.integer("v_head_dim", default=0, least=0),
        size=size,
    )


def indexed(read: Fields, layer: int) -> CacheSpec:
    """MLA with the sparse-attention indexer's keys, unless the layer uses another layer's index."""
    return latent(read, layer, index_dim=read.integer("index_head_dim") if owns_index(read, layer) else 0)


def owns_index(read: Fields, layer: int) -> bool:
    """Whether a layer keeps index keys of its own: by a list, a word of letters, or every so many layers."""
    types = read.get("indexer_types") or read.get("index_topk_pattern")
    if types is None:
        freq: int = read.integer("index_topk_freq", default=1)
        offset: int = read.integer("index_skip_topk_offset", default=2, least=0)
        return max(layer - offset + 1, 0) % freq == 0
    name = "indexer_types" if read.has("indexer_types") else "index_topk_pattern"
    if not isinstance(types, list | str) or layer >= len(types):
        read.refuse(name, f"is {shown(types)}: expected full or shared for each layer")
    word = types[layer]
    if word not in ("full", "shared", "F", "S"):
        read.refuse(name, f'says {shown(word)} for layer {layer}: expected "full" or "shared"')
    return word in ("full", "F")


def nothing(read: Fields, layer: int) -> CacheSpec:
    """A layer without a cache: an MLP."""
    return NoCache()
