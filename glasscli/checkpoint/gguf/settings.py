"""A GGUF's header as a config.json: the settings of the architectures whose tensors `names` knows, a row each.

Where a key is absent, what llama.cpp assumes holds, for it is what such files are tried with. Some facts are in no
key: whether the head is tied (there is no output.weight), which projections have a bias, Gemma's layers that slide.

Source: llama.cpp's converter (what it writes of a config.json) and its models' `load_arch_hparams` (what is assumed).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from glasscli.checkpoint.gguf import families
from glasscli.checkpoint.gguf.fields import Fields, alike
from glasscli.checkpoint.gguf.header import Header
from glasscli.checkpoint.gguf.rope import scaling
from glasscli.checkpoint.gguf.tensors import Heads
from glasscli.checkpoint.gguf.values import Listed
from glasscli.errors import NotRunError

# general.file_type: the type of most tensors. Of quantised files the cache is float16, as llama.cpp has it.
FILE_TYPES = {"0": "float32", "32": "bfloat16"}


@dataclass(frozen=True)
class Family:
    """How an architecture's header is told.

    Attributes:
        model_type, model_class: Hugging Face's.
        more: adds what only this family has, and renames what it calls otherwise.
        norm_eps: GGUF's name and config.json's of what keeps a norm from dividing by zero.
    """

    model_type: str
    model_class: str
    more: Callable[[dict[str, Any], Header, Fields], None]
    norm_eps: tuple[str, str] = ("layer_norm_rms_epsilon", "rms_norm_eps")


_LAYER_NORM = ("layer_norm_epsilon", "layer_norm_eps")
FAMILIES: Mapping[str, Family] = {
    "llama": Family("llama", "LlamaForCausalLM", families.llama),
    "qwen2": Family("qwen2", "Qwen2ForCausalLM", families.qwen2),
    "qwen3": Family("qwen3", "Qwen3ForCausalLM", families.qwen3),
    "gemma": Family("gemma", "GemmaForCausalLM", families.gemma),
    "gemma2": Family("gemma2", "Gemma2ForCausalLM", families.gemma2),
    "gemma3": Family("gemma3_text", "Gemma3ForCausalLM", families.gemma3),
    "phi3": Family("phi3", "Phi3ForCausalLM", families.phi3),
    "gpt2": Family("gpt2", "GPT2LMHeadModel", families.gpt2, ("layer_norm_epsilon", "layer_norm_epsilon")),
    "gptneox": Family("gpt_neox", "GPTNeoXForCausalLM", families.gptneox, _LAYER_NORM),
    "stablelm": Family("stablelm", "StableLmForCausalLM", families.stablelm, _LAYER_NORM),
    "olmo2": Family("olmo2", "Olmo2ForCausalLM", families.olmo2),
    "granite": Family("granite", "GraniteForCausalLM", families.granite),
    "smollm3": Family("smollm3", "SmolLM3ForCausalLM", families.smollm3),
}


def settings(header: Header) -> dict[str, Any]:
    """What config.json would say of the model.

    Raises:
        ConfigError: an architecture without a row, or a key that is missing or not what it should be.
        CheckpointError: a list or a rotary table can't be read.
    """
    fields = Fields(header)
    family = FAMILIES.get(fields.architecture)
    if family is None:
        known = ", ".join(FAMILIES)
        raise NotRunError(
            f"{header.path}: general.architecture is {fields.architecture!r}; glass can run {known}",
            "general.architecture",
        )
    said = _common(header, fields)
    said |= {"model_type": family.model_type, "architectures": [family.model_class]}
    theirs, ours = family.norm_eps
    if not fields.has(f"attention.{theirs}"):
        raise fields.error(fields.key(f"attention.{theirs}"), "is missing")
    said[ours] = fields.number(f"attention.{theirs}", 0.0)
    family.more(said, header, fields)
    return {name: value for name, value in said.items() if value is not None}


def heads_by_layer(fields: Fields) -> list[Heads]:
    """Query heads, key/value heads and their width in each layer."""
    queries = fields.by_layer("attention.head_count")
    keys = fields.by_layer("attention.head_count_kv", queries, least=0)
    width = fields.whole("attention.key_length", fields.whole("embedding_length") // queries[0] or 1)
    return [Heads(n, n_kv, width) for n, n_kv in zip(queries, keys, strict=True)]


def _common(header: Header, fields: Fields) -> dict[str, Any]:
    """What all families call alike."""
    heads = heads_by_layer(fields)
    width, theta = heads[0].head_dim, fields.number("rope.freq_base", 10_000.0)
    n_rotated = fields.whole("rope.dimension_count", width)
    values = fields.whole("attention.value_length", width)
    return {
        "hidden_size": fields.whole("embedding_length"),
        "intermediate_size": alike(fields.by_layer("feed_forward_length")),
        "num_hidden_layers": fields.n_layers,
        "num_attention_heads": alike([layer.n_heads for layer in heads]),
        "num_key_value_heads": alike([layer.n_kv_heads for layer in heads]),
        "head_dim": width,
        "v_head_dim": values if values != width else None,
        "max_position_embeddings": fields.whole("context_length"),
        "vocab_size": _vocab_size(header, fields),
        "rope_theta": theta,
        "rope_scaling": scaling(header, fields, theta, n_rotated),
        "partial_rotary_factor": families.share(n_rotated, width) if n_rotated != width else None,
        "tie_word_embeddings": "output.weight" not in header.tensors,
        "torch_dtype": FILE_TYPES.get(str(header.metadata.get("general.file_type")), "float16"),
        "bos_token_id": fields.token_id("bos"),
        "eos_token_id": fields.token_id("eos"),
    }


def _vocab_size(header: Header, fields: Fields) -> int:
    """Rows of the embedding; in a file without one, how many tokens there are."""
    embedding = header.tensors.get("token_embd.weight")
    if embedding is not None and len(embedding.shape) == 2:
        return embedding.shape[0]
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    return fields.whole("vocab_size", len(tokens) if isinstance(tokens, Listed) else None)
