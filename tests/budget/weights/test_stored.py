"""Bytes of weights: equal to what checkpoints hold, what vLLM logged, and sums that a pencil makes."""

from typing import Any

import pytest

from glasscli.budget.weights.formats import Awq, Blocks, Bnb4, Gptq, Mxfp4, Nvfp4, Packed, Scaled
from glasscli.budget.weights.loaded import loaded_bytes
from glasscli.budget.weights.ranks import Split, stage_bytes
from glasscli.budget.weights.rope_cache import rope_cache_bytes
from glasscli.budget.weights.stored import stored
from glasscli.errors import ConfigError, UsageError

GIB = 2**30
Config = dict[str, Any]


def llama(layers: int, width: int, ffn: int, heads: int, kv_heads: int, **more: Any) -> Config:
    return {
        "model_type": "llama",
        "num_hidden_layers": layers,
        "hidden_size": width,
        "intermediate_size": ffn,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": False,
    } | more


def qwen2(layers: int, width: int, ffn: int, heads: int, kv_heads: int, **more: Any) -> Config:
    sizes = {"model_type": "qwen2", "vocab_size": 152064, "max_position_embeddings": 32768}
    return llama(layers, width, ffn, heads, kv_heads, **sizes | more)


def gpt_oss(layers: int, experts: int) -> Config:
    left = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
    return llama(
        layers,
        2880,
        2880,
        64,
        8,
        model_type="gpt_oss",
        head_dim=64,
        vocab_size=201088,
        num_local_experts=experts,
        num_experts_per_tok=4,
        attention_bias=True,
        quantization_config={"quant_method": "mxfp4", "modules_to_not_convert": left},
    )


SMALL_QWEN = qwen2(28, 1536, 8960, 12, 2, vocab_size=151936, tie_word_embeddings=True)
SMALL_LLAMA = llama(16, 2048, 8192, 32, 8, tie_word_embeddings=True)
MISTRAL = llama(32, 4096, 14336, 32, 8, vocab_size=32000, max_position_embeddings=32768)
LLAMA_8B = llama(32, 4096, 14336, 32, 8)
INT8 = {
    "quant_method": "compressed-tensors",
    "format": "int-quantized",
    "ignore": ["lm_head"],
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True, "dynamic": False},
            "input_activations": {"num_bits": 8, "type": "int", "strategy": "token", "dynamic": True},
        }
    },
}


@pytest.mark.parametrize(
    ("config", "total_size"),
    [  # metadata.total_size of the models' model.safetensors.index.json
        (LLAMA_8B, 16_060_522_496),
        (gpt_oss(24, 32), 13_761_264_768),
        (gpt_oss(36, 128), 65_248_815_744),
    ],
    ids=["llama-3.1-8b", "gpt-oss-20b", "gpt-oss-120b"],
)
def test_bytes_are_those_of_the_checkpoint(config: Config, total_size: int) -> None:
    assert stored(config).n_bytes == total_size


# What vLLM printed as the weights' GiB on one rank, with a link to where.
LOGGED = [
    ("llama-3.1-8b", LLAMA_8B, 1, 14.9888, "vllm-project/vllm#10517"),
    ("llama-3.1-70b w8a8", llama(80, 8192, 28672, 64, 8, quantization_config=INT8), 1, 67.7229, "vllm#12569"),
    ("qwen2.5-32b tp 2", qwen2(64, 5120, 27648, 40, 8), 2, 30.7098, "vllm-project/vllm#15815"),
    ("qwen2.5-7b", qwen2(28, 3584, 18944, 28, 4), 1, 14.2487, "vLLM 0.6 and 0.7, many reports"),
    ("qwen2.5-1.5b", SMALL_QWEN, 1, 2.8875, "vLLM 0.7 and 0.8, many reports"),
    ("llama-3.2-1b", SMALL_LLAMA, 1, 2.3185, "vLLM 0.6, a log of 2024-12-06"),
    ("mistral-7b", MISTRAL, 1, 13.4967, "a public log of Mistral-7B-Instruct"),
]


@pytest.mark.parametrize(("name", "config", "tp", "gib", "source"), LOGGED, ids=[case[0] for case in LOGGED])
def test_loaded_bytes_are_those_that_vllm_logged(name: str, config: Config, tp: int, gib: float, source: str) -> None:
    model = stored(config)
    rope = rope_cache_bytes(config, "bf16")
    assert rope is not None
    (weights,) = loaded_bytes(model, Split(tp=tp), rope)
    assert (weights + rope) / GIB == pytest.approx(gib, abs=0.5e-4)


def test_the_rope_cache_of_llama_is_32_mib() -> None:
    assert rope_cache_bytes(LLAMA_8B, "bf16") == 131072 * 128 * 2


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (Scaled("fp8", "tensor", 4, statics=1), 256 * 512 + 4 + 4),
        (Scaled("int8", "channel", 4), 256 * 512 + 256 * 4),
        (Blocks("fp8", 128, 128), 256 * 512 + 2 * 4 * 4),
        (Packed("int4", 4, 128, zeros=False), 256 * 256 + 256 * 4 * 2 + 16),
        (Packed("int4", 4, 128, zeros=True), 256 * 256 + 256 * 4 * 2 + 32 * 4 * 4 + 16),
        (Awq("awq", 4, 128), 256 * 256 + 4 * 128 + 4 * 256 * 2),
        (Gptq("gptq", 4, 128), 256 * 256 + 4 * 128 + 4 * 256 * 2 + 4 * 512),
        (Nvfp4("nvfp4"), 256 * 256 + 256 * 32 + 8),
        (Mxfp4("mxfp4"), 256 * 256 + 256 * 16),
        (Bnb4("bnb4", nested=False), 256 * 256 + 2048 * 4 + 64),
        (Bnb4("bnb4", nested=True), 256 * 256 + 2048 + 8 * 4 + 1024 + 64),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_map_of_256_rows_and_512_columns(form: Any, expected: int) -> None:
    assert form.n_bytes(256, 512) == expected


def test_what_lists_name_is_left_as_it_is() -> None:
    listed = {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": ["layers.0.self_attn"]}
    model = stored(LLAMA_8B | {"quantization_config": listed})
    plain = {tensor.name for tensor in model.weights.tensors if model.scheme.of(tensor).name == "bf16"}
    assert "model.layers.0.self_attn.q_proj" in plain
    assert "model.layers.1.self_attn.q_proj" not in plain
    assert {"lm_head", "model.embed_tokens", "model.norm"} <= plain


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"quant_method": "aqlm"}, "quantization_config.quant_method"),
        ({"quant_method": "gptq", "bits": 5}, "quantization_config.bits"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "quantization_config.ignore"),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "ignore": []}, "quantization_config.quant_algo"),
        ({"quant_method": "fp8", "weight_block_size": [128]}, "quantization_config.weight_block_size"),
        (INT8 | {"config_groups": {}}, "quantization_config.config_groups"),
    ],
)
def test_a_quantisation_that_is_not_known_is_refused_by_name(settings: Config, field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        stored(LLAMA_8B | {"quantization_config": settings})
    assert refusal.value.field == field


def test_ranks_share_what_can_be_split_and_copy_the_rest() -> None:
    model = stored(LLAMA_8B)
    (whole,), (half,) = stage_bytes(model, Split()), stage_bytes(model, Split(tp=2))
    norms = 65 * 4096 * 2
    assert half == (whole - norms) // 2 + norms


def test_more_ranks_than_key_value_heads_copy_them() -> None:
    model = stored(LLAMA_8B)
    (eight,), (sixteen,) = stage_bytes(model, Split(tp=8)), stage_bytes(model, Split(tp=16))
    norms, one_head = 65 * 4096 * 2, 2 * 32 * 128 * 4096 * 2
    assert sixteen == (eight - norms - one_head) // 2 + norms + one_head


def test_stages_hold_their_layers_the_first_the_embedding_the_last_the_head() -> None:
    first, last = stage_bytes(stored(LLAMA_8B), Split(pp=2))
    assert last - first == 4096 * 2  # the last norm; embedding and head are equally large
    tied = stored(LLAMA_8B | {"tie_word_embeddings": True})
    assert stage_bytes(tied, Split(pp=2)) == (first, last)  # a copy of the embedding is the head


def test_experts_are_spread_over_the_ranks_of_all_replicas() -> None:
    model = stored(gpt_oss(24, 32) | {"quantization_config": None, "intermediate_size": 2048})
    experts = sum(t.n_parameters for t in model.weights.tensors if t.copies > 1)
    one, spread = stage_bytes(model, Split(tp=4, ep=True))[0], stage_bytes(model, Split(tp=4, dp=2, ep=True))[0]
    assert one - spread == experts // 8 * 2


@pytest.mark.parametrize("name", ["quantization", "quantization_config"])
def test_mlx_is_called_by_its_name(name: str) -> None:
    """Its older folders have the settings under a name of their own: not to see it would be four times the bytes."""
    mlx = {name: {"bits": 4, "group_size": 64}}
    with pytest.raises(ConfigError, match="as MLX writes them"):
        stored(LLAMA_8B | mlx)


def test_ranks_that_do_not_divide_are_refused() -> None:
    with pytest.raises(ConfigError) as refusal:
        stage_bytes(stored(LLAMA_8B), Split(tp=3))
    assert refusal.value.field == "tp"
    with pytest.raises(UsageError):
        stage_bytes(stored(LLAMA_8B), Split(pp=33))
