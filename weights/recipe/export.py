"""A trained model to a folder in Hugging Face layout, in the smallest dtype that changes no greedy token."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor

from .model import Llama, Shape
from .tokenizer import END_ID, END_OF_TEXT

DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}

# How this model writes best. Of a few settings tried on 160 stories: a softer penalty or a higher temperature repeats
# itself or invents words more often, a harder penalty loses the thread.
SAMPLING = {"temperature": 0.6, "top_p": 0.85, "top_k": 0, "repetition_penalty": 1.15}


@dataclass(frozen=True)
class DtypeTrial:
    """What rounding to a dtype did to greedy text: prompts whose tokens changed, largest logit change."""

    dtype: str
    n_prompts: int
    n_tokens: int
    n_changed: int
    largest_logit_change: float


def rounded(model: Llama, dtype: str) -> Llama:
    """A float32 copy of the model whose weights went through `dtype`."""
    copy = Llama(model.shape)
    copy.load_state_dict({name: x.to(DTYPES[dtype]).float() for name, x in model.state_dict().items()})
    return copy


@torch.no_grad()
def greedy(model: Llama, prompts: Tensor, n_tokens: int) -> Tensor:
    """The prompts [B, T] with `n_tokens` likeliest tokens after each; end-of-text stops nothing."""
    ids = prompts
    for _ in range(n_tokens):
        hidden = model.model(ids)[:, -1]
        best = (hidden @ model.model.embed_tokens.weight.T).argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, best], dim=1)
    return ids


def try_dtypes(model: Llama, stories: Sequence[str], tokenizer: Tokenizer, n_tokens: int = 100) -> list[DtypeTrial]:
    """Greedy text from the first eight tokens of each story, for each dtype against float32."""
    prompts = torch.tensor([tokenizer.encode(story).ids[:8] for story in stories])
    expected = greedy(model, prompts, n_tokens)
    trials = []
    for dtype in ("float16", "bfloat16"):
        copy = rounded(model, dtype)
        n_changed = int((greedy(copy, prompts, n_tokens) != expected).any(dim=1).sum())
        with torch.no_grad():
            change = (copy(expected) - model(expected)).abs().max().item()
        trials.append(DtypeTrial(dtype, len(stories), n_tokens, n_changed, change))
    return trials


def choose_dtype(trials: Sequence[DtypeTrial]) -> str:
    """The first dtype that changed nothing, else float32."""
    return next((trial.dtype for trial in trials if trial.n_changed == 0), "float32")


def config_json(shape: Shape, dtype: str) -> dict[str, Any]:
    """config.json for `transformers`' LlamaForCausalLM."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": shape.vocab_size,
        "hidden_size": shape.dim,
        "intermediate_size": shape.ffn_dim,
        "num_hidden_layers": shape.n_layers,
        "num_attention_heads": shape.n_heads,
        "num_key_value_heads": shape.n_kv_heads,
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": shape.max_seq_len,
        "rms_norm_eps": shape.norm_eps,
        "rope_theta": shape.rope_theta,
        "rope_scaling": None,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "bos_token_id": END_ID,
        "eos_token_id": END_ID,
        "torch_dtype": dtype,
    }


def export(model: Llama, tokenizer: Tokenizer, folder: Path, dtype: str) -> str:
    """Write the folder (all but the model card); the SHA-256 of its model.safetensors."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: x.to(DTYPES[dtype]).contiguous() for name, x in model.state_dict().items()}
    weights = folder / "model.safetensors"
    partial = folder / "model.safetensors.partial"
    save_file(tensors, partial, metadata={"format": "pt"})
    os.chmod(partial, 0o644)
    partial.replace(weights)
    tokenizer.save(str(folder / "tokenizer.json"))
    texts: dict[str, dict[str, Any]] = {
        "config.json": config_json(model.shape, dtype),
        "generation_config.json": {
            "bos_token_id": END_ID,
            "eos_token_id": END_ID,
            "do_sample": True,
            **SAMPLING,
            "max_new_tokens": model.shape.max_seq_len,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": END_OF_TEXT,
            "eos_token": END_OF_TEXT,
            "model_max_length": model.shape.max_seq_len,
            "clean_up_tokenization_spaces": False,
        },
    }
    for name, content in texts.items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return hashlib.sha256(weights.read_bytes()).hexdigest()
