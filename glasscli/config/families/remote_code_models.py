"""Models published with code of their own, which transformers has no class for: rows as in `table`.

What a config of theirs means was read from that code; each function names what differs.
"""

from glasscli.config.families import patterns, repeats, special, translate
from glasscli.config.families.family import Family
from glasscli.config.families.fields import Fields
from glasscli.config.families.geometry import HEADS, WIDTH, full, head_dim, n_heads, sliding
from glasscli.config.families.patterns import FULL, LINEAR, SLIDING, always, every, listed
from glasscli.specs.attention_specs import CacheSpec, FullAttention, Several, SlidingAttention
from glasscli.specs.state_specs import LinearState, Mamba1, Mamba2


def olmo(read: Fields) -> Fields:
    """OLMo before it came to transformers: multi_query_attention, unless n_kv_heads says how many."""
    if read.has("n_kv_heads"):
        return read
    return read.over({"n_kv_heads": 1 if read.flag("multi_query_attention") else n_heads(read)})


def refined_web(read: Fields) -> Fields:
    """Falcon's first files: multi_query for 7B, n_head_kv for 40B, which lacks the flag."""
    if read.flag("new_decoder_architecture") or not read.flag("multi_query"):
        return read
    return read.over({"num_key_value_heads": 1})


def plamo(read: Fields) -> Fields:
    """PLaMo: n_shared_head query heads share a key/value head."""
    return read.over({"num_key_value_heads": -(-n_heads(read) // read.integer("n_shared_head", default=1))})


def afm(read: Fields) -> Fields:
    """Apple's model: the last layers reuse keys and values, and hidden_dim is the width."""
    return read.over(
        {
            "hidden_size": read.integer("hidden_dim"),
            "num_kv_shared_layers": read.integer("num_kv_reuse_layers", default=0, least=0),
        }
    )


def deci(read: Fields) -> Fields:
    """DeciLM 6B and 7B: key/value heads for each layer; the later files have block_configs."""
    heads = read.numbers("num_key_value_heads_per_layer")
    return read.over({"num_key_value_heads": heads}) if heads and not read.has("block_configs") else read


def deci_layer(read: Fields, layer: int) -> CacheSpec:
    """DeciLM: a layer of the later files or of the earlier ones."""
    return full(read, layer) if not read.has("block_configs") else special.block_configs(read, layer)


def plamo2(read: Fields, n: int) -> list[str]:
    """PLaMo 2: attention in the middle of each mamba_step layers, over a window unless listed as full."""
    step: int = read.integer("mamba_step", default=2, least=2)
    if not read.flag("mamba_enabled", True):
        attends = [True] * n
    elif n <= step // 2:
        attends = [i == n - 1 for i in range(n)]
    else:
        attends = [i % step == step // 2 for i in range(n)]
    whole = read.numbers("full_attention_idx") or []
    if not read.has("attention_window_size"):
        whole = list(range(n))
    return [(FULL if i in whole else SLIDING) if attends[i] else LINEAR for i in range(n)]


def plamo3(read: Fields) -> Fields:
    """PLaMo 3 calls its window window_size."""
    return read if read.has("sliding_window") else read.over({"sliding_window": read.integer("window_size")})


def plamo2_mamba(read: Fields, layer: int) -> CacheSpec:
    """Its Mamba: heads as in Mamba-2, but the convolution covers the input alone."""
    inner = read.integer("mamba_num_heads") * head_dim(read)
    return Mamba1(inner, read.integer("mamba_d_state"), read.integer("mamba_d_conv"), state_dtype="f32")


def ling_groups(read: Fields, n: int) -> list[str]:
    """Ring-linear and Ling 2.5: the last layer of each group attends, and a last group that isn't whole does."""
    size: int = read.integer("layer_group_size")
    whole = n // size * size
    return [FULL if (i + 1) % size == 0 or i >= whole else LINEAR for i in range(n)]


def linear_f32(read: Fields, layer: int) -> CacheSpec:
    """Lightning attention whose state is float32."""
    return LinearState(fixed=n_heads(read) * int(read.integer("head_dim")) ** 2)


def rwkv_matrix(read: Fields, layer: int) -> CacheSpec:
    """RWKV 5 to 7: two shifted inputs, and a head_size × head_size matrix for each head in float32.

    num_attention_heads is no head count there. Source: Peng et al. 2024, arXiv:2404.05892.
    """
    width = read.integer(*WIDTH)
    inner = read.integer("attention_hidden_size", default=width)
    return LinearState(free=2 * width, fixed=inner * read.integer("head_size", "head_dim", default=64))


def with_convolution(attention: CacheSpec, columns: int) -> CacheSpec:
    """Attention beside a short convolution of its keys and values: the last `columns` of both are kept.

    It is a state of this model alone, not the `ShortConv` that engines have a rule for.
    """
    width = sum(tensor.width for tensor in attention.tensors(1))
    return Several((attention, LinearState(free=columns * width)))


def baichuan_full(read: Fields, layer: int) -> CacheSpec:
    """Baichuan-M1: its other layers attend to everything."""
    return with_convolution(full(read, layer), read.integer("conv_window") - 1)


def baichuan_sliding(read: Fields, layer: int) -> CacheSpec:
    """Baichuan-M1: sliding layers have heads of their own, and divide the width by them."""
    own = {
        "num_attention_heads": read.integer("num_swa_attention_heads", *HEADS),
        "num_key_value_heads": read.integer("num_swa_key_value_heads", "num_key_value_heads"),
    }
    return with_convolution(sliding(read.over(own), layer), read.integer("conv_window") - 1)


def mamba_ssm(read: Fields, n: int) -> list[str]:
    """The mamba_ssm package's own files: attention on the layers of attn_layer_idx."""
    return listed("attn_layer_idx", FULL, LINEAR)(read, n) if read.has("attn_layer_idx") else [LINEAR] * n


def mamba_ssm_state(read: Fields, layer: int) -> CacheSpec:
    """Its Mamba or Mamba-2, with the sizes that its classes assume where ssm_cfg says nothing."""
    ssm, width = read.nested("ssm_cfg"), read.integer(*WIDTH)
    inner = ssm.integer("expand", default=2) * width
    kernel, version = ssm.integer("d_conv", default=4), ssm.get("layer") or "Mamba1"
    if version == "Mamba1":
        return Mamba1(inner, ssm.integer("d_state", default=16), kernel, state_dtype="f32")
    if version != "Mamba2":
        ssm.refuse("layer", f"is {version}: expected Mamba1 or Mamba2")
    dim = ssm.integer("headdim", default=64)
    if inner % dim:
        ssm.refuse("headdim", f"is {dim}, which does not divide the inner width ({inner})")
    groups, d_state = ssm.integer("ngroups", default=1), ssm.integer("d_state", default=128)
    return Mamba2(inner // dim, dim, d_state, groups, kernel, state_dtype="f32")


def mamba_ssm_attention(read: Fields, layer: int) -> CacheSpec:
    """Its attention layers, with a convolution over queries, keys and values where attn_cfg has one."""
    attn = read.nested("attn_cfg")
    heads = attn.integer("num_heads")
    dim = attn.integer("head_dim", default=None) or read.divide("|".join(WIDTH), heads, "attn_cfg.num_heads")
    kv_heads = attn.integer("num_heads_kv", default=heads)
    kernel = attn.integer("d_conv", default=0, least=0)
    spec = FullAttention(kv_heads, dim, dim)
    kept = (kernel - 1) * (heads + 2 * kv_heads) * dim if kernel else 0
    return Several((spec, LinearState(free=kept))) if kept else spec


def small_thinker(read: Fields, n: int) -> list[str]:
    """SmallThinker: sliding_window_layout marks the layers that slide."""
    return [SLIDING if mark else FULL for mark in read.numbers("sliding_window_layout", n) or [0] * n]


def yuan(read: Fields, layer: int) -> CacheSpec:
    """Yuan 2: a filter before attention keeps the last two inputs of a layer."""
    return Several((full(read, layer), LinearState(free=2 * read.integer(*WIDTH))))


def local_passes(read: Fields, made: list[CacheSpec]) -> list[CacheSpec]:
    """IQuest-Coder's loops: the later passes read the first one's cache, and keep a window of their own."""
    size: int = read.integer("loop_window_size")
    again: list[CacheSpec] = [
        SlidingAttention(spec.n_kv_heads, spec.k_dim, spec.v_dim, size)
        for spec in made
        if isinstance(spec, FullAttention)
    ]
    return made + again * (read.integer("loop_num", default=2) - 1)


def whole_passes(read: Fields, made: list[CacheSpec]) -> list[CacheSpec]:
    """Nanbeige's loops: each pass keeps its own keys and values, unless all share the first one's."""
    shared = read.flag("loop_share_kv")
    return made * (1 if shared else read.integer("num_loops", default=1))


ROWS: tuple[tuple[str, Family], ...] = (
    ("hf_olmo", Family(always(FULL), prepare=olmo)),
    ("gpt_refact", Family(always(FULL), prepare=translate.multi_query)),
    ("RefinedWeb RefinedWebModel", Family(always(FULL), prepare=refined_web)),
    ("plamo", Family(always(FULL), prepare=plamo)),
    ("plamo2", Family(plamo2, {LINEAR: plamo2_mamba})),
    ("plamo3", Family(every("sliding_window_pattern", fallback=8), prepare=plamo3)),
    ("afm7", Family(always(FULL), prepare=afm)),
    ("deci nemotron-nas", Family(always(FULL), {FULL: deci_layer}, prepare=deci)),
    ("bailing_moe_linear bailing_moe_linear_v2 bailing_moe_v2_5", Family(ling_groups, {LINEAR: linear_f32})),
    ("rwkv5 rwkv6 rwkv6qwen2 rwkv7", Family(always(LINEAR), {LINEAR: rwkv_matrix})),
    (
        "baichuan_m1",
        Family(listed("sliding_window_layers", SLIDING, FULL), {FULL: baichuan_full, SLIDING: baichuan_sliding}),
    ),
    ("mamba_ssm", Family(mamba_ssm, {LINEAR: mamba_ssm_state, FULL: mamba_ssm_attention})),
    ("longcat_flash_ngram", Family(always(FULL), prepare=translate.longcat, finish=repeats.twice)),
    ("smallthinker", Family(small_thinker)),
    ("yuan", Family(always(FULL), {FULL: yuan})),
    ("iquestloopcoder", Family(always(FULL), finish=local_passes)),
    ("nanbeige", Family(patterns.uniform, finish=whole_passes)),
)
OWN_CODE = {name: family for names, family in ROWS for name in names.split()}
