"""Models whose blocks are not a Llama's: further norms, another order, factors and caps. Random and tiny."""

from dataclasses import replace
from typing import Any

import numpy as np

from glasscli import Llama, LoadedModel, ModelConfig
from glasscli.config.architecture import LLAMA_NAMES, Architecture
from glasscli.config.architectures import LLAMA
from glasscli.config.tensor_shapes import expected_tensors
from helpers.dump_cases import tiny
from helpers.random_llama import settings

FOUR_NORMS = ("attn_norm", "attn_post_norm", "ffn_norm", "ffn_post_norm")
NAMES = {**LLAMA_NAMES, "attn_post_norm": "model.layers.{i}.after_attn", "ffn_post_norm": "model.layers.{i}.after_mlp"}

# name: (what differs in the architecture's row, what differs in the settings)
ODD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "norms after, and caps": (
        {"norms": FOUR_NORMS, "names": NAMES, "norm_offset": 1.0},
        {"logit_softcap": 5.0, "attention_softcap": 3.0, "embedding_scale": 2.0},
    ),
    "parallel, LayerNorm, scaled logits": (
        {"norm": "layer", "norms": ("attn_norm",), "parallel": True},
        {"logit_scale": 0.25, "out_bias": True, "mlp_bias": True, "tied": False},
    ),
    "scaled residuals, q and k normed, no gate": (
        {"qk_norm": "head", "gated": False},
        {"residual_scale": 0.3, "qkv_bias": True, "out_bias": True},
    ),
}


def odd(kind: str) -> LoadedModel:
    """One of `ODD`, with the tokenizer of `dump_cases.tiny`, a token a byte."""
    row, changes = ODD[kind]
    architecture: Architecture = replace(LLAMA, **row)
    config = replace(
        ModelConfig.from_dict(settings(vocab_size=257, tie_word_embeddings=True)), architecture=architecture, **changes
    )
    rng = np.random.default_rng(3)
    tensors = {
        spec.name: rng.normal("norm" in spec.role and "bias" not in spec.role, 0.2, spec.shape).astype(np.float32)
        for spec in expected_tensors(config)
    }
    return replace(tiny(), config=config, model=Llama(config, tensors))
