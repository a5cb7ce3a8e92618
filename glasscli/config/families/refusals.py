"""What glass will not size: types that no rule and no class describes, and fields that hint at more than is read.

An unknown type is refused, unless whoever asks says that its attention is plain. Then, and for a config that names no
type at all, the fields of plain attention are read and the notes say so; anything that hints at another kind of memory
is still refused, by the field that hints.
"""

import re

from glasscli.config.families.fields import Fields, shown
from glasscli.config.families.geometry import HEAD_DIM, HEADS, KV_HEADS
from glasscli.config.families.known import has_class, without_text
from glasscli.errors import ConfigError

# Published with their own code; read as plain decoders (MLA where kv_lora_rank says so) without a note.
PLAIN = frozenset(
    {"aquila", "baichuan", "deepseek", "grok-1", "internlm", "internlm2", "kimi_k2", "kimi_k25", "kimi_k3", "mimo"}
    | {"minicpm", "minimax_m2", "orion", "phi-msft", "qwen", "skywork", "stablelm_epoch", "xverse", "Yi"}
    | {"IndicTrans", "arctic", "bailing_moe", "bailing_moe_v2", "btlm", "codeshell", "cogvlm", "exaone", "internlm3"}
    | {"jais", "minicpmo", "minicpmv", "mixformer-sequential", "molmo", "step3_text", "telechat"}
)

# Encoders that can be made into decoders: they say so themselves.
ENCODERS = frozenset(
    {"bert", "bert-generation", "big_bird", "camembert", "data2vec-text", "electra", "ernie", "megatron-bert", "xmod"}
    | {"rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "xlm-roberta", "xlm-roberta-xl"}
)

# Without a key/value cache in transformers.
CACHELESS = {"openai-gpt": "its class computes every token again: it has no cache"}

# What they keep depends on more than a number of tokens.
UNSIZED = {"blt": "it keeps one row for each patch of bytes, and the text decides how long those are"}

HINTS = re.compile(
    r"mamba|ssm|(^|_)lru|rwkv|retention|recurren|linear_(attn|attention|key|value|num|head)|conv_kernel|d_conv"
    r"|conv1d|short_conv|hybrid|(layer|window|block|attn|attention)_pattern|block_type|attn_type|attn_layer"
    r"|attention_types?$|compress|kv_shar|shar\w*_kv|kv_reuse|(^|_)cla(_|$)|yoco|cross_layer|index_(topk|head|n_head)"
    r"|indexer|sparse_att|block_sparse|local_att|local_layer|attention_window|window_size|global_att|(^|_)mem_len"
    r"|cross_attention_(layers|freq|interval)|(^|_)nsa(_|$)|(^|_)moba|(^|_)loops?(_|$)|(^|_)swa_|max_window_layers"
    r"|block_configs|heads_per_layer|kv_heads_per|_per_layer$|layer_group|expand_[kv]$|feature_map|low_rank_dim"
    r"|head_size_divisor|layer_shar|shared?_layers?$|^mem_layers$"
)
# Heads counted under a name that no rule reads; and heads shared, with no count of them.
COUNTED = re.compile(r"^(num|n)_\w*(head|kv)|shared_head|(kv|key_value|query)_?(heads?|groups?)$|^heads?(_kv|_k|_v)?$")
SHARED = re.compile(r"multi_?query|group(ed)?_query")
NAMES = frozenset((*HEADS, *KV_HEADS, *HEAD_DIM))
# Unknown types whose name is that of a recurrence; their fields may look like plain attention's.
STATEFUL = re.compile(
    r"rwkv|mamba|retnet|delta_?(net|product)|linear|recurrent|griffin|hyena|xlstm|jamba|samba|hymba|phi4flash"
    r"|transnormer|yoco|^(gla|gsa|abc|hgrn2?|mom|comba|rodimus|lightnet|mesa_net|nsa|moba|mega(lodon)?|ttt)$",
    re.IGNORECASE,
)
HARMLESS = re.compile(r"mtp|router|expert|rope|mlp|vision|audio|image|dropout|_dtype$|quant")
AS_PLAIN = "read as plain attention from its fields"


class UnknownTypeError(ConfigError):
    """A model type that no rule describes: it may be plain attention, if whoever asks says so."""


def check_root(root: Fields) -> None:
    """Refuses what no engine has a size for, and for transformers a wrapper it cannot build."""
    outer = root.config.get("model_type")
    if outer in UNSIZED:
        root.refuse("model_type", f"is {outer}: {UNSIZED[outer]}")
    if root.engine == "transformers" and outer and not has_class(outer) and not without_text(outer):
        root.refuse("model_type", f"is {shown(outer)}, which transformers 5.24 has no class for")


def check(read: Fields, model_type: str, known: bool, assume_plain: bool = False) -> None:
    """Refuses encoders, types without a cache, unknown types, and fields that hint at more than plain attention.

    `assume_plain` lets unknown types pass whose fields are those of plain attention.
    """
    if read.engine == "transformers":
        if model_type in CACHELESS:
            read.refuse("model_type", f"is {model_type}: {CACHELESS[model_type]}")
        if not has_class(model_type):
            read.refuse("model_type", f"is {shown(model_type or None)}, which transformers 5.24 has no class for")
    if model_type in ENCODERS and not read.flag("is_decoder"):
        if read.engine != "transformers":
            read.refuse("is_decoder", f"is not true: {model_type} is then an encoder, which holds no KV cache")
        read.note("is_decoder is not true: this is what the class caches when it is handed a cache")
    if without_text(model_type):
        read.refuse("model_type", f"is {model_type}, which generates no text: there is no KV cache to size")
    if model_type == "glm" and read.get("block_position_encoding"):
        read.refuse("block_position_encoding", "marks the GLM of 2022, which caches in a way of its own")
    if known or has_class(model_type) or model_type in PLAIN:
        return
    if STATEFUL.search(model_type):
        read.refuse("model_type", f"is {shown(model_type)}: its name hints at a state in place of a cache")
    for field, value in read.config.items():
        if value not in (None, False, 0, -1, [], {}) and not HARMLESS.search(field) and _hints(read, field):
            _hint(read, model_type, field)
    if model_type and not assume_plain:
        name = f"{read.prefix}model_type"
        raise UnknownTypeError(
            f"{name} is {shown(model_type)}, which is not known: what its layers keep is not guessed", name
        )
    name = f"model_type {shown(model_type)} is not known" if model_type else "no model_type is given"
    read.note(f"{name}: {AS_PLAIN}")


def _hints(read: Fields, field: str) -> bool:
    """Whether `field` may mean something other than plain attention with the heads that were found."""
    if HINTS.search(field):
        return True
    if SHARED.search(field) and field not in NAMES:
        return not read.has(*KV_HEADS)
    return bool(COUNTED.search(field)) and field not in NAMES


def _hint(read: Fields, model_type: str, field: str) -> None:
    if field == "max_window_layers" and not (read.has("sliding_window") and read.flag("use_sliding_window", True)):
        return
    read.refuse(field, f"hints at more than plain attention, and model_type {shown(model_type)} is not known")
