"""GGUF's tensor names and Hugging Face's, an architecture a row.

A row says what a tensor of a block is called there, and which tensors a converter changed on the way (see `origins`).
Source of the names: gguf-py's tensor names (constants.py, tensor_mapping.py) and transformers' models.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

_MLP = {"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
_QKV = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj"}
_OUT = {"attn_output": "self_attn.o_proj"}
_NORMS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
_QK_NORMS = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
_LLAMA = {**_NORMS, **_QKV, **_OUT, **_MLP}
_AFTER = {"post_attention_norm": "post_attention_layernorm", "post_ffw_norm": "post_feedforward_layernorm"}
_SANDWICH = {**_LLAMA, **_AFTER, "ffn_norm": "pre_feedforward_layernorm"}


@dataclass(frozen=True)
class Names:
    """How an architecture's tensors are called, and which were changed.

    Attributes:
        block: GGUF's names inside a block: Hugging Face's.
        prefix: opens the names of a block, the block's number in it.
        outer: names outside blocks, without `.weight` or `.bias`.
        pairs: query and key heads whose halves are interleaved.
        less_one: 1 was added to the norms.
        fused_heads: q, k and v of one tensor were sorted by head.
        turned_over: tensors of a block that hold [in, out].
        joined: a tensor of Hugging Face's that is q, k and v in one, where a GGUF may have three.
        norms_by_head: q and k norms are a tensor a head.
    """

    block: Mapping[str, str]
    prefix: str = "model.layers.{}."
    outer: Mapping[str, str] = field(
        default_factory=lambda: {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
    )
    pairs: bool = False
    less_one: bool = False
    fused_heads: bool = False
    turned_over: frozenset[str] = frozenset()
    joined: str = ""
    norms_by_head: bool = False


NAMES: Mapping[str, Names] = {
    "llama": Names(_LLAMA, pairs=True),
    "granite": Names(_LLAMA, pairs=True),
    "smollm3": Names(_LLAMA, pairs=True),
    "qwen2": Names(_LLAMA),
    "qwen3": Names({**_LLAMA, **_QK_NORMS}),
    "gemma": Names(_LLAMA, less_one=True),
    "gemma2": Names(_SANDWICH, less_one=True),
    "gemma3": Names({**_SANDWICH, **_QK_NORMS}, less_one=True),
    "olmo2": Names({**_QKV, **_OUT, **_MLP, **_QK_NORMS, **_AFTER}),
    "phi3": Names(
        {**_NORMS, **_OUT, "ffn_up": "mlp.gate_up_proj", "ffn_down": "mlp.down_proj"}, joined="self_attn.qkv_proj"
    ),
    "stablelm": Names(
        {**_LLAMA, "attn_q_norm": "self_attn.q_layernorm", "attn_k_norm": "self_attn.k_layernorm"}, norms_by_head=True
    ),
    "gptneox": Names(
        {
            **_NORMS,
            "attn_qkv": "attention.query_key_value",
            "attn_output": "attention.dense",
            "ffn_up": "mlp.dense_h_to_4h",
            "ffn_down": "mlp.dense_4h_to_h",
        },
        prefix="gpt_neox.layers.{}.",
        outer={"token_embd": "gpt_neox.embed_in", "output_norm": "gpt_neox.final_layer_norm", "output": "embed_out"},
        fused_heads=True,
    ),
    "gpt2": Names(
        {
            "attn_norm": "ln_1",
            "ffn_norm": "ln_2",
            "attn_qkv": "attn.c_attn",
            "attn_output": "attn.c_proj",
            "ffn_up": "mlp.c_fc",
            "ffn_down": "mlp.c_proj",
        },
        prefix="transformer.h.{}.",
        outer={
            "token_embd": "transformer.wte",
            "position_embd": "transformer.wpe",
            "output_norm": "transformer.ln_f",
            "output": "lm_head",
        },
        turned_over=frozenset({"attn_qkv", "attn_output", "ffn_up", "ffn_down"}),
    ),
}
