"""Words for layouts: how a model's heads share keys (MHA, GQA, MQA, MLA …), and what else its layers keep."""

from glasscli.config.families import Layout
from glasscli.specs.attention_specs import LatentAttention, each_part
from glasscli.specs.cache_spec import KeysAndValues

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


def heads(layout: Layout) -> str:
    """Query heads and the key/value heads they read, as `64:8`; those of layers that keep every token come first.

    `128:latent` where all heads share one row, `64:–` for heads that read something else, `–` without attention.
    """
    if layout.n_heads is None:
        return "–"
    parts = sorted(dict.fromkeys(each_part(layout.layers)), key=lambda part: not part.is_full)
    counts = [f"{part.n_kv_heads:,}" for part in parts if isinstance(part, KeysAndValues) and part.name != "cross"]
    counts += ["latent"] * any(isinstance(part, LatentAttention) for part in parts)
    return f"{layout.n_heads:,}:{'/'.join(dict.fromkeys(counts)) or '–'}"


def share(layout: Layout) -> str:
    """How many query heads read one key/value head, as `8×`; what `heads` says as latent is shared by all of them."""
    _, _, counts = heads(layout).partition(":")
    known = [count.replace(",", "") for count in counts.split("/")]
    n_heads = layout.n_heads or 0
    ratios = [n_heads if count == "latent" else n_heads / int(count) for count in known if count not in ("", "–")]
    return "/".join(f"{ratio:g}" for ratio in ratios) + "×" if ratios else "–"


def rank(word: str) -> int:
    """Where a word stands among others."""
    return FIRST.index(word) if word in FIRST else len(FIRST) + (word == "cross")
