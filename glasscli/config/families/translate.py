"""Families that say the same things under other names: what is said is put where the rules look for it.

Each function takes a config's fields and gives them back with the standard fields filled in.
"""

from glasscli.config.families.fields import MAX_LAYERS, Fields, shown
from glasscli.config.families.geometry import HEADS, KV_HEADS, WIDTH, n_heads
from glasscli.config.families.patterns import FULL, every


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
    """ChatGLM counts key/value heads in multi_query_group_num, where multi_query_attention is true."""
    grouped = read.flag("multi_query_attention")
    return read.over({"num_key_value_heads": read.integer("multi_query_group_num") if grouped else n_heads(read)})


def attn_config(read: Fields) -> Fields:
    """DBRX keeps them in a nested object, with a class of its own."""
    nested = read.nested("attn_config", {"kv_n_heads": 1})
    return read.over({"num_key_value_heads": nested.integer("kv_n_heads")})


def mpt(read: Fields) -> Fields:
    """MPT's own code shares heads where attn_type says so; transformers' class never does."""
    nested = read.nested("attn_config")
    kind = nested.get("attn_type")
    if read.engine == "transformers" or kind in (None, "multihead_attention"):
        return read.over({"num_key_value_heads": n_heads(read)})
    if kind == "multiquery_attention":
        return read.over({"num_key_value_heads": 1})
    if kind == "grouped_query_attention":
        return read.over({"num_key_value_heads": nested.integer("kv_n_heads")})
    return nested.refuse("attn_type", f"is {shown(kind)}: expected multihead, multiquery or grouped_query attention")


def own_head_dim(read: Fields) -> Fields:
    """Classes that derive the head's width whatever the config says."""
    return read.over({"head_dim": read.divide("|".join(WIDTH), n_heads(read), read.named(*HEADS))})


def jetmoe(read: Fields) -> Fields:
    """Query heads are key/value heads times the experts a token picks."""
    if read.has(*HEADS):
        return read
    return read.over(
        {"num_attention_heads": read.integer(*KV_HEADS) * read.integer("num_experts_per_tok", "moe_top_k")}
    )


def half_window(read: Fields) -> Fields:
    """ModernBERT's decoder: local_attention counts both sides of a token."""
    if read.has("sliding_window"):
        return read
    return read.over({"sliding_window": read.integer("local_attention", least=2) // 2})


def gemma4(read: Fields) -> Fields:
    """Gemma 4's last layer is global, whatever the list says."""
    n = read.integer("num_hidden_layers")
    types = read.words("layer_types") or every(6)(read, min(n, MAX_LAYERS))
    return read.over({"layer_types": [*types[:-1], FULL]})


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
    """Ling 3: the linear layers have as many heads as the others, as wide as head_dim says."""
    usual = {
        "linear_num_heads": n_heads(read),
        "linear_head_dim": read.integer("head_dim"),
        "linear_conv_kernel_dim": read.integer("short_conv_kernel_size"),
    }
    return read.over({name: size for name, size in usual.items() if not read.has(name)})


def xlstm(read: Fields) -> Fields:
    """xLSTM's blocks."""
    return read.over({"num_hidden_layers": read.integer("num_hidden_layers", "num_blocks")})


def dots3(read: Fields) -> Fields:
    """dots3: sliding layers have MLA sizes of their own, under swa_ names in checkpoints."""
    return read if read.has("sliding_window") else read.over({"sliding_window": read.integer("sliding_window_size")})


def without_drafts(read: Fields) -> Fields:
    """Step 3.7: its lists go on over the draft layers (MTP), which are no part of the model."""
    types = read.words("layer_types")
    n, drafts = read.integer("num_hidden_layers"), read.integer("num_nextn_predict_layers", default=0, least=0)
    return read.over({"layer_types": types[:n]}) if types and drafts and len(types) == n + drafts else read
