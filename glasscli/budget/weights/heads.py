"""The weights of a head that drafts from a model's own activations, from its config.json alone.

    eagle    layers like the model's, the first without a norm before it, and `fc` from an embedding and an activation
    eagle3   layers whose first reads an embedding and an activation beside each other, a norm more for each; `fc`
             from three of the model's activations; a head of its own over `draft_vocab_size` tokens
    dflash   layers like Qwen3's; `fc` from the activations of `target_layer_ids`; two norms

The embedding is the model's own, in EAGLE and DFlash the head too: published heads hold neither. Of heads whose
attention keeps latents, of Medusa and of layers that a model drafts with itself (MTP) the weights are not counted here.

Source: vLLM's `llama_eagle.py`, `llama_eagle3.py` and `qwen3_dflash.py` of 2026.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from glasscli.budget.weights.count import weights
from glasscli.budget.weights.quantisation import scheme
from glasscli.budget.weights.stored import Stored
from glasscli.budget.weights.weight import Weight
from glasscli.config.families import dtype
from glasscli.config.families.fields import Fields
from glasscli.errors import ConfigError

METHODS = ("eagle", "eagle3", "dflash")
READS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
FIRST = "layers.0."
ACTIVATIONS = 3  # of the model that an EAGLE-3 head reads


def stored_head(config: Mapping[str, Any], method: str) -> Stored:
    """The weights of a head that drafts by `method`.

    Raises ConfigError (field `draft`) where they are not known from a config, else as `weights` does.
    """
    if method not in METHODS:
        known = ", ".join(METHODS)
        raise ConfigError(
            f"what a {method} head weighs is known from its files only: give its folder; by config {known} are counted",
            "draft",
        )
    read = Fields(config)
    dflash = read.nested("dflash_config") if method == "dflash" and read.has("dflash_config") else Fields({})
    if dflash.has("use_swa") and dflash.flag("use_swa") and not read.has("layer_types"):
        raise ConfigError("dflash_config.use_swa: a head with windows and no layer_types is not known here", "draft")
    own = weights({**config, "tie_word_embeddings": False})
    found = tuple(_head(own.tensors, read, dflash, method))
    if not any(tensor.name.endswith(READS[1]) for tensor in found):
        raise ConfigError(f"what a head of type {own.model_type} weighs is known from its files only", "draft")
    return Stored(replace(own, tensors=found), scheme(read, read, dtype.model_dtype(read, read)), own.notes)


def _head(tensors: tuple[Weight, ...], read: Fields, dflash: Fields, method: str) -> Iterator[Weight]:
    """A model's weights as a head has them, and those that only a head has."""
    width = read.integer("hidden_size")
    target = read.integer("target_hidden_size", default=width)
    last = max(tensor.stage for tensor in tensors)
    for tensor in tensors:
        in_first = FIRST in tensor.name
        if tensor.part == "embedding" or (tensor.part == "head" and method != "eagle3"):
            continue
        if method == "eagle" and (in_first and "input_layernorm" in tensor.name):
            continue
        if method == "eagle" and tensor.part == "norms" and "layers." not in tensor.name:
            continue
        if method == "eagle3" and tensor.part == "head":
            vocab = read.integer("vocab_size")
            yield replace(tensor, rows=read.integer("draft_vocab_size", default=vocab))
        elif method == "eagle3" and in_first and tensor.name.endswith(READS):
            yield replace(tensor, columns=2 * width)
        else:
            yield tensor
        if method == "eagle3" and "input_layernorm" in tensor.name:
            yield replace(tensor, name=tensor.name.replace("input_layernorm", "hidden_norm"))
    if method == "dflash":
        layers = dflash.numbers("target_layer_ids") or read.numbers("target_layer_ids")
        if not layers:
            raise ConfigError("target_layer_ids is missing: how many activations the head reads", "target_layer_ids")
        yield Weight("hidden_norm", "norms", width, None, "all", stage=last)
        yield Weight("fc", "other", width, target * len(layers), "all", stage=last)
    else:
        inputs = 2 * width if method == "eagle" else ACTIVATIONS * target
        yield Weight("fc", "other", width, inputs, "all", stage=last)
