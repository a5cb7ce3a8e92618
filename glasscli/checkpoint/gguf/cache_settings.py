"""A GGUF's header as far as the size of its cache goes: many more architectures than glass runs.

An architecture is here if its header says all that decides its cache: heads (a number, or one for each layer), their
width, a window and which layers it holds for, or the widths of a latent row. States, shared caches and caches of
chunks are in no key that all their files have; those architectures are refused by name.

Source: llama.cpp's models (which key means what, and the pattern where no key has it), transformers' model types.
"""

from pathlib import Path
from typing import Any

from glasscli.checkpoint.gguf.families import windows
from glasscli.checkpoint.gguf.fields import Fields, alike
from glasscli.checkpoint.gguf.header import Header
from glasscli.checkpoint.gguf.parts import read_model
from glasscli.checkpoint.gguf.settings import FAMILIES, FILE_TYPES, settings
from glasscli.errors import ConfigError

# Full attention in every layer.
PLAIN = {
    "apertus": "apertus", "arcee": "arcee", "baichuan": "baichuan", "bailingmoe": "bailing_moe",
    "command-r": "cohere", "dots1": "dots1", "ernie4_5": "ernie4_5", "ernie4_5-moe": "ernie4_5_moe",
    "exaone": "exaone", "glm4": "glm4", "granitemoe": "granitemoe", "grok": "grok-1",
    "hunyuan-dense": "hunyuan_v1_dense", "hunyuan-moe": "hunyuan_v1_moe", "internlm2": "internlm2",
    "minicpm": "minicpm", "minimax-m2": "minimax_m2", "mistral3": "mistral", "nemotron": "nemotron", "olmo": "olmo",
    "olmoe": "olmoe", "orion": "orion", "phi2": "phi", "phimoe": "phimoe", "qwen2moe": "qwen2_moe",
    "qwen2vl": "qwen2", "qwen3moe": "qwen3_moe", "qwen3vl": "qwen3", "qwen3vlmoe": "qwen3_moe", "seed_oss": "seed_oss",
    "starcoder2": "starcoder2", "xverse": "xverse",
}  # fmt: skip
# A window on all layers but each so many-th.
WINDOWED = {"gpt-oss": ("gpt_oss", 2), "cohere2": ("cohere2", 4)}
LATENT = {"deepseek2": "deepseek_v3"}


def cache_settings(path: str | Path) -> dict[str, Any]:
    """What config.json would say of the model's cache, and more where glass runs it.

    Raises:
        CheckpointError: the file is no GGUF, or damaged.
        ConfigError: an architecture whose header does not say enough, or a key that is not what it should be.
    """
    header, _ = read_model(Path(path))
    return cache_settings_of(header)


def cache_settings_of(header: Header) -> dict[str, Any]:
    """`cache_settings` of a header that has been read."""
    fields = Fields(header)
    if fields.architecture in FAMILIES:
        return settings(header)
    return _known(fields) | _attention(header, fields)


def _known(fields: Fields) -> dict[str, Any]:
    """The model type, and what is particular to its cache."""
    name = fields.architecture
    if name in PLAIN:
        if fields.whole("attention.sliding_window", 0, least=0):
            raise fields.error(
                fields.key("attention.sliding_window"), "is set, and which layers it is for is not known"
            )
        return {"model_type": PLAIN[name], "layer_types": _layers(fields)}
    if name in WINDOWED:
        model_type, period = WINDOWED[name]
        types = windows(fields, period)
        return {
            "model_type": model_type,
            "sliding_window": fields.whole("attention.sliding_window"),
            "layer_types": types,
        }
    if name in LATENT:
        rotated = fields.whole("rope.dimension_count")
        width = "attention.key_length_mla" if fields.has("attention.key_length_mla") else "attention.key_length"
        value = "attention.value_length_mla" if fields.has("attention.value_length_mla") else "attention.value_length"
        return {
            "model_type": LATENT[name],
            "kv_lora_rank": fields.whole("attention.kv_lora_rank"),
            "qk_rope_head_dim": rotated,
            "qk_nope_head_dim": max(fields.whole(width) - rotated, 0),
            "v_head_dim": fields.whole(value),
        }
    known = ", ".join(sorted((*FAMILIES, *PLAIN, *WINDOWED, *LATENT)))
    raise ConfigError(f"general.architecture is {name!r}; glass sizes {known}", "general.architecture")


def _attention(header: Header, fields: Fields) -> dict[str, Any]:
    queries = fields.by_layer("attention.head_count", least=0)
    keys = fields.by_layer("attention.head_count_kv", queries, least=0)
    most = max(queries)
    if not most or not max(keys):
        raise fields.error(fields.key("attention.head_count"), "leaves no layer with attention")
    said: dict[str, Any] = {
        "hidden_size": fields.whole("embedding_length"),
        "num_hidden_layers": fields.n_layers,
        # A layer without heads keeps nothing; the other layers' counts stand in for its own.
        "num_attention_heads": alike([n or most for n in queries]),
        "max_position_embeddings": fields.whole("context_length"),
        "torch_dtype": FILE_TYPES.get(str(header.metadata.get("general.file_type")), "float16"),
    }
    if fields.architecture in LATENT:
        return said | {"num_key_value_heads": alike([n or most for n in queries])}
    width = fields.whole("attention.key_length", fields.whole("embedding_length") // most or 1)
    values = fields.whole("attention.value_length", width)
    said |= {"num_key_value_heads": alike([n or max(keys) for n in keys]), "head_dim": width}
    return said | ({"v_head_dim": values} if values != width else {})


def _layers(fields: Fields) -> list[str]:
    """The type of each layer: "mlp" for one that has no heads."""
    queries = fields.by_layer("attention.head_count", least=0)
    keys = fields.by_layer("attention.head_count_kv", queries, least=0)
    return ["full_attention" if n and n_kv else "mlp" for n, n_kv in zip(queries, keys, strict=True)]
