"""Layers that no shared rule describes: a function each, named after the model it is for."""

from collections.abc import Callable

from glasscli.config.families import habits
from glasscli.config.families.fields import Fields
from glasscli.config.families.geometry import (
    LAYERS,
    WIDTH,
    full,
    head_dim,
    indexed,
    latent,
    n_heads,
    n_kv_heads,
    owns_index,
    sliding,
    window_size,
)
from glasscli.config.families.recurrent import delta_net
from glasscli.specs.attention_specs import (
    CacheSpec,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    HiddenStates,
    IndexKeys,
    NoCache,
    Prefix,
    Several,
    SlidingAttention,
)
from glasscli.specs.state_specs import LinearState


def mimo_sliding(read: Fields, layer: int) -> CacheSpec:
    """MiMo-V2-Flash: twice the key/value heads in sliding layers, unless swa_ fields say how many."""
    if read.engine == "transformers" or not read.has("swa_num_key_value_heads"):
        read = read.over({"num_key_value_heads": 2 * n_kv_heads(read), "swa_num_key_value_heads": None})
    if read.engine == "transformers" and read.has("sliding_window_size"):
        read = read.over({"sliding_window": window_size(read.over({"sliding_window": None})) + 1})
    return sliding(read, layer)


def gemma4_full(read: Fields, layer: int) -> CacheSpec:
    """Gemma 4's global layers are wider: global_head_dim and, where K and V are one, their own heads."""
    if not read.has("per_layer_config"):
        read = read.over({"head_dim": read.integer("global_head_dim", default=512)})
        if read.flag("attention_k_eq_v", True) and read.has("num_global_key_value_heads"):
            read = read.over({"num_key_value_heads": read.config["num_global_key_value_heads"]})
    return full(read, layer)


def dots3_full(read: Fields, layer: int) -> CacheSpec:
    """With the index unless use_dsa is false; a saved config (with per_layer_config) names the type itself."""
    plain = not read.flag("use_dsa", not read.has("per_layer_config"))
    return full(read, layer) if plain else dots3_indexed(read, layer)


def dots3_sliding(read: Fields, layer: int) -> CacheSpec:
    """dots3: a checkpoint gives the sliding layers' latent under swa_ names; a saved config has it per layer."""
    if not read.has("per_layer_config"):
        rank: int = read.integer("swa_kv_lora_rank", default=1024)
        nope: int = read.integer("swa_qk_nope_head_dim", default=192)
        rope: int = read.integer("swa_qk_rope_head_dim", default=None) or (
            read.integer("swa_head_dim", default=256) - nope
        )
        read = read.over({"kv_lora_rank": rank, "qk_nope_head_dim": nope, "qk_rope_head_dim": rope})
    return latent(read, layer, window_size(read))


def dots3_indexed(read: Fields, layer: int) -> CacheSpec:
    """dots3: transformers keeps the index keys in float32."""
    if read.engine != "transformers":
        return indexed(read, layer)
    return Several((latent(read, layer), IndexKeys(read.integer("index_head_dim"), dtype="f32")))


def reference(read: Fields, layer: int) -> CacheSpec:
    """Unlimited-OCR slides over the tokens it generates and keeps the prompt whole."""
    read.note("the window is over generated tokens alone: all tokens are counted as the prompt's")
    return full(read, layer)


def with_prompt(read: Fields, layer: int) -> CacheSpec:
    """CPM-Ant puts a learnt prompt before the tokens, and caches it too."""
    spec = full(read, layer)
    assert isinstance(spec, FullAttention)
    rows = read.integer("prompt_length", least=0)
    return Several((spec, Prefix(spec.n_kv_heads, spec.k_dim, spec.v_dim, rows)))


def dia(read: Fields, layer: int) -> CacheSpec:
    """Dia's decoder: attention to the text has heads of its own."""
    dim, heads = read.integer("cross_head_dim"), read.integer("cross_num_key_value_heads")
    return Several((full(read, layer), CrossAttention(heads, dim, dim)))


def block_configs(read: Fields, layer: int) -> CacheSpec:
    """Nemotron-NAS (DeciLM): each block has its own attention, a linear map in its place, or none."""
    blocks = read.items("block_configs") or []
    if layer >= len(blocks) or not isinstance(blocks[layer], dict):
        read.refuse("block_configs", f"has {len(blocks)} entries: expected one object for each layer")
    attention = Fields(blocks[layer], f"{read.prefix}block_configs[{layer}].").nested("attention")
    if not attention.config:
        read.refuse("block_configs", f"says nothing of the attention of layer {layer}")
    if attention.flag("no_op") or attention.flag("replace_with_linear"):
        return NoCache("no attention")
    heads, dim = n_heads(read), head_dim(read)
    group = attention.integer("n_heads_in_group")
    if heads % group:
        attention.refuse("n_heads_in_group", f"is {group}, which does not divide num_attention_heads ({heads})")
    spec: CacheSpec = FullAttention(heads // group, dim, dim)
    if attention.get("window_length") is not None:
        spec = SlidingAttention(heads // group, dim, dim, attention.integer("window_length"))
    return spec


def compressed(ratio_name: str, with_index: bool) -> Callable[[Fields, int], CacheSpec]:
    """DeepSeek V4: a window, and one row for every so many tokens."""

    def build(read: Fields, layer: int) -> CacheSpec:
        rates = read.nested("compress_rates")
        ratio = rates.integer(ratio_name, default={True: 4, False: 128}[with_index])
        index = read.integer("index_head_dim") if with_index else 0
        return CompressedAttention(read.integer("head_dim"), window_size(read), ratio, index)

    return build


def deepseek_v4_sliding(read: Fields, layer: int) -> CacheSpec:
    """A DeepSeek V4 layer that compresses nothing: a window of rows that are key and value in one."""
    dim = read.integer("head_dim")
    if read.engine == "transformers":
        return SlidingAttention(1, dim, dim, window_size(read))
    return CompressedAttention(dim, window_size(read), 0)


def sparse(read: Fields, layer: int) -> CacheSpec:
    """MiniMax M3: ordinary keys and values, and one index key a token."""
    nested = read.nested("sparse_attention_config")
    dim = nested.integer("sparse_index_dim") if nested.has("sparse_index_dim") else read.integer("index_head_dim")
    return Several((full(read, layer), IndexKeys(dim)))


def qwen4_linear(read: Fields, layer: int) -> CacheSpec:
    """Qwen4: Gated DeltaNet; the layers of ple_layer_ids also keep a dilated convolution and past token ids."""
    spec = delta_net(read, layer)
    if layer + 1 not in (read.numbers("ple_layer_ids") or []):
        return spec
    ngram: int = read.integer("ngram_size")
    columns = (read.integer("ple_conv_kernel_size") - 1) * ngram
    width = read.integer("hc_count") * read.integer(*WIDTH)
    return Several((spec, LinearState(free=columns * width, fixed=ngram - 1, fixed_dtype="i64")))


def qwen4_indexed(read: Fields, layer: int) -> CacheSpec:
    """Qwen4: ordinary keys and values, and index keys with a position in three parts."""
    dim = read.integer("indexer_head_dim") * read.integer("indexer_kv_heads", default=1)
    return Several((full(read, layer), IndexKeys(dim, n_positions=3)))


def pooled_index(read: Fields, layer: int) -> CacheSpec:
    """GLM-5-Next: the index keeps a key, as many gate scores and one mark for each token."""
    index_dim = 2 * read.integer("index_head_dim") + 1 if owns_index(read, layer) else 0
    return latent(read, layer, index_dim=index_dim)


def hy_indexed(read: Fields, layer: int) -> CacheSpec:
    """Hunyuan 4: without a list, the first layer and then every fourth owns an index."""
    if not read.has("indexer_types"):
        read = read.over({"indexer_types": None, "index_topk_freq": 4, "index_skip_topk_offset": 2})
    return indexed(read, layer)


def large4_indexed(read: Fields, layer: int) -> CacheSpec:
    """Mistral Large 4: no rotary part in layers without positions; some layers read another's latent."""
    index_dim: int = read.integer("index_head_dim") if owns_index(read, layer) else 0
    sources = read.numbers("kv_source_layers")
    if sources is not None and layer < len(sources) and sources[layer] != layer:
        return IndexKeys(index_dim) if index_dim else NoCache("shares an earlier layer's")
    n: int = read.integer(*LAYERS)
    if layer < n and not habits.no_rope(read, n)[layer]:
        read = read.over({"qk_rope_head_dim": 0})
    return latent(read, layer, index_dim=index_dim)


def cross_only(read: Fields, layer: int) -> CacheSpec:
    """Llama 3.2 Vision's cross-attention layers: keys and values of the picture alone."""
    dim = head_dim(read)
    return CrossAttention(n_kv_heads(read), dim, dim)


def memories(read: Fields, layer: int) -> CacheSpec:
    """XLNet remembers each layer's input, at most mem_len of them."""
    return HiddenStates(read.integer(*WIDTH), read.integer("mem_len", default=None))


def reformer(read: Fields, layer: int) -> CacheSpec:
    """Reformer remembers each layer's input; past one chunk of tokens also what hashing needs."""
    chunks = [read.integer(name, default=None) for name in ("lsh_attn_chunk_length", "local_attn_chunk_length")]
    known = min((chunk for chunk in chunks if chunk), default=None)
    return HiddenStates(read.integer(*WIDTH), known=known)
