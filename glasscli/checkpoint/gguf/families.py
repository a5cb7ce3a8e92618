"""What one family's config.json says beside what all say: a function each, which fills in `said`.

A value of None is left out of the settings in the end.
"""

import math
from typing import Any

from glasscli.checkpoint.gguf.fields import Fields
from glasscli.checkpoint.gguf.header import Header

FULL, SLIDING = "full_attention", "sliding_attention"
GEMMA_SCALE_OF_27B = {"gemma2": 46, "gemma3": 62}  # layers of the models whose scale is not that of a head's width


def share(part: int, whole: int) -> float:
    """part ÷ whole, as a number that gives `part` again when it is multiplied by `whole` and cut to an integer."""
    factor = part / whole
    return factor if int(factor * whole) == part else math.nextafter(factor, math.inf)


def llama(said: dict[str, Any], header: Header, fields: Fields) -> None:
    """Biases where the file has them; with experts it is a Mixtral."""
    said["hidden_act"] = "silu"
    said["attention_bias"] = _has(header, "attn_q.bias") or _has(header, "attn_output.bias")
    said["mlp_bias"] = _has(header, "ffn_up.bias")
    n_experts = fields.whole("expert_count", 0, least=0)
    if n_experts:
        said |= {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "num_local_experts": n_experts}
        said["num_experts_per_tok"] = fields.whole("expert_used_count")
    elif said.pop("partial_rotary_factor", None) is not None:
        raise fields.not_run(fields.key("rope.dimension_count"), "is not a head's width, as a Llama's must be")


def qwen2(said: dict[str, Any], header: Header, fields: Fields) -> None:
    """No window: converters do not keep it, and no published model uses it."""
    said |= {"hidden_act": "silu", "use_sliding_window": False, "attention_bias": None}


def qwen3(said: dict[str, Any], header: Header, fields: Fields) -> None:
    """As Qwen2, with a head's width of its own and biases only where the file has them."""
    said |= {"hidden_act": "silu", "use_sliding_window": False, "attention_bias": _has(header, "attn_q.bias")}


def gemma(said: dict[str, Any], header: Header, fields: Fields) -> None:
    """The first: nothing but the activation."""
    said |= {"hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh"}


def gemma2(said: dict[str, Any], header: Header, fields: Fields) -> None:
    """Every other layer slides, the first one does; scores and logits are capped."""
    gemma(said, header, fields)
    said |= {
        "query_pre_attn_scalar": _scale(said, fields),
        "attn_logit_softcapping": fields.number("attn_logit_softcapping", 50.0),
        "final_logit_softcapping": fields.number("final_logit_softcapping", 30.0),
        "sliding_window": fields.whole("attention.sliding_window", 4096),
        "layer_types": windows(fields, 2),
    }


def gemma3(said: dict[str, Any], header: Header, fields: Fields) -> None:
    """Five layers slide, one does not; those that slide turn positions with a base of their own, unstretched."""
    gemma(said, header, fields)
    window = fields.whole("attention.sliding_window", 0, least=0)
    said |= {
        "query_pre_attn_scalar": _scale(said, fields),
        "rope_local_base_freq": fields.number("rope.freq_base_swa", 10_000.0),
        "sliding_window": window or None,
        "layer_types": windows(fields, 6) if window else [FULL] * fields.n_layers,
    }
    if cap := fields.number("final_logit_softcapping", 0.0):
        said["final_logit_softcapping"] = cap


def phi3(said: dict[str, Any], header: Header, fields: Fields) -> None:
    """A window of 0 is none (Phi-4); longrope's first length stands outside of rope_scaling too."""
    trained = fields.whole("rope.scaling.original_context_length", said["max_position_embeddings"])
    said |= {
        "hidden_act": "silu",
        "sliding_window": fields.whole("attention.sliding_window", 0, least=0) or None,
        "original_max_position_embeddings": trained,
    }


def gpt2(said: dict[str, Any], header: Header, fields: Fields) -> None:
    """Under GPT-2's own names; positions are learnt, and nothing is turned."""
    for ours, theirs in (
        ("hidden_size", "n_embd"),
        ("num_hidden_layers", "n_layer"),
        ("num_attention_heads", "n_head"),
        ("max_position_embeddings", "n_positions"),
        ("intermediate_size", "n_inner"),
    ):
        said[theirs] = said.pop(ours)
    for name in ("num_key_value_heads", "head_dim", "rope_theta", "rope_scaling", "partial_rotary_factor"):
        said.pop(name)
    said["activation_function"] = "gelu_new"


def gptneox(said: dict[str, Any], header: Header, fields: Fields) -> None:
    """Attention and MLP side by side, unless it says otherwise; a share of each head is turned."""
    said |= {
        "hidden_act": "gelu",
        "use_parallel_residual": fields.flag("use_parallel_residual", True),
        "rotary_pct": said.pop("partial_rotary_factor") or 1.0,
        "rotary_emb_base": said.pop("rope_theta"),
        "attention_bias": _has(header, "attn_qkv.bias") or not header.tensors,
    }
    del said["num_key_value_heads"], said["head_dim"]


def stablelm(said: dict[str, Any], header: Header, fields: Fields) -> None:
    """Side by side where blocks have one norm only."""
    side_by_side = fields.flag("use_parallel_residual", False)
    if header.tensors:
        side_by_side = not _has(header, "ffn_norm.weight")
    said |= {
        "hidden_act": "silu",
        "use_qkv_bias": _has(header, "attn_q.bias"),
        "qk_layernorm": _has(header, "attn_q_norm.weight"),
        "use_parallel_residual": side_by_side,
        "partial_rotary_factor": said["partial_rotary_factor"] or 1.0,  # the class assumes a quarter
    }


def olmo2(said: dict[str, Any], header: Header, fields: Fields) -> None:
    """With a window it is an OLMo 3: three layers slide, one does not."""
    said |= {"hidden_act": "silu", "attention_bias": _has(header, "attn_q.bias")}
    if window := fields.whole("attention.sliding_window", 0, least=0):
        said |= {"model_type": "olmo3", "architectures": ["Olmo3ForCausalLM"]}
        said |= {"sliding_window": window, "layer_types": windows(fields, 4)}


def granite(said: dict[str, Any], header: Header, fields: Fields) -> None:
    """Four multipliers."""
    llama(said, header, fields)
    if "num_local_experts" in said:
        raise fields.not_run(fields.key("expert_count"), "is set; expected a Granite without experts")
    said |= {
        "attention_multiplier": fields.number("attention.scale", 0.0) or 1 / math.sqrt(said["head_dim"]),
        "embedding_multiplier": fields.number("embedding_scale", 0.0) or 1.0,
        "residual_multiplier": fields.number("residual_scale", 0.0) or 1.0,
        "logits_scaling": fields.number("logit_scale", 0.0) or 1.0,
    }


def smollm3(said: dict[str, Any], header: Header, fields: Fields) -> None:
    """Every fourth layer turns nothing."""
    llama(said, header, fields)
    said |= {
        "no_rope_layer_interval": 4,
        "no_rope_layers": [int((i + 1) % 4 != 0) for i in range(fields.n_layers)],
        "use_sliding_window": False,
    }


def _has(header: Header, name: str) -> bool:
    return f"blk.0.{name}" in header.tensors


def _scale(said: dict[str, Any], fields: Fields) -> int:
    """What queries are divided by the root of: a head's width, but for the largest models width over heads."""
    heads = said["num_attention_heads"]
    if fields.n_layers == GEMMA_SCALE_OF_27B[fields.architecture] and isinstance(heads, int):
        return int(said["hidden_size"]) // heads
    return int(said["head_dim"])


def windows(fields: Fields, period: int) -> list[str]:
    """Which layers slide: by the file's list, else all but each `period`-th (or as often as the file says)."""
    flags = fields.flags_by_layer("attention.sliding_window_pattern")
    if flags is None:
        step = fields.whole("attention.sliding_window_pattern", period)
        flags = [(i + 1) % step != 0 for i in range(fields.n_layers)]
    return [SLIDING if slides else FULL for slides in flags]
