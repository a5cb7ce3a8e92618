"""Which layer is of which type, for models with a habit of their own: patterns from their cards and papers."""

from typing import Any

import pytest

from glasscli.config.families import habits
from glasscli.config.families.fields import Fields
from glasscli.errors import ConfigError

LETTERS = {
    "full_attention": "F", "sliding_attention": "S", "chunked_attention": "C", "linear_attention": "L", "hybrid": "H",
    "hybrid_sliding": "h", "conv": "c", "moe": "e", "mlp": "m", "recurrent": "r", "reference_sliding_attention": "R",
    "compressed_sparse_attention": "4", "heavily_compressed_attention": "1", "minimax_m3_sparse": "s",
}  # fmt: skip


def types(habit: str, n: int, engine: str = "logical", **config: Any) -> str:
    """The layers' types, a letter each."""
    words = getattr(habits, habit)(Fields(config, engine=engine), n)
    return "".join(LETTERS[word] for word in words)


WINDOW = {"sliding_window": 4096}


@pytest.mark.parametrize(
    ("habit", "config", "layers"),
    [
        # EXAONE 4: three local layers, then a global one; a word of letters; no window, no local layers.
        ("exaone", {**WINDOW, "sliding_window_pattern": 4}, "SSSFSSSF"),
        ("exaone", WINDOW, "SSSFSSSF"),
        ("exaone", {**WINDOW, "sliding_window_pattern": "LLG"}, "SSFSSFSS"),
        ("exaone", {"sliding_window_pattern": 4}, "FFFFFFFF"),
        ("flint", {}, "FFSSSFSSSFSF"),
        # Cohere 2 MoE: the dense layers at the start have a period of their own, here each of them full.
        ("prefix_then_every", {"first_k_dense_replace": 2}, "FFSSSFSS"),
        ("prefix_then_every", {"first_k_dense_replace": 3, "prefix_dense_sliding_window_pattern": 3}, "SSFSSSFS"),
        ("prefix_then_every", {"sliding_window_pattern": 2}, "SFSF"),
        # MiMo-V2-Flash: five sliding layers to a full one, and the first is full.
        ("mimo", {"hybrid_layer_pattern": [0, 1, 1, 0]}, "FSSF"),
        ("mimo", {}, "FSSSSFSSSSSF"),
        # SmolLM3 and Llama 4: every fourth layer has no rotary positions; those slide, the others are chunked.
        ("no_rope_slides", {**WINDOW, "use_sliding_window": True}, "FFFSFFFS"),
        ("no_rope_slides", {**WINDOW, "use_sliding_window": False}, "FFFFFFFF"),
        ("no_rope_slides", {**WINDOW, "use_sliding_window": True, "no_rope_layers": [1, 0, 1, 0]}, "FSFS"),
        ("no_rope_is_full", {"attention_chunk_size": 8192}, "CCCFCCCF"),
        ("no_rope_is_full", {"attention_chunk_size": 8192, "no_rope_layer_interval": 2}, "CFCF"),
        ("no_rope_is_full", {}, "FFFF"),
        ("from_max_window_layers", {**WINDOW, "max_window_layers": 3}, "FFFSS"),
        ("from_max_window_layers", {"max_window_layers": 3}, "FFFFF"),
        ("reference", WINDOW, "RRR"),
        ("reference", {}, "FFF"),
        ("dots3", {}, "FFSSSFSSSFSS"),
        ("dots3", {"use_sliding_window": False}, "FFFFF"),
        # Jamba: one attention layer in eight, at 4.
        ("jamba", {"attn_layer_period": 8, "attn_layer_offset": 4}, "LLLLFLLLLLLLFLLL"),
        ("bamba", {"attn_layer_indices": [1, 3]}, "LFLFL"),
        ("bamba", {}, "LLL"),
        ("nemotron_h", {"hybrid_override_pattern": "M-M*-E"}, "LmLFme"),
        # Zamba: two Mamba layers and a hybrid, then a hybrid at the offset of each period.
        ("zamba", {"attn_layer_period": 6, "attn_layer_offset": 4}, "LLHLLLLHLLLLLH"),
        ("zamba2", {"hybrid_layer_ids": [1, 4]}, "LHLLHL"),
        ("olmo_hybrid", {}, "LLLFLLLF"),
        ("olmo_hybrid", {}, "LLF"),
        ("kimi", {"linear_attn_config": {"full_attn_layers": [4, 8]}}, "LLLFLLLF"),  # numbered from one
        ("kimi", {}, "LLLLFLLLF"),
        ("minimax", {"attn_type_list": [0, 0, 1, 0]}, "LLFL"),
        ("minimax", {}, "FLFL"),
        ("lfm2", {"full_attn_idxs": [2, 5]}, "ccFccF"),
        ("lfm2", {}, "FFF"),
        ("lfm3", {}, "ccFcScFcScF"),
        # RecurrentGemma: two recurrent blocks, then local attention, over and over.
        ("recurrent_gemma", {"block_types": ["recurrent", "recurrent", "attention"]}, "rrSrrSrr"),
        ("inkling", {"local_layer_ids": [0, 1, 3]}, "hhHh"),
        ("inkling", {}, "hhhhhHhhhhhH"),
        ("deepseek_v4", {"compress_ratios": [0, 4, 128, 4]}, "S414"),
        ("deepseek_v4", {"compress_ratios": [0, 4, 128, 4, 0]}, "S414"),  # that of the draft layer is left out
        ("deepseek_v4", {}, "111414"),
        ("deepseek_v4", {}, "1"),
        ("minimax_m3", {"sparse_attention_config": {"sparse_attention_freq": [0, 1, 1]}}, "Fss"),
        ("minimax_m3", {}, "FFF"),
        ("attention_list", {"attention_layers": ["global", "local", "global"]}, "FSF"),
        ("attention_list", {"attention_types": [[["global", "local"], 2]]}, "FSFS"),  # GPT-Neo
    ],
)
def test_the_layers_of_a_habit(habit: str, config: dict[str, Any], layers: str) -> None:
    assert types(habit, len(layers), **config) == layers


def test_classes_of_transformers_that_cache_otherwise() -> None:
    """GPT-Neo's keeps all tokens of its local layers; MiMo-V2's knows its default pattern alone."""
    assert types("attention_list", 4, "transformers", attention_types=[[["global", "local"], 2]]) == "FFFF"
    assert types("mimo", 6, "transformers", hybrid_layer_pattern=[0, 1, 1, 1, 1, 1]) == "FSSSSF"


@pytest.mark.parametrize(
    ("habit", "n", "config", "field"),
    [
        ("no_rope_slides", 4, {"no_rope_layers": [1, 0]}, "no_rope_layers"),
        ("mimo", 4, {"hybrid_layer_pattern": [0, 1]}, "hybrid_layer_pattern"),
        ("jamba", 4, {"attn_layer_offset": 1}, "attn_layer_period"),
        ("bamba", 4, {"attn_layer_indices": [4]}, "attn_layer_indices"),
        ("nemotron_h", 2, {"hybrid_override_pattern": "MX"}, "hybrid_override_pattern"),
        ("nemotron_h", 2, {}, "layers_block_type"),
        ("zamba2", 2, {}, "layers_block_type"),
        ("kimi", 4, {"linear_attn_config": {"full_attn_layers": [0]}}, "linear_attn_config.full_attn_layers"),
        ("minimax", 3, {"attn_type_list": [0, 1]}, "attn_type_list"),
        ("recurrent_gemma", 3, {"block_types": ["recurrent", "mamba"]}, "block_types"),
        ("recurrent_gemma", 3, {}, "block_types"),
        ("deepseek_v4", 3, {"compress_ratios": [0, 4]}, "compress_ratios"),
        ("deepseek_v4", 2, {"compress_ratios": [0, 8]}, "compress_ratios"),
        ("attention_list", 3, {"attention_types": [[["global", "local"], 2]]}, "attention_layers"),
        ("attention_list", 2, {"attention_types": ["global"]}, "attention_types"),
        ("attention_list", 2, {"attention_layers": ["global", "sideways"]}, "attention_layers"),
    ],
)
def test_what_a_habit_cannot_be_read_from_is_refused_by_the_field(
    habit: str, n: int, config: dict[str, Any], field: str
) -> None:
    with pytest.raises(ConfigError) as refusal:
        types(habit, n, **config)
    assert refusal.value.field == field
