"""What an architecture is, as data: which norms and where, which biases, which tensors by which names.

A row says what is the same for every model of a family. What differs from model to model is a number or a switch in
its config.json; the row names the field. The block, the loading of weights, the counting of parameters and the
formulas on screens all read rows, and know no family by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

# Roles of tensors: what the mathematics calls them. `{i}` in a name is the layer's number.
LLAMA_NAMES: Mapping[str, str] = {
    "embedding": "model.embed_tokens",
    "attn_norm": "model.layers.{i}.input_layernorm",
    "q": "model.layers.{i}.self_attn.q_proj",
    "k": "model.layers.{i}.self_attn.k_proj",
    "v": "model.layers.{i}.self_attn.v_proj",
    "out": "model.layers.{i}.self_attn.o_proj",
    "q_norm": "model.layers.{i}.self_attn.q_norm",
    "k_norm": "model.layers.{i}.self_attn.k_norm",
    "ffn_norm": "model.layers.{i}.post_attention_layernorm",
    "gate": "model.layers.{i}.mlp.gate_proj",
    "up": "model.layers.{i}.mlp.up_proj",
    "down": "model.layers.{i}.mlp.down_proj",
    "final_norm": "model.norm",
    "head": "lm_head",
}


@dataclass(frozen=True)
class Number:
    """A number that config.json gives under `field`; `default` where it says nothing."""

    field: str
    default: float | None


@dataclass(frozen=True)
class Architecture:
    """One family of models.

    Attributes:
        model_type, class_name: what config.json calls it.
        names: Hugging Face's name of each role's tensor, without `.weight` or `.bias`.
        norm: "rms" or "layer" (which has a bias); `norm_offset` is added to a stored norm's weight.
        norms: the roles of the norms of a block, of attn_norm, attn_post_norm, ffn_norm, ffn_post_norm.
        qk_norm: whether q and k are normed head by head before they are rotated.
        parallel: whether the MLP reads what attention reads, and not what attention gives.
        gated: whether a second matrix gates the MLP.
        activations: the values of hidden_act that this family is computed with; the first is the default.
        biases: for each of qkv, out and mlp, whether there is a bias: a fact, or the field of a switch.
        eps: epsilon of the norms.
        numbers: further numbers of `ModelConfig`, by its names (embedding_scale, attention_softcap, …).
        tied: whether the head is the embedding where config.json does not say.
        max_seq_len: positions where config.json does not say.
        unsupported: fields with the only value that is computed, as (field, value, what glass does).
    """

    model_type: str
    class_name: str
    names: Mapping[str, str] = field(default_factory=lambda: LLAMA_NAMES)
    norm: str = "rms"
    norm_offset: float = 0.0
    norms: tuple[str, ...] = ("attn_norm", "ffn_norm")
    qk_norm: bool = False
    parallel: bool = False
    gated: bool = True
    activations: tuple[str, ...] = ("silu", "swish")
    biases: Mapping[str, bool | str] = field(default_factory=dict)
    eps: Number = Number("rms_norm_eps", 1e-6)
    numbers: Mapping[str, Number] = field(default_factory=dict)
    tied: bool = False
    max_seq_len: int = 2048
    unsupported: tuple[tuple[str, object, str], ...] = ()
