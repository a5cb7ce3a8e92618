"""More configs of published models, with the traps of their own code: bytes of one sequence, worked out by hand.

Each formula names layers, heads, widths and bytes as numbers, as `test_real_configs` does; `t` is the number of
tokens (and the window or the states stand beside it). None of these types is read by transformers' classes, or
its class misreads the config: a calculator that reads `num_attention_heads` alone is wrong by the factor given.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glasscli.budget.plan import plan
from glasscli.budget.request import Request
from glasscli.config.families import layout
from glasscli.errors import ConfigError

CONFIGS = Path(__file__).parents[1] / "data" / "kv" / "more_configs"
Formula = Callable[[int], int]

# Layers × tokens × key/value heads × (key width + value width) × bytes.
SHARED_HEADS: dict[str, Formula] = {
    "meta-llama--Meta-Llama-3-8B-params": lambda t: 32 * t * 8 * (128 + 128) * 2,  # n_kv_heads: 4×
    "mistralai--Mistral-7B-v0.1-params": lambda t: 32 * min(t, 4096) * 8 * (128 + 128) * 2,
    "smallcloudai--Refact-1_6B-fim": lambda t: 32 * t * 1 * (64 + 64) * 2,  # multi_query: 32×
    "bigcode--santacoder": lambda t: 24 * t * 1 * (128 + 128) * 4,  # attention_head_type: 16×
    "THUDM--cogvlm2-llama3-chat-19B": lambda t: 32 * t * 8 * (128 + 128) * 2,  # num_multi_query_heads: 4×
    "tiiuae--falcon-40b-first": lambda t: 60 * t * 8 * (64 + 64) * 2,  # n_head_kv, and no flag
    "tiiuae--falcon-7b-first": lambda t: 32 * t * 1 * (64 + 64) * 2,
    "tiiuae--falcon-rw-1b": lambda t: 24 * t * 32 * (64 + 64) * 2,
    "tiiuae--falcon-180B": lambda t: 80 * t * 8 * (64 + 64) * 2,
    "Deci--DeciLM-7B": lambda t: 32 * t * 4 * (128 + 128) * 2,  # num_key_value_heads_per_layer
    "allenai--OLMo-7B": lambda t: 32 * t * 32 * (128 + 128) * 4,
    "xai-org--grok-2": lambda t: 64 * t * 8 * (128 + 128) * 2,  # its model_type is git
    "pfnet--plamo-13b": lambda t: 40 * t * (40 // 8) * (128 + 128) * 2,  # n_shared_head: 8×
    "tencent--Tencent-Hunyuan-Large": lambda t: 64 // 2 * t * 8 * (128 + 128) * 2,  # cla_share_factor 2
    "tencent--Hunyuan-A13B-Instruct": lambda t: 32 * t * 8 * (128 + 128) * 2,  # use_cla false
    "stepfun-ai--step3": lambda t: 61 * t * 1 * (256 + 256) * 2,  # num_attention_groups: 64×
    "THUDM--chatglm-6b": lambda t: 28 * t * 32 * (128 + 128) * 2,
    "THUDM--glm-4-9b-chat": lambda t: 40 * t * 2 * (128 + 128) * 2,
    "Qwen--Qwen2-Audio-7B": lambda t: 32 * t * 32 * (128 + 128) * 2,
    "llava-hf--llava-1.5-7b-hf": lambda t: 32 * t * 32 * (128 + 128) * 2,
    # use_mla false: heads of 1280 // 10, though the class and its lora rank say a latent.
    "deepseek-ai--DeepSeek-OCR": lambda t: 12 * t * 10 * (128 + 128) * 2,
}

# Recurrent layers: a state in float32 (but for MiniMax's), and the inputs that a convolution or a shift keeps.
STATES: dict[str, Formula] = {
    "MiniMaxAI--MiniMax-Text-01": lambda t: 10 * t * 8 * 256 * 2 + 70 * 64 * 128 * 128 * 2,
    "inclusionAI--Ring-mini-linear-2.0": lambda t: 4 * t * 4 * 256 * 2 + 16 * 16 * 128 * 128 * 4,
    "RWKV--rwkv-5-world-1b5": lambda t: 24 * (2 * 2048 * 2 + 32 * 64 * 64 * 4),
    "RWKV--RWKV7-Goose-World3-1.5B": lambda t: 24 * (2 * 2048 * 2 + 32 * 64 * 64 * 4),
    "state-spaces--mamba-2.8b": lambda t: 64 * (5120 * 3 * 2 + 5120 * 16 * 4),
    "state-spaces--mamba2-2.7b": lambda t: 64 * ((5120 + 2 * 128) * 3 * 2 + 80 * 64 * 128 * 4),
    # Ling 3: KDA on three of four layers; Ling 2.5, of the same model_type, lightning attention on seven of eight.
    "inclusionAI--Ling-3.0-tiny": lambda t: 6 * t * 576 * 2 + 18 * (3 * 2048 * 3 * 2 + 16 * 128 * 128 * 4),
    "inclusionAI--Ling-2.5-1T": lambda t: 10 * t * 576 * 2 + 70 * 64 * 128 * 128 * 4,
    "pfnet--plamo-2-1b": lambda t: 8 * min(t, 2048) * 256 * 2 + 8 * (4096 * 3 * 2 + 4096 * 64 * 4),
    # The second pass reads the first one's cache, and keeps 64 tokens of its own.
    "IQuestLab--IQuest-Coder-V1-40B-Loop": lambda t: 80 * (t + min(t, 64)) * 8 * (128 + 128) * 2,
    # Attention of 30 heads of 128, with a convolution over q, k and v, on 6 of 64 layers.
    "state-spaces--mamba2attn-2.7b": lambda t: (
        6 * (t * 30 * 256 * 2 + 90 * 128 * 3 * 2) + 58 * ((5120 + 2 * 128) * 3 * 2 + 80 * 64 * 128 * 4)
    ),
    "PowerInfer--SmallThinker-21BA3B-Instruct": lambda t: (13 * t + 39 * min(t, 4096)) * 4 * 256 * 2,
    # A filter before each attention keeps two inputs.
    "IEITYuan--Yuan2-2B-hf": lambda t: 24 * (t * 32 * 128 * 2 + 2 * 2048 * 2),
    "google--recurrentgemma-2b": lambda t: 8 * min(t, 2048) * 512 * 2 + 18 * (2560 * 4 + 2560 * 3 * 2),
    # Full layers of 2 × 256, sliding ones of 8 × 128, and the last key and value of each, for a convolution.
    "baichuan-inc--Baichuan-M1-14B": lambda t: (
        20 * 2 * (t * 2 * 256 * 2 + 2 * 256 * 2) + 20 * 2 * (min(t, 8192) * 8 * 128 * 2 + 8 * 128 * 2)
    ),
}

# Decoders beside an encoder: heads × d_kv need not be d_model; e is the encoder's length.
CROSS: dict[str, Callable[[int, int], int]] = {
    "google--ul2": lambda t, e: 32 * (t + e) * 16 * (256 + 256) * 2,
    # Its type is in no library: the decoder's own layers, heads and width.
    "ai4bharat--indictrans2-en-indic-1B": lambda t, e: 18 * (t + e) * 16 * (64 + 64) * 4,
    "google--byt5-small": lambda t, e: 4 * (t + e) * 6 * (64 + 64) * 4,
}


def config(name: str) -> Any:
    return json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("tokens", [1, 1000, 16_384])
@pytest.mark.parametrize("name", [*SHARED_HEADS, *STATES])
def test_one_sequence_takes(name: str, tokens: int) -> None:
    budget = plan(Request(layout(config(name)), tokens))
    assert budget.bytes_total == (SHARED_HEADS | STATES)[name](tokens)


@pytest.mark.parametrize("name", CROSS)
def test_an_encoder_adds_its_tokens_once(name: str) -> None:
    budget = plan(Request(layout(config(name)), 100, encoder_tokens=512))
    assert budget.bytes_total == CROSS[name](100, 512)


# Not GLM-4, whose model_type it has: it remembers hidden states.
REFUSED = {"THUDM--glm-10b": "block_position_encoding"}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_what_its_type_says_is_refused(name: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        layout(config(name))
    assert refusal.value.field == REFUSED[name]


def test_every_config_is_used() -> None:
    assert {path.stem for path in CONFIGS.glob("*.json")} == {*SHARED_HEADS, *STATES, *CROSS, *REFUSED}


def unknown(**fields: Any) -> dict[str, Any]:
    plain = {"hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, "model_type": "someones_own"}
    return plain | fields


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        # Types of recurrent models that look like plain attention but for their name.
        ({"model_type": "gla", "num_heads": 4}, "model_type"),
        ({"model_type": "retnet"}, "model_type"),
        ({"model_type": "gated_deltanet"}, "model_type"),
        ({"model_type": "rwkv8"}, "model_type"),
        ({"model_type": "transnormer"}, "model_type"),
        ({"mem_layers": [6, 12, 18]}, "mem_layers"),
        # Heads counted, or shared, under a name that no rule reads.
        ({"num_kv_something": 4}, "num_kv_something"),
        ({"n_shared_head": 8}, "n_shared_head"),
        ({"multi_query": True}, "multi_query"),
        ({"head_size_divisor": 8}, "head_size_divisor"),
        ({"layer_sharing": True}, "layer_sharing"),
    ],
)
def test_an_unknown_type_is_refused_for(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        layout(unknown(**fields))
    assert refusal.value.field == field


@pytest.mark.parametrize(
    "fields", [{}, {"multi_query": False}, {"sliding_window": -1}, {"multi_query": True, "num_kv_heads": 32}]
)
def test_an_unknown_type_is_read_as_plain_with(fields: dict[str, Any]) -> None:
    held = layout(unknown(**fields), assume_plain=True)
    assert plan(Request(held, 10)).bytes_total == 24 * 10 * 32 * (64 + 64) * 2


def test_heads_may_be_listed_for_each_layer() -> None:
    listed = unknown(num_key_value_heads=[8] * 12 + [4] * 12, model_type="llama")
    assert plan(Request(layout(listed), 10)).bytes_total == 12 * 10 * (8 + 4) * (64 + 64) * 2
    with pytest.raises(ConfigError) as refusal:
        layout(listed | {"num_key_value_heads": [8] * 23})
    assert refusal.value.field == "num_key_value_heads"


def test_the_classes_own_window_heads_apply_where_a_config_leaves_them_out() -> None:
    """Inkling's sliding layers have 16 key/value heads of 128, its full ones what the config says."""
    inkling = {"model_type": "inkling_text", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 64}
    heads = {"num_key_value_heads": 4, "head_dim": 32, "sliding_window_size": 8, "local_layer_ids": [0]}
    budget = plan(Request(layout(inkling | heads), 100))
    convolutions = (2 * 16 * 128 + 2 * 64) + (2 * 4 * 32 + 2 * 64)
    assert budget.bytes_total == 8 * 2 * 16 * 128 * 2 + 100 * 2 * 4 * 32 * 2 + 3 * convolutions * 4


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp", "transformers"])
@pytest.mark.parametrize("name", ["baichuan-inc--Baichuan-M1-14B", "IEITYuan--Yuan2-2B-hf", "RWKV--rwkv-5-world-1b5"])
def test_an_engine_without_a_rule_for_a_state_refuses(name: str, engine: str) -> None:
    with pytest.raises(ConfigError):
        plan(Request(layout(config(name), engine), 100, engine=engine))


PLAIN = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
FP8 = {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}


@pytest.mark.parametrize(
    "fields",
    [
        {"quantization_config": FP8},
        {"compression_config": FP8},  # what compressed-tensors called it at first
        {"quantization_config": {"quant_method": "modelopt", "quantization": {"kv_cache_quant_algo": "FP8"}}},
        {"model_type": "llava", "text_config": PLAIN | {"quantization_config": FP8}},
    ],
)
def test_the_cache_dtype_of_a_checkpoint_is_found(fields: dict[str, Any]) -> None:
    assert layout(PLAIN | fields).kv_dtype_hint == "fp8"


def test_weights_in_float8_do_not_make_a_cache_in_float8() -> None:
    made = layout(PLAIN | {"torch_dtype": "float8_e4m3fn"})
    assert (made.dtype, made.kv_dtype_hint) == ("bf16", None)
    assert any("float8_e4m3fn" in note for note in made.notes)


@pytest.mark.parametrize(
    ("name", "model_type"),
    [
        ("Gemma2ForCausalLM", "gemma2"),
        ("Qwen3MoeForCausalLM", "qwen3_moe"),
        ("GPTNeoXForCausalLM", "gpt_neox"),
        ("T5ForConditionalGeneration", "t5"),
        ("SomeonesOwnForCausalLM", ""),
    ],
)
def test_a_class_alone_names_the_type(name: str, model_type: str) -> None:
    fields = {key: value for key, value in PLAIN.items() if key != "model_type"}
    assert layout(fields | {"architectures": [name], "num_heads": 4, "d_kv": 16}).model_type == model_type


def test_an_encoder_of_unknown_length_is_spoken_of() -> None:
    made = layout({"model_type": "t5", "d_model": 64, "d_kv": 16, "num_heads": 4, "num_layers": 2})
    says = "encoder_tokens is not given"
    assert any(says in note for note in plan(Request(made, 10)).notes)
    assert not any(says in note for note in plan(Request(made, 10, encoder_tokens=7)).notes)
    assert not any(says in note for note in plan(Request(layout(PLAIN), 10)).notes)


def test_a_wrapper_nobody_knows_may_nest_a_class_and_nothing_else() -> None:
    """Llama's own 32 layers of 32 heads of 128, as the wrapper's author wrote only what differs."""
    wrapped = {"model_type": "someones_vision", "text_config": {"model_type": "llama", "vocab_size": 32064}}
    assert plan(Request(layout(wrapped), 10)).bytes_total == 32 * 10 * 32 * 256 * 2
