"""The families that glass runs, a row each."""

from collections.abc import Mapping
from dataclasses import replace

from glasscli.config.architecture import LLAMA_NAMES, Architecture, Number

LLAMA = Architecture(
    model_type="llama",
    class_name="LlamaForCausalLM",
    partial=1.0,
    biases={"qkv": "attention_bias", "out": "attention_bias", "mlp": "mlp_bias"},
)

QWEN3 = Architecture(
    model_type="qwen3",
    class_name="Qwen3ForCausalLM",
    qk_norm="head",
    biases={"qkv": "attention_bias", "out": "attention_bias"},
    max_seq_len=32768,
)

MISTRAL = Architecture(model_type="mistral", class_name="MistralForCausalLM", max_seq_len=131072)

QWEN2 = Architecture(
    model_type="qwen2",
    class_name="Qwen2ForCausalLM",
    biases={"qkv": True},
    max_seq_len=32768,
)

GEMMA_NORMS = ("attn_norm", "attn_post_norm", "ffn_norm", "ffn_post_norm")
GEMMA_NAMES: Mapping[str, str] = {
    **LLAMA_NAMES,
    "attn_post_norm": "model.layers.{i}.post_attention_layernorm",
    "ffn_norm": "model.layers.{i}.pre_feedforward_layernorm",
    "ffn_post_norm": "model.layers.{i}.post_feedforward_layernorm",
}
GEMMA_SCALES: Mapping[str, Number] = {
    "embedding_scale": Number("hidden_size", None, power=0.5),
    "attention_scale": Number("query_pre_attn_scalar", 256, power=-0.5),
}
ONE_WAY = ("use_bidirectional_attention", False, "reads a text from its beginning to its end")

GEMMA3 = Architecture(
    model_type="gemma3_text",
    class_name="Gemma3ForCausalLM",
    names=GEMMA_NAMES,
    fields={"hidden_act": "hidden_activation"},
    norm_offset=1.0,
    norms=GEMMA_NORMS,
    qk_norm="head",
    activations={"gelu_pytorch_tanh": "gelu_tanh"},
    biases={"qkv": "attention_bias", "out": "attention_bias"},
    theta=1e6,
    local_theta=Number("rope_local_base_freq", 1e4),
    numbers={
        **GEMMA_SCALES,
        "attention_softcap": Number("attn_logit_softcapping", None, optional=True),
        "logit_softcap": Number("final_logit_softcapping", None, optional=True),
    },
    tied=True,
    max_seq_len=131072,
    unsupported=(ONE_WAY,),
)

# The same within a model that also sees: what it sees with is left aside.
GEMMA3_THAT_SEES = replace(
    GEMMA3,
    model_type="gemma3",
    class_name="Gemma3ForConditionalGeneration",
    other_prefixes={"language_model.model.": "model.", "model.language_model.": "model.", "language_model.": ""},
    vocab_size=262208,
    # Programs differ in whether they cap here; no published model asks for it.
    unsupported=(ONE_WAY, ("final_logit_softcapping", None, "runs a gemma3 that caps no logits")),
)

SMOLLM3 = Architecture(
    model_type="smollm3",
    class_name="SmolLM3ForCausalLM",
    biases={"qkv": "attention_bias", "out": "attention_bias", "mlp": "mlp_bias"},
    rotary="no_rope",
    theta=2e6,
    tied=True,
    max_seq_len=32768,
)

GRANITE = Architecture(
    model_type="granite",
    class_name="GraniteForCausalLM",
    biases={"qkv": "attention_bias", "out": "attention_bias", "mlp": "mlp_bias"},
    numbers={
        "embedding_scale": Number("embedding_multiplier", 1.0),
        "residual_scale": Number("residual_multiplier", 1.0),
        "attention_scale": Number("attention_multiplier", 1.0),
        "logit_scale": Number("logits_scaling", 1.0, power=-1),
    },
)

GEMMA = Architecture(
    model_type="gemma",
    class_name="GemmaForCausalLM",
    norm_offset=1.0,
    # Early files say gelu and mean its tanh form, which the models were trained with.
    activations={"gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu_tanh"},
    biases={"qkv": "attention_bias", "out": "attention_bias"},
    numbers={"embedding_scale": Number("hidden_size", None, power=0.5)},
    tied=True,
    max_seq_len=8192,
    unsupported=(ONE_WAY,),
)

GEMMA2 = Architecture(
    model_type="gemma2",
    class_name="Gemma2ForCausalLM",
    names=GEMMA_NAMES,
    fields={"hidden_act": "hidden_activation"},
    norm_offset=1.0,
    norms=GEMMA_NORMS,
    activations={"gelu_pytorch_tanh": "gelu_tanh"},
    biases={"qkv": "attention_bias", "out": "attention_bias"},
    numbers={
        **GEMMA_SCALES,
        "attention_softcap": Number("attn_logit_softcapping", 50.0, optional=True),
        "logit_softcap": Number("final_logit_softcapping", 30.0, optional=True),
    },
    tied=True,
    max_seq_len=8192,
    unsupported=(ONE_WAY,),
)

OLMO_NAMES: Mapping[str, str] = {
    **{role: name for role, name in LLAMA_NAMES.items() if role not in ("attn_norm", "ffn_norm")},
    "attn_post_norm": "model.layers.{i}.post_attention_layernorm",
    "ffn_post_norm": "model.layers.{i}.post_feedforward_layernorm",
}

OLMO2 = Architecture(
    model_type="olmo2",
    class_name="Olmo2ForCausalLM",
    names=OLMO_NAMES,
    norms=("attn_post_norm", "ffn_post_norm"),
    qk_norm="all",
    biases={"qkv": "attention_bias", "out": "attention_bias"},
    eps=Number("rms_norm_eps", 1e-5),
)

OLMO3 = Architecture(
    model_type="olmo3",
    class_name="Olmo3ForCausalLM",
    names=OLMO_NAMES,
    norms=("attn_post_norm", "ffn_post_norm"),
    qk_norm="all",
    biases={"qkv": "attention_bias", "out": "attention_bias"},
    eps=Number("rms_norm_eps", 1e-5),
    theta=5e5,
    local_theta=Number("rope_theta", 5e5),
)

PHI3 = Architecture(
    model_type="phi3",
    class_name="Phi3ForCausalLM",
    names={
        **{role: name for role, name in LLAMA_NAMES.items() if role not in ("q", "k", "v", "gate", "up")},
        "qkv": "model.layers.{i}.self_attn.qkv_proj",
        "gate_up": "model.layers.{i}.mlp.gate_up_proj",
    },
    eps=Number("rms_norm_eps", 1e-5),
    partial=1.0,
    max_seq_len=4096,
)

STABLELM_NAMES: Mapping[str, str] = {
    **LLAMA_NAMES,
    "q_norm": "model.layers.{i}.self_attn.q_layernorm.norms.{h}",
    "k_norm": "model.layers.{i}.self_attn.k_layernorm.norms.{h}",
}

STABLELM = Architecture(
    model_type="stablelm",
    class_name="StableLmForCausalLM",
    names=STABLELM_NAMES,
    norm="layer",
    biases={"qkv": "use_qkv_bias"},
    eps=Number("layer_norm_eps", 1e-5),
    partial=0.25,
    max_seq_len=4096,
    variants={
        "qk_layernorm": {"qk_norm": "each"},
        # The MLP reads what attention reads, normed once for both.
        "use_parallel_residual": {
            "parallel": True,
            "names": {**STABLELM_NAMES, "ffn_norm": STABLELM_NAMES["attn_norm"]},
        },
    },
)

GPT_NEOX = Architecture(
    model_type="gpt_neox",
    class_name="GPTNeoXForCausalLM",
    names={
        "embedding": "gpt_neox.embed_in",
        "attn_norm": "gpt_neox.layers.{i}.input_layernorm",
        "qkv": "gpt_neox.layers.{i}.attention.query_key_value",
        "out": "gpt_neox.layers.{i}.attention.dense",
        "ffn_norm": "gpt_neox.layers.{i}.post_attention_layernorm",
        "up": "gpt_neox.layers.{i}.mlp.dense_h_to_4h",
        "down": "gpt_neox.layers.{i}.mlp.dense_4h_to_h",
        "final_norm": "gpt_neox.final_layer_norm",
        "head": "lm_head",
    },
    other_names={"embed_out.weight": "lm_head.weight"},
    fields={"rope_theta": "rotary_emb_base", "partial_rotary_factor": "rotary_pct"},
    interleaved=True,
    norm="layer",
    parallel="use_parallel_residual",
    gated=False,
    activations={
        "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_fast": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
    },
    biases={"qkv": "attention_bias", "out": "attention_bias", "mlp": True},
    biases_on=True,
    eps=Number("layer_norm_eps", 1e-5),
    partial=0.25,
)  # fmt: skip

GPT2 = Architecture(
    model_type="gpt2",
    class_name="GPT2LMHeadModel",
    names={
        "embedding": "transformer.wte",
        "positions": "transformer.wpe",
        "attn_norm": "transformer.h.{i}.ln_1",
        "qkv": "transformer.h.{i}.attn.c_attn",
        "out": "transformer.h.{i}.attn.c_proj",
        "ffn_norm": "transformer.h.{i}.ln_2",
        "up": "transformer.h.{i}.mlp.c_fc",
        "down": "transformer.h.{i}.mlp.c_proj",
        "final_norm": "transformer.ln_f",
        "head": "lm_head",
    },
    prefix="transformer.",
    transposed=True,
    fields={
        "hidden_size": "n_embd",
        "num_attention_heads": "n_head",
        "intermediate_size": "n_inner",
        "max_position_embeddings": "n_positions",
        "hidden_act": "activation_function",
    },
    norm="layer",
    gated=False,
    activations={"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu_fast": "gelu_tanh", "gelu": "gelu"},
    biases={"qkv": True, "out": True, "mlp": True},
    eps=Number("layer_norm_epsilon", 1e-5),
    rotary=False,
    tied=True,
    max_seq_len=1024,
    ffn_multiple=4,
    unsupported=(
        ("scale_attn_weights", True, "divides scores by the root of the head's width"),
        ("scale_attn_by_inverse_layer_idx", False, "divides the scores of all layers alike"),
        ("add_cross_attention", False, "runs decoders alone"),
    ),
)

ARCHITECTURES: Mapping[str, Architecture] = {
    row.model_type: row
    for row in (
        LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA, GEMMA2, GEMMA3, SMOLLM3, GRANITE, OLMO2, OLMO3, PHI3, STABLELM, GPT_NEOX,
        GPT2,
    )
}  # fmt: skip

# Rows whose text model is nested in a larger one, by the type of the larger.
NESTED: Mapping[str, Architecture] = {row.model_type: row for row in (GEMMA3_THAT_SEES,)}
