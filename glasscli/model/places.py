"""The named places of a run, in the order of computing: where a trace may look, and where an edit may change a number.

    embedding ─ [ resid_pre ─ attn_norm ─ q k v ─ (q_norm k_norm) ─ rope_q rope_k ─ cache_k cache_v ─ scores ─ (softcap)
                  ─ mask ─ softmax ─ mix ─ out ─ (attn_post_norm) ─ resid_mid ─ ffn_norm ─ gate up ─ hidden ─ down
                  ─ (ffn_post_norm) ─ resid_post ] × n_layers ─ final_norm ─ logits

Places in round brackets are those of some architectures only. The model says `array = at("resid_mid", array)` at each;
what is given back goes on. A run that nobody watches passes `untouched`.
"""

from collections.abc import Callable
from typing import Any

At = Callable[[str, Any], Any]  # (place, array) → array

LAYER_PLACES = (
    "resid_pre", "attn_norm", "q", "k", "v", "q_norm", "k_norm", "rope_q", "rope_k", "cache_k", "cache_v", "scores",
    "softcap", "mask", "softmax", "mix", "out", "attn_post_norm", "resid_mid", "ffn_norm", "gate", "up", "hidden",
    "down", "ffn_post_norm", "resid_post",
)  # fmt: skip
MODEL_PLACES = ("embedding", "final_norm", "logits")


def untouched(place: str, array: Any) -> Any:
    """What a run without a trace does at each place: nothing."""
    return array
