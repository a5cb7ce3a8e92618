"""What hints at another memory than plain attention's: each word that glass knows is known from somewhere."""

import re

import pytest
from helpers.family_cases import LLAMA

from glasscli.config.families import layout, refusals
from glasscli.errors import ConfigError

# Fields of published configs, or of papers' code, of models that keep something else than each token's keys and
# values; a value that is on.
FIELDS = {
    "mamba_d_state": 16,  # Jamba
    "ssm_state_size": 128,  # Nemotron-H
    "lru_width": 2560,  # RecurrentGemma
    "use_lru": True,
    "rwkv_head_size": 64,
    "retention_heads": 8,  # RetNet
    "recurrent_block_type": "rglru",
    "mean_recurrence": 32,  # Huginn
    "linear_attn_config": {"kda_layers": [1]},  # Kimi Linear
    "linear_attention_types": ["gla"],  # also of attention_types
    "use_linear_attention": True,
    "linear_key_head_dim": 128,  # Qwen3-Next
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_head_dim": 64,
    "conv_kernel": 4,  # Falcon-Mamba
    "mamba2_d_conv": 4,
    "causal_d_conv": 4,
    "use_conv1d": True,
    "short_conv_kernel": 4,  # Kimi Linear
    "use_short_conv": True,  # GLA
    "hybrid_override": "M-M*",  # Nemotron-H
    "layer_pattern": "SSSL",
    "sliding_window_pattern": 6,  # Gemma 3
    "block_pattern": ["a", "b"],
    "attn_pattern": "LLG",
    "attention_pattern": "LLG",
    "block_types": ["recurrent", "attention"],  # RecurrentGemma
    "attn_type_list": [0, 1],  # MiniMax-01
    "attn_layer_period": 8,  # Jamba
    "attention_types": [[["global", "local"], 12]],  # GPT-Neo
    "attention_type": "nsa",
    "compress_ratios": [4, 4],
    "kv_sharing_group": 2,
    "share_all_kv": True,
    "shared_kv_groups": 2,
    "kv_reuse_layers": [3],  # Hunyuan's CLA
    "use_cla": True,
    "cla_share_factor": 2,
    "yoco_window": 512,
    "cross_layer_kv": 2,
    "index_topk": 2048,  # DeepSeek V3.2
    "index_head_dim": 128,
    "index_n_heads": 64,
    "lightning_indexer": True,
    "sparse_attention_block": 64,
    "block_sparse_stride": 8,
    "local_attention_size": 128,
    "local_layers": [1, 3],
    "attention_window": 512,  # Longformer
    "token_window_size": 4096,
    "global_attn_every_n_layers": 4,  # ModernBERT
    "mem_len": 512,  # Transformer-XL
    "cross_attention_layers": [3, 8],  # Mllama
    "cross_attention_freq": 2,  # BLIP-2's Q-Former
    "cross_attention_interval": 4,  # IDEFICS
    "nsa_block": 64,
    "use_nsa": True,
    "moba_chunk": 4096,
    "use_moba": True,
    "loop_window": 64,
    "num_loops": 2,  # recurrent depth
    "swa_num_heads": 8,  # MiMo-V2
    "use_swa_heads": True,
    "block_configs": [{"attention": {"no_op": True}}],  # Nemotron-NAS
    "heads_per_layer_list": [8, 4],
    "mixers_per_layer": 2,
    "kv_heads_per": [2, 2],
    "layer_group_size": 4,  # Ring-linear
    "expand_k": 0.5,  # GLA
    "expand_v": 2.0,  # RetNet
    "feature_map": "relu",
    "gate_low_rank_dim": 16,  # GLA
    "head_size_divisor": 8,  # RWKV-5
    "layer_sharing": 2,  # Zamba
    "num_shared_layers": 2,
    "share_layers": [1, 3],
    "mem_layers": [4],
}
TYPES = {
    "rwkv": "rwkv9", "mamba": "falcon_h1_mamba", "retnet": "retnet", "delta_net": "delta_net",
    "deltanet": "gated_deltanet", "delta_product": "gated_delta_product", "deltaproduct": "deltaproduct",
    "linear": "ring_linear", "recurrent": "recurrent_next", "griffin": "griffin", "hyena": "stripedhyena",
    "xlstm": "xlstm_big", "jamba": "jamba_next", "samba": "samba", "hymba": "hymba", "phi4flash": "phi4flash",
    "transnormer": "transnormer", "yoco": "yoco", "gla": "gla", "gsa": "gsa", "abc": "abc", "hgrn": "hgrn",
    "hgrn2": "hgrn2", "mom": "mom", "comba": "comba", "rodimus": "rodimus", "lightnet": "lightnet",
    "mesa_net": "mesa_net", "nsa": "nsa", "moba": "moba", "mega": "mega", "megalodon": "megalodon", "ttt": "ttt",
}  # fmt: skip


def refused_field(config: dict[str, object]) -> str | None:
    try:
        layout({**LLAMA, "model_type": "new_thing", **config}, assume_plain=True)
    except ConfigError as error:
        return error.field
    return None


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_a_field_of_another_memory_is_refused_by_its_name(field: str) -> None:
    assert refused_field({field: FIELDS[field]}) == field
    for off in (None, False, 0, -1, [], {}):
        assert refused_field({field: off}) is None


@pytest.mark.parametrize("model_type", sorted(TYPES.values()))
def test_a_type_with_the_name_of_a_recurrence_is_refused(model_type: str) -> None:
    assert refused_field({"model_type": model_type}) == "model_type"
    assert refused_field({"model_type": model_type.upper()}) == "model_type"


@pytest.mark.parametrize(
    ("pattern", "words"), [("HINTS", ["max_window_layers", *FIELDS]), ("STATEFUL", [*TYPES.values()])]
)
def test_each_word_is_needed_for_something_above(pattern: str, words: list[str]) -> None:
    """So that none can be lost, or be there for nothing."""
    kept = spelled_out(getattr(refusals, pattern).pattern)
    assert len(kept) > 20
    for word in kept:
        rest = re.compile("|".join(other for other in kept if other != word), re.IGNORECASE)
        assert [name for name in words if re.search(word, name, re.IGNORECASE) and not rest.search(name)], word


def spelled_out(pattern: str) -> list[str]:
    """All that the alternatives of `pattern` may be, groups taken apart but for `(^|_)` and `(lodon)?`."""
    found = []
    for top in alternatives(pattern):
        group = re.search(r"\((?!\^\||_\|\$)((?:[^()]|\([^()]*\))*)\)(?!\?)", top)
        if group is None:
            found.append(top)
        else:
            inside = alternatives(group[1])
            found += [word for part in inside for word in spelled_out(top[: group.start()] + part + top[group.end() :])]
    return found


def alternatives(pattern: str) -> list[str]:
    """`pattern` cut at each `|` that stands in no group."""
    parts, depth = [""], 0
    for c in pattern:
        depth += (c == "(") - (c == ")")
        if c == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def test_heads_counted_or_shared_in_other_words_are_refused() -> None:
    assert refused_field({"num_mystery_heads": 4}) == "num_mystery_heads"
    assert refused_field({"n_mystery_kv": 4}) == "n_mystery_kv"
    assert refused_field({"shared_head_count": 4}) == "shared_head_count"
    no_kv = {"num_key_value_heads": None}
    assert refused_field({"multi_query": True, **no_kv}) == "multi_query"
    assert refused_field({"group_query_attention": True, **no_kv}) == "group_query_attention"
    assert refused_field({"multi_query": True}) is None  # how many there are is said
    assert refused_field({"num_heads": 8}) is None


def test_fields_of_other_parts_of_a_model_are_no_hint() -> None:
    for field in (
        "num_mtp_heads",
        "router_layer_pattern",
        "num_vision_heads",
        "image_window_size",
        "audio_conv_kernel",
    ):
        assert refused_field({field: 4}) is None, field


def test_a_window_that_is_off_hints_at_nothing() -> None:
    assert refused_field({"max_window_layers": 2}) is None
    assert refused_field({"max_window_layers": 2, "sliding_window": 16, "use_sliding_window": False}) is None
    assert refused_field({"max_window_layers": 2, "sliding_window": 16}) == "max_window_layers"


@pytest.mark.parametrize(
    "field", ["kv_heads", "kv_head", "key_value_heads", "heads", "n_heads_kv", "heads_kv", "kv_groups"]
)
def test_heads_counted_under_a_name_that_no_rule_reads(field: str) -> None:
    """Read over, they would make MHA of a model that shares heads."""
    assert refused_field({"num_key_value_heads": None, field: 1}) == field


def test_an_unknown_type_is_refused_until_it_is_said_to_be_plain() -> None:
    unknown = {**LLAMA, "model_type": "new_thing"}
    with pytest.raises(ConfigError, match='model_type is "new_thing", which is not known') as refusal:
        layout(unknown)
    assert refusal.value.field == "model_type"
    with pytest.raises(ConfigError) as refusal:
        layout({"model_type": "llava", "text_config": unknown})
    assert refusal.value.field == "text_config.model_type"
    held = layout(unknown, assume_plain=True)
    assert held.layers == layout(LLAMA).layers
    assert held.notes == ('model_type "new_thing" is not known: read as plain attention from its fields',)
