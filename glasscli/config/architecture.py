"""What an architecture is, as data: which norms and where, which biases, which tensors by which names.

A row says what is the same for every model of a family. What differs from model to model is a number or a switch in
its config.json; the row names the field. The block, the loading of weights, the counting of parameters and the
formulas on screens all read rows, and know no family by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Roles of tensors: what the mathematics calls them. `{i}` in a name is the layer's number, `{h}` a head's.
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

# Tensors of which a file may hold several in one, by the role of that one: their rows stand one behind the other.
FUSED: Mapping[str, tuple[str, ...]] = {"qkv": ("q", "k", "v"), "gate_up": ("gate", "up")}


@dataclass(frozen=True)
class Number:
    """A number that config.json gives under `field`, to the power `power`; `default` where it says nothing.

    With `optional` a null switches it off; else a null says nothing.
    """

    field: str
    default: float | None
    power: float = 1.0
    optional: bool = False


@dataclass(frozen=True)
class Architecture:
    """One family of models.

    Attributes:
        model_type, class_name: what config.json calls it.
        names: Hugging Face's name of each role's tensor, without `.weight` or `.bias`. A role of `FUSED` stands in
            place of its parts; "positions" is there where each position has an embedding of its own.
        prefix: what all names but the head's begin with, and what some files leave out.
        other_names: what some files call a tensor, and its name above, both whole.
        other_prefixes: what names begin with in some files, and what stands for it above.
        interleaved: whether the rows of a fused qkv go head by head: q, k, v of head 0, then those of head 1.
        transposed: whether a block's matrices are stored with a row an input.
        fields: what this family calls a field that most configs call otherwise, by the usual name.
        norm: "rms" or "layer" (which has a bias); `norm_offset` is added to a stored norm's weight.
        norms: the roles of the norms of a block, of attn_norm, attn_post_norm, ffn_norm, ffn_post_norm.
        qk_norm: "head" where q and k are normed head by head before they are rotated, "each" where a head's norm has
            weights of its own and is a LayerNorm, "all" over all heads at once, "" where they are not.
        parallel: whether the MLP reads what attention reads, and not what attention gives: a fact, or the field of a
            switch, on unless it says otherwise.
        gated: whether a second matrix gates the MLP.
        activations: the values of hidden_act that this family is computed with, and the name of each in `model.ops`;
            the first is the default.
        biases: for each of qkv, out and mlp, whether there is a bias: a fact, or the field of a switch.
        biases_on: whether such a switch is on where config.json does not say.
        eps: epsilon of the norms.
        rotary: whether queries and keys are rotated; with "no_rope" layers are left out as no_rope_layers says.
        theta: base of the rotary angles where config.json does not say.
        local_theta: base in layers with a window, whose rotation is never scaled; None where all layers rotate alike.
        partial: share of a head that is rotated, where config.json does not say; None where it is always all.
        numbers: further numbers of `ModelConfig`, by its names (embedding_scale, attention_softcap, …).
        tied: whether the head is the embedding where config.json does not say.
        max_seq_len, vocab_size: positions and tokens where config.json does not say.
        ffn_multiple: the MLP's width over the model's, where config.json does not say.
        variants: what a switch of config.json changes in the row where it is on, by the switch's field.
        unsupported: fields with the only value that is computed, as (field, value, what glass does).
    """

    model_type: str
    class_name: str
    names: Mapping[str, str] = field(default_factory=lambda: LLAMA_NAMES)
    prefix: str = ""
    other_names: Mapping[str, str] = field(default_factory=dict)
    other_prefixes: Mapping[str, str] = field(default_factory=dict)
    interleaved: bool = False
    transposed: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)
    norm: str = "rms"
    norm_offset: float = 0.0
    norms: tuple[str, ...] = ("attn_norm", "ffn_norm")
    qk_norm: str = ""
    parallel: bool | str = False
    gated: bool = True
    activations: Mapping[str, str] = field(default_factory=lambda: {"silu": "silu", "swish": "silu"})
    biases: Mapping[str, bool | str] = field(default_factory=dict)
    biases_on: bool = False
    eps: Number = Number("rms_norm_eps", 1e-6)
    rotary: bool | str = True
    theta: float = 10000.0
    local_theta: Number | None = None
    partial: float | None = None
    numbers: Mapping[str, Number] = field(default_factory=dict)
    tied: bool = False
    max_seq_len: int = 2048
    vocab_size: int | None = None
    ffn_multiple: int | None = None
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unsupported: tuple[tuple[str, object, str], ...] = ()

    @property
    def heads_differ(self) -> bool:
        """Whether a norm gives every head weights of its own, so that no two can be merged."""
        return self.qk_norm in ("all", "each")
