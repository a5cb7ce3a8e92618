"""Words for layouts: how a model's heads share keys (MHA, GQA, MQA, MLA …), and what else its layers keep."""

from glasscli.config.families import Layout
from glasscli.specs.attention_specs import each_part

SHARING = ("MHA", "GQA", "MQA")
# What is said first, in this order; then whatever else the specs say, in model order, a cross attention last.
FIRST = (*SHARING, "MLA", "compressed", "index", "window", "chunks")


def sharing(layout: Layout) -> str:
    """How the model's heads share what is cached: `GQA + window`, `MLA`, `GQA + DeltaNet`.

    With layers of several shapes, the attention that keeps every token decides between MHA, GQA and MQA. Layers that
    have no word for themselves go by their names.
    """
    keeping = [part for part in dict.fromkeys(each_part(layout.layers)) if not part.keeps_nothing]
    parts = sorted(keeping, key=lambda part: part.window is not None)
    words = list(dict.fromkeys(w for part in parts for w in part.traits(layout.n_heads, layout.max_positions)))
    deciding = next((word for word in words if word in SHARING), None)
    told = [word for word in words if word not in SHARING or word == deciding]
    return " + ".join(sorted(told, key=rank) or dict.fromkeys(part.label for part in keeping)) or "no cache"


def rank(word: str) -> int:
    """Where a word stands among others."""
    return FIRST.index(word) if word in FIRST else len(FIRST) + (word == "cross")
