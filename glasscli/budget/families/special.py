"""Model types whose layers no shared rule describes: a function each, named after the model it is for."""

from collections.abc import Callable
from dataclasses import replace

from glasscli.budget.families import patterns
from glasscli.budget.families.fields import Fields, shown
from glasscli.budget.families.geometry import (
    HEADS,
    KV_HEADS,
    WIDTH,
    full,
    head_dim,
    indexed,
    latent,
    n_heads,
    n_kv_heads,
    sliding,
    window_size,
)
from glasscli.budget.families.recurrent import delta_net
from glasscli.budget.kinds import (
    CompressedAttention,
    CrossAttention,
    FullAttention,
    HiddenStates,
    IndexKeys,
    Kind,
    LatentAttention,
    NoCache,
    Several,
    SlidingAttention,
)
from glasscli.budget.states import LinearState

# --- Heads under other names ---------------------------------------------------------------------


def falcon(read: Fields) -> Fields:
    """7B has one key/value head though num_kv_heads says 71; 40B's class caches a copy for each query head."""
    heads = n_heads(read)
    if read.flag("new_decoder_architecture"):
        own: int = read.integer("num_kv_heads", "n_head_kv", default=heads)
        kv_heads = heads if read.engine == "transformers" else own
    elif read.flag("multi_query", True):
        kv_heads = 1
    else:
        kv_heads = read.integer("num_kv_heads", "n_head_kv", default=heads)
    return read.over({"num_key_value_heads": kv_heads})


def multi_query(read: Fields) -> Fields:
    """GPT-BigCode (StarCoder): one key/value head, unless it says otherwise."""
    return read.over({"num_key_value_heads": 1 if read.flag("multi_query", True) else n_heads(read)})


def chatglm(read: Fields) -> Fields:
    grouped = read.flag("multi_query_attention")
    return read.over({"num_key_value_heads": read.integer("multi_query_group_num") if grouped else n_heads(read)})


def attn_config(read: Fields) -> Fields:
    """DBRX and MPT keep it in a nested object."""
    nested = read.nested("attn_config")
    kind = nested.get("attn_type")
    if kind == "multiquery_attention":
        return read.over({"num_key_value_heads": 1})
    if nested.has("kv_n_heads") and kind in (None, "grouped_query_attention"):
        return read.over({"num_key_value_heads": nested.integer("kv_n_heads")})
    return read


def own_head_dim(read: Fields) -> Fields:
    """Classes that derive the head's width whatever the config says."""
    return read.over({"head_dim": read.divide("|".join(WIDTH), n_heads(read), read.named(*HEADS))})


def openelm(read: Fields, layer: int) -> Kind:
    """A list of key/value heads, one number for each layer."""
    heads = read.numbers("num_kv_heads", least=1) or []
    if layer >= len(heads):
        read.refuse("num_kv_heads", f"has {len(heads)} entries: expected one for each layer")
    dim = read.integer("head_dim")
    return FullAttention(heads[layer], dim, dim)


def jetmoe(read: Fields) -> Fields:
    """Query heads are key/value heads times the experts a token picks."""
    if read.has(*HEADS):
        return read
    return read.over(
        {"num_attention_heads": read.integer(*KV_HEADS) * read.integer("num_experts_per_tok", "moe_top_k")}
    )


def mimo_sliding(read: Fields, layer: int) -> Kind:
    """MiMo-V2-Flash: twice the key/value heads in sliding layers, unless swa_ fields say how many."""
    if read.engine == "transformers" or not read.has("swa_num_key_value_heads"):
        read = read.over({"num_key_value_heads": 2 * n_kv_heads(read), "swa_num_key_value_heads": None})
    if read.engine == "transformers" and read.has("sliding_window_size"):
        read = read.over({"sliding_window": window_size(read.over({"sliding_window": None})) + 1})
    return sliding(read, layer)


def gemma4_full(read: Fields, layer: int) -> Kind:
    """Gemma 4's global layers are wider: global_head_dim and, where K and V are one, their own heads."""
    if not read.has("per_layer_config"):
        read = read.over({"head_dim": read.integer("global_head_dim", default=512)})
        if read.flag("attention_k_eq_v", True) and read.has("num_global_key_value_heads"):
            read = read.over({"num_key_value_heads": read.config["num_global_key_value_heads"]})
    return full(read, layer)


def half_window(read: Fields) -> Fields:
    """ModernBERT's decoder: local_attention counts both sides of a token."""
    local: int = read.integer("local_attention", default=0, least=0)
    return read.over({"sliding_window": local // 2}) if local else read


def gpt_neo(read: Fields) -> Fields:
    """GPT-Neo calls its window window_size."""
    return read.over({"sliding_window": read.integer("window_size")})


def zamba(read: Fields) -> Fields:
    """Zamba attends over the concatenation with the embeddings: heads of twice the width."""
    dim = read.integer("attention_head_dim", default=2 * read.integer(*WIDTH) // n_heads(read))
    return read.over({"head_dim": dim})


def nemotron_h(read: Fields) -> Fields:
    """The list or the letters of the layers say how many there are; num_hidden_layers may be absent."""
    for name in ("layer_types", "layers_block_type"):
        if read.has(name):
            return read.over({"num_hidden_layers": len(read.words(name) or [])})
    text = read.get("hybrid_override_pattern")
    return read.over({"num_hidden_layers": len(text)}) if isinstance(text, str) else read


def longcat(read: Fields) -> Fields:
    """LongCat-Flash counts pairs of attentions in num_layers."""
    return read.over({"num_hidden_layers": read.integer("num_layers")})


def bailing(read: Fields) -> Fields:
    """Ling 3: the linear layers' heads are as wide as head_dim says."""
    if read.has("linear_head_dim"):
        return read
    return read.over({"linear_head_dim": read.integer("head_dim")})


def xlstm(read: Fields) -> Fields:
    """xLSTM's blocks."""
    return read.over({"num_hidden_layers": read.integer("num_hidden_layers", "num_blocks")})


def dots3(read: Fields) -> Fields:
    """dots3: sliding layers have MLA sizes of their own, under swa_ names in checkpoints."""
    return read if read.has("sliding_window") else read.over({"sliding_window": read.integer("sliding_window_size")})


def dots3_full(read: Fields, layer: int) -> Kind:
    """With the index unless use_dsa is false; a saved config (with per_layer_config) names the type itself."""
    plain = not read.flag("use_dsa", not read.has("per_layer_config"))
    return full(read, layer) if plain else dots3_indexed(read, layer)


def dots3_indexed(read: Fields, layer: int) -> Kind:
    """dots3: transformers keeps the index keys in float32."""
    if read.engine != "transformers":
        return indexed(read, layer)
    return Several((latent(read, layer), IndexKeys(read.integer("index_head_dim"), dtype="f32")))


def reference(read: Fields, layer: int) -> Kind:
    """Unlimited-OCR keeps the prompt whole and slides over what follows: not a function of the sum."""
    read.refuse("sliding_window", "slides over generated tokens alone: the split of the tokens would have to be given")


# --- Layers that are left out, shared or repeated --------------------------------------------------


def block_configs(read: Fields, layer: int) -> Kind:
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
    kind: Kind = FullAttention(heads // group, dim, dim)
    if attention.get("window_length") is not None:
        kind = SlidingAttention(heads // group, dim, dim, attention.integer("window_length"))
    return kind


def dory(read: Fields, made: list[Kind]) -> list[Kind]:
    """Dory: the middle layers run several times, each with a cache of its own unless only the last counts."""
    made = [kind for kind in made if not isinstance(kind, NoCache)] if _with_mlps(read) else made
    first = read.integer("n_input_layers", least=0) // (2 if _with_mlps(read) else 1)
    count = read.integer("n_recurrent_layers", default=None, least=0)
    if count is None:
        count = len(made) - first - read.integer("n_output_layers", least=0)
    else:
        count //= 2 if _with_mlps(read) else 1
    if read.get("recurrent_kv_cache_mode") == "last_loop":
        return made
    return made + made[first : first + count] * (read.integer("n_recurrent_loops") - 1)


def _with_mlps(read: Fields) -> bool:
    """Dory's checkpoints count each MLP as a layer."""
    return "mlp" in (read.words("layer_types") or [])


def inkling_loop(read: Fields, made: list[Kind]) -> list[Kind]:
    """Inkling 2 Loop: a range of layers runs several times, each pass with its own cache."""
    loop = read.nested("loop_config") if read.has("loop_config") else read
    first, last = loop.integer("loop_layer_index_start", least=0), loop.integer("loop_layer_index_end", least=0)
    return made + made[first:last] * (loop.integer("loop_num_passes") - 1)


def twice(read: Fields, made: list[Kind]) -> list[Kind]:
    """LongCat-Flash: two attentions in each layer."""
    return [kind for kind in made for _ in range(2)]


def hrm(read: Fields, made: list[Kind]) -> list[Kind]:
    """HRM: two stacks run in nested cycles; a config that names the stacks' size has them all counted."""
    if read.has("num_layers_per_stack"):
        return made
    return made * (read.integer("H_cycles") * (read.integer("L_cycles") + 1))


def shared_across(read: Fields, made: list[Kind]) -> list[Kind]:
    """Cross-layer attention (Hunyuan-Large): one layer of each `cla_share_factor` owns a cache."""
    if not read.flag("use_cla"):
        return made
    factor = read.integer("cla_share_factor")
    return [kind if i % factor == 0 else NoCache("shares an earlier layer's") for i, kind in enumerate(made)]


# --- Attention of another make ---------------------------------------------------------------------


def compressed(ratio_name: str, with_index: bool) -> Callable[[Fields, int], Kind]:
    """DeepSeek V4: a window, and one row for every so many tokens."""

    def build(read: Fields, layer: int) -> Kind:
        rates = read.nested("compress_rates")
        ratio = rates.integer(ratio_name, default={True: 4, False: 128}[with_index])
        index = read.integer("index_head_dim") if with_index else 0
        return CompressedAttention(read.integer("head_dim"), window_size(read), ratio, index)

    return build


def deepseek_v4_sliding(read: Fields, layer: int) -> Kind:
    """A DeepSeek V4 layer that compresses nothing: a window of rows that are key and value in one."""
    dim = read.integer("head_dim")
    if read.engine == "transformers":
        return SlidingAttention(1, dim, dim, window_size(read))
    return CompressedAttention(dim, window_size(read), 0)


def deepseek_v4(read: Fields, n: int) -> list[str]:
    """compress_ratios gives 0, 4 or 128 for each layer; without it the layers alternate after two heavy ones."""
    words = {0: "sliding_attention", 4: "compressed_sparse_attention", 128: "heavily_compressed_attention"}
    ratios = read.numbers("compress_ratios")
    if ratios is None:
        alternate = [words[4] if i % 2 else words[128] for i in range(max(n - 2, 0))]
        return [words[128]] * min(n, 2) + alternate
    for ratio in ratios:
        if ratio not in words:
            read.refuse("compress_ratios", f"holds {ratio}: expected 0, 4 or 128")
    if len(ratios) < n:
        read.refuse("compress_ratios", f"has {len(ratios)} entries: expected one for each of the {n} layers")
    return [words[ratio] for ratio in ratios[:n]]


def sparse(read: Fields, layer: int) -> Kind:
    """MiniMax M3: ordinary keys and values, and one index key a token."""
    nested = read.nested("sparse_attention_config")
    dim = nested.integer("sparse_index_dim") if nested.has("sparse_index_dim") else read.integer("index_head_dim")
    return Several((full(read, layer), IndexKeys(dim)))


def minimax_m3(read: Fields, n: int) -> list[str]:
    """sparse_attention_freq marks the sparse layers."""
    marks = read.nested("sparse_attention_config").numbers("sparse_attention_freq", n)
    return [("minimax_m3_sparse" if mark else patterns.FULL) for mark in marks or [0] * n]


def qwen4_linear(read: Fields, layer: int) -> Kind:
    """Qwen4: Gated DeltaNet; the layers of ple_layer_ids also keep a dilated convolution and past token ids."""
    kind = delta_net(read, layer)
    if layer + 1 not in (read.numbers("ple_layer_ids") or []):
        return kind
    ngram: int = read.integer("ngram_size")
    columns = (read.integer("ple_conv_kernel_size") - 1) * ngram
    width = read.integer("hc_count") * read.integer(*WIDTH)
    return Several((kind, LinearState(free=columns * width, fixed=ngram - 1, fixed_dtype="i64")))


def qwen4_indexed(read: Fields, layer: int) -> Kind:
    """Qwen4: ordinary keys and values, and index keys with a position in three parts."""
    dim = read.integer("indexer_head_dim") * read.integer("indexer_kv_heads", default=1)
    return Several((full(read, layer), IndexKeys(dim, n_positions=3)))


def pooled_index(read: Fields, layer: int) -> Kind:
    """GLM-5-Next: the index keeps a key, as many gate scores and one mark for each token."""
    types = read.words("indexer_types")
    kind = latent(read, layer)
    assert isinstance(kind, LatentAttention)
    if types is not None and (layer >= len(types) or types[layer] == "shared"):
        return kind
    return replace(kind, index_dim=2 * read.integer("index_head_dim") + 1)


def cross_only(read: Fields, layer: int) -> Kind:
    """Llama 3.2 Vision's cross-attention layers: keys and values of the picture alone."""
    dim = head_dim(read)
    return CrossAttention(n_kv_heads(read), dim, dim)


def memories(read: Fields, layer: int) -> Kind:
    """XLNet remembers each layer's input, at most mem_len of them."""
    return HiddenStates(read.integer(*WIDTH), read.integer("mem_len", default=None))


def reformer(read: Fields, layer: int) -> Kind:
    """Reformer remembers each layer's input; past one chunk of tokens also what hashing needs."""
    chunks = [read.integer(name, default=None) for name in ("lsh_attn_chunk_length", "local_attn_chunk_length")]
    known = min((chunk for chunk in chunks if chunk), default=None)
    return HiddenStates(read.integer(*WIDTH), known=known)


def attention_list(read: Fields, n: int) -> list[str]:
    """GPT-Neo: attention_layers says global or local; the transformers cache keeps all tokens for both."""
    words = {"global": patterns.FULL, "local": patterns.SLIDING}
    given = read.words("attention_layers", n)
    if given is None:
        given = []
        for entry in read.items("attention_types") or []:
            if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], list)):
                read.refuse("attention_types", f"holds {shown(entry)}: expected lists like [[words], times]")
            given += entry[0] * read.whole(entry[1], "attention_types")
    unknown = [word for word in given if word not in words]
    if unknown or len(given) != n:
        read.refuse("attention_layers", f"is not {n} times global or local")
    return [patterns.FULL if read.engine == "transformers" else words[word] for word in given]
