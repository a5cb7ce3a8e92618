"""How a model's own layer computes each step: formulas and sentences that its architecture and settings change.

Read from the config, layer by layer. `inspect.steps` holds what they are in a plain Llama.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from glasscli.config.model_config import ModelConfig
from glasscli.specs.attention_specs import SlidingAttention

if TYPE_CHECKING:
    from glasscli.inspect.step_info import StepInfo

WINDOW_MASK = ("glasscli.cache.window", "(back >= 0) & (back < self.size)")


@dataclass(frozen=True)
class LayerForm:
    """What is peculiar to one layer of a model.

    Attributes:
        window: how many tokens it looks back over, itself included; None for all.
        rotary_dim: numbers of a head that are rotated, 0 for none.
        stretch: by how much rotation lengthens queries and keys.
        scale: factor of the scores, where it is not 1/√E.
    """

    config: ModelConfig
    window: int | None
    rotary_dim: int
    stretch: float
    theta: float
    scale: float | None

    @property
    def query(self) -> str:
        """The step that is rotated, less its letter: `q` or `q_norm`."""
        return "_norm" if self.config.architecture.qk_norm else ""

    @property
    def compared(self) -> tuple[str, str]:
        """The queries and keys that are compared."""
        rotated = any(rope is not None for rope in self.config.ropes)
        return ("rope_q", "rope_k") if rotated else (f"q{self.query}", f"k{self.query}")


def form_of(config: ModelConfig, layer: int) -> LayerForm:
    """What is peculiar to `layer`."""
    spec, rope = config.specs[layer], config.ropes[layer]
    return LayerForm(
        config,
        spec.size if isinstance(spec, SlidingAttention) else None,
        0 if rope is None else config.rotary_dim,
        1.0 if rope is None else rope.attention_factor,
        config.rope.theta if rope is None else rope.theta,
        config.attention_scale,
    )


def missing(config: ModelConfig) -> frozenset[str]:
    """The steps that no layer of this model has."""
    row = config.architecture
    found = set() if row.qk_norm else {"q_norm", "k_norm"}
    found |= {name for name in ("attn_norm", "attn_post_norm", "ffn_norm", "ffn_post_norm") if name not in row.norms}
    found |= set() if row.gated else {"gate"}
    if config.attention_softcap is None:
        found.add("softcap")
    if all(rope is None for rope in config.ropes):
        found |= {"rope_q", "rope_k"}
    return frozenset(found)


def specialised(step: "StepInfo", form: LayerForm) -> "StepInfo":
    """The step as this layer computes it."""
    change = _CHANGES.get(step.name)
    return step if change is None else replace(step, **change(step, form))


def _project(step: "StepInfo", form: LayerForm) -> dict[str, Any]:
    row = form.config.architecture
    x = "x" if "attn_norm" not in row.norms else "LayerNorm(x)" if row.norm == "layer" else "RMSNorm(x)"
    text = step.explanation
    if not form.rotary_dim:
        text = text.replace("It carries no position: it is not rotated.", "It goes into the mix as it is.")
    return {"formula": step.formula.replace("RMSNorm(x)", x), "explanation": text}


def _norm(step: "StepInfo", form: LayerForm) -> dict[str, Any]:
    kind = form.config.architecture.qk_norm
    if kind == "head":
        return {}
    if kind == "each":
        return {
            "formula": f"LayerNorm({step.name[0]})·w of its head",
            "explanation": step.explanation.replace(
                "are scaled to a root mean square of 1, then each by a learned weight",
                "are moved to a mean of 0 and scaled to a variance of 1, then each by a learned weight of that head",
            ),
        }
    return {
        "formula": f"RMSNorm({step.name[0]} of all heads)·w",
        "explanation": step.explanation.replace("of each head", "of all heads together"),
    }


def _rope(step: "StepInfo", form: LayerForm) -> dict[str, Any]:
    name = f"{step.name[-1]}{form.query}"
    if not form.rotary_dim:
        return {
            "formula": f"{name}, not turned",
            "explanation": "Some layers of this model carry no positions. What is compared is what was computed: "
            "near and far tokens are told apart by the other layers.",
        }
    ropes = {rope for rope in form.config.ropes if rope is not None}
    part = "" if form.rotary_dim == form.config.head_dim else f"[:{form.rotary_dim}]"
    formula = f"turn {name}{part} by its position"
    if len({rope.theta for rope in ropes}) > 1:
        formula += f", base {form.theta:,g}"
    changes: dict[str, Any] = {"formula": formula}
    if form.stretch != 1:
        changes["formula"] += f", × {form.stretch:.4g}"
        changes["explanation"] = step.explanation.replace(
            "Turning changes no length, so a query asks as loudly as before.",
            f"All are multiplied by {form.stretch:.4g}: over a stretched context attention has to be sharper.",
        )
    return changes


def _cache(step: "StepInfo", form: LayerForm) -> dict[str, Any]:
    formula = f"append {form.compared[1]} and v"
    if form.window is None:
        turned = "rope_k" in formula and form.rotary_dim
        text = step.explanation if turned else step.explanation.replace("Turned keys", "Keys")
        return {"formula": formula, "explanation": text}
    return {
        "formula": f"{formula}, keep {form.window:,}",
        "explanation": "Keys and values are kept, because later tokens need them unchanged. This layer keeps those of "
        f"the last {form.window:,} tokens: a new one takes the place of the oldest.",
        "source": ("glasscli.cache.window", "[0][:, :, at] = k_BKTE"),
    }


def _scores(step: "StepInfo", form: LayerForm) -> dict[str, Any]:
    q, k = form.compared
    if form.scale is None:
        return {"formula": step.formula.replace("rope_q", q).replace("rope_k", k)}
    return {
        "formula": f"{q}·{k}ᵀ · {form.scale:.4g}",
        "explanation": "Every query is compared with every key by a dot product. This model multiplies them by "
        f"{form.scale:.4g}, a number from its settings, and not by 1/√{{E}}.",
    }


def _softcap(step: "StepInfo", form: LayerForm) -> dict[str, Any]:
    cap = f"{form.config.attention_softcap:g}"
    return {"formula": f"{cap}·tanh(scores / {cap})"}


def _mask(step: "StepInfo", form: LayerForm) -> dict[str, Any]:
    if form.window is None:
        return {}
    return {
        "formula": f"−∞ where key > query or key ≤ query − {form.window:,}",
        "explanation": f"A token may look at itself and the {form.window - 1:,} before it, never ahead and no further "
        "back: this layer has a window. Hidden scores become −∞, which softmax turns into exactly 0.",
        "source": WINDOW_MASK,
    }


def _out(step: "StepInfo", form: LayerForm) -> dict[str, Any]:
    normed = "attn_post_norm" in form.config.architecture.norms
    factor = form.config.residual_scale
    if not normed and factor == 1:
        return {}
    how = " and ".join([*(["normed"] if normed else []), *([f"multiplied by {factor:g}"] if factor != 1 else [])])
    return {"explanation": step.explanation.replace("It is added to", f"It is {how}, and added to")}


def _stream_norm(step: "StepInfo", form: LayerForm) -> dict[str, Any]:
    """A norm of the stream: which kind, and of what."""
    config, formula = form.config, step.formula
    if step.name == "ffn_norm" and config.parallel:
        formula = formula.replace("resid_mid", "x")
    if config.architecture.norm == "layer":
        formula = formula.replace("RMSNorm", "LayerNorm") + " + b"
    return {"formula": formula}


def _added(step: "StepInfo", form: LayerForm) -> dict[str, Any]:
    """What is added to the stream: normed, or multiplied, where the model does so."""
    x, part = step.formula.split(" + ")
    norm = {"out": "attn_post_norm", "down": "ffn_post_norm"}[part]
    part = norm if norm in form.config.architecture.norms else part
    factor = form.config.residual_scale
    return {"formula": f"{x} + {part}" if factor == 1 else f"{x} + {factor:g}·{part}"}


def _mlp(step: "StepInfo", form: LayerForm) -> dict[str, Any]:
    row, config = form.config.architecture, form.config
    formula = step.formula
    if step.name == "hidden":
        name = {"gelu_tanh": "gelu", "silu": "silu"}.get(config.activation, config.activation)
        formula = f"{name}(gate) · up" if row.gated else f"{name}(up)"
    if "ffn_norm" not in row.norms:
        formula = formula.replace("ffn_norm", "x" if config.parallel else "resid_mid")
    changes: dict[str, Any] = {"formula": formula}
    if not row.gated and step.name == "up":
        changes["explanation"] = "{F} detectors, each a direction that the row is compared with. Every token is alone."
    if not row.gated and step.name == "hidden":
        changes["explanation"] = "Each number is bent: small or negative ones hardly pass. These are the MLP's neurons."
    return changes


_CHANGES: Mapping[str, Any] = {
    **dict.fromkeys(("attn_norm", "attn_post_norm", "ffn_norm", "ffn_post_norm"), _stream_norm),
    **dict.fromkeys(("resid_mid", "resid_post"), _added),
    **dict.fromkeys(("gate", "up", "hidden", "down"), _mlp),
    **dict.fromkeys(("q", "k", "v"), _project),
    **dict.fromkeys(("q_norm", "k_norm"), _norm),
    **dict.fromkeys(("rope_q", "rope_k"), _rope),
    "cache": _cache,
    "scores": _scores,
    "softcap": _softcap,
    "mask": _mask,
    "out": _out,
}
