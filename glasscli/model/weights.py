"""A checkpoint's tensors, arranged once for computing: the only copy of the weights that stays.

Three things differ from the file, none of which changes a number:

    (in, out)      matrices are transposed, so that a row of activations is multiplied from the left
    fused          W_Q | W_K | W_V stand side by side in one matrix, and so do gate | up
    pairs adjacent the columns of W_Q and W_K are reordered within each head, see `rope.pair_order`
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from glasscli.config import ModelConfig
from glasscli.model.ops import Array
from glasscli.model.rope import pair_order


@dataclass(frozen=True)
class BlockWeights:
    """The weights of one block. A bias is None where the model has none."""

    attn_norm: Array  # [D]
    qkv: Array  # [D, (H + 2K)·E]
    qkv_bias: Array | None
    out: Array  # [H·E, D]
    out_bias: Array | None
    ffn_norm: Array  # [D]
    gate_up: Array  # [D, 2F]
    gate_up_bias: Array | None
    down: Array  # [F, D]
    down_bias: Array | None


@dataclass(frozen=True)
class Weights:
    """All weights of a model. `unembedding` is the very array `embedding` where the head is tied."""

    embedding: Array  # [V, D]
    blocks: tuple[BlockWeights, ...]
    norm: Array  # [D]
    unembedding: Array  # [V, D]


def arrange(config: ModelConfig, tensors: Mapping[str, Array]) -> Weights:
    """Arrange float32 tensors, named and shaped as in Hugging Face's Llama.

    Each tensor is asked for once, and dropped before the next block's are: a mapping that reads on demand never
    holds two copies of the model.
    """
    embedding = np.ascontiguousarray(tensors["model.embed_tokens.weight"])
    return Weights(
        embedding=embedding,
        blocks=tuple(_arrange_block(config, tensors, layer) for layer in range(config.n_layers)),
        norm=tensors["model.norm.weight"],
        unembedding=embedding if config.tied else np.ascontiguousarray(tensors["lm_head.weight"]),
    )


def _arrange_block(config: ModelConfig, tensors: Mapping[str, Array], layer: int) -> BlockWeights:
    prefix = f"model.layers.{layer}."
    order = pair_order(config.head_dim)

    def in_pairs(name: str) -> Array:
        # Rows are outputs: [heads·E, D] for a matrix, [heads·E] for a bias.
        rows = tensors[prefix + name]
        return rows.reshape(-1, config.head_dim, *rows.shape[1:])[:, order].reshape(rows.shape)

    def plain(name: str) -> Array:
        return tensors[prefix + name]

    def fuse(*rows: Array) -> Array:
        return np.ascontiguousarray(np.concatenate(rows).T)

    attn, mlp = config.attention_bias, config.mlp_bias
    return BlockWeights(
        attn_norm=plain("input_layernorm.weight"),
        qkv=fuse(
            in_pairs("self_attn.q_proj.weight"),
            in_pairs("self_attn.k_proj.weight"),
            plain("self_attn.v_proj.weight"),
        ),
        qkv_bias=np.concatenate(
            [
                in_pairs("self_attn.q_proj.bias"),
                in_pairs("self_attn.k_proj.bias"),
                plain("self_attn.v_proj.bias"),
            ]
        )
        if attn
        else None,
        out=fuse(plain("self_attn.o_proj.weight")),
        out_bias=plain("self_attn.o_proj.bias") if attn else None,
        ffn_norm=plain("post_attention_layernorm.weight"),
        gate_up=fuse(plain("mlp.gate_proj.weight"), plain("mlp.up_proj.weight")),
        gate_up_bias=np.concatenate([plain("mlp.gate_proj.bias"), plain("mlp.up_proj.bias")]) if mlp else None,
        down=fuse(plain("mlp.down_proj.weight")),
        down_bias=plain("mlp.down_proj.bias") if mlp else None,
    )
