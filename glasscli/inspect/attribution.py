"""Who wrote a prediction: the logit of a token as a sum over embedding, heads and MLPs.

The stream before the last norm is a sum: embedding + each head's output + each MLP's. The last norm divides it by one
number, its root mean square. Frozen at the value of this run, the norm is linear, and so is the head: the logit of a
token is the sum of what each part, pushed through both, writes into it. Nothing is left over.

    logit(A) − logit(B) = Σ over parts of  part / rms · w · (u_A − u_B)         u: rows of the head, w: of the norm

It is what a part writes *directly*; what later parts make of it is counted as theirs.

Source: Elhage et al. 2021, "A mathematical framework for transformer circuits", section on path expansion;
Wang et al. 2022, arXiv:2211.00593, section 3.1 (logit difference by head).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.generation.prompts import read_prompt
from glasscli.inspect.checks import TOLERANCE
from glasscli.inspect.dump import Token
from glasscli.inspect.predictions import log_softmax, tokens_of
from glasscli.inspect.runs import pick_position, watch
from glasscli.inspect.trace import Edit, Place
from glasscli.model.ops import Norm

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel


@dataclass(frozen=True)
class Contribution:
    """What one part writes into the logit, or into the difference of two.

    Attributes:
        kind: "embedding", "head", "mlp", or "bias" (what no input can change: biases of projections and norms).
        layer: None outside the blocks.
        head: of a head.
        logit: the part's share; positive speaks for the token.
    """

    kind: str
    layer: int | None
    head: int | None
    logit: float

    @property
    def label(self) -> str:
        """`3.2` for a head, `mlp 3`, `embedding`, `bias`."""
        if self.kind == "head":
            return f"{self.layer}.{self.head}"
        return self.kind if self.layer is None else f"{self.kind} {self.layer}"


@dataclass(frozen=True)
class Attribution:
    """The logit of `token`, or how far it is above that of `minus`, part by part.

    Attributes:
        tokens: the prompt.
        position: which of its tokens the prediction follows.
        p, p_minus: what the model says: the probabilities.
        contributions: in the order of computing. They sum to `logit`.
        logit: of the run itself, before a cap on logits.
        cap: where the model bends its logits to stay within ± this, they are taken before that.
    """

    tokens: tuple[Token, ...]
    position: int
    token: Token
    minus: Token | None
    p: float
    p_minus: float | None
    contributions: tuple[Contribution, ...]
    logit: float
    cap: float | None = None

    @property
    def total(self) -> float:
        """The sum over the parts."""
        return math.fsum(part.logit for part in self.contributions)

    @property
    def gap(self) -> float:
        """|sum − logit|: rounding of the run's float32, nothing else."""
        return abs(self.total - self.logit)

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the largest part, or of 1: float32 rounds in proportion."""
        return self.gap / max(1.0, *(abs(part.logit) for part in self.contributions))

    @property
    def ok(self) -> bool:
        """Whether the gap is rounding."""
        return self.relative_gap < TOLERANCE

    def sorted(self) -> tuple[Contribution, ...]:
        """The parts by size, largest first."""
        return tuple(sorted(self.contributions, key=lambda part: -abs(part.logit)))


def attribute(
    loaded: "LoadedModel",
    prompt: str | Sequence[int],
    token: Token,
    minus: Token | None = None,
    *,
    position: int = -1,
    edit: Edit | None = None,
) -> Attribution:
    """What each head and MLP writes into the logit of `token` (minus that of `minus`) after `position`.

    Args:
        token, minus: see `predictions.one_token`.
        edit: changes the run, see `Trace`.

    Raises:
        UsageError: a position that the prompt doesn't have, or what `read_prompt` refuses.
        CheckpointError: the logits are not finite.
    """
    config, weights = loaded.config, loaded.model.weights
    ids = read_prompt(loaded, prompt).token_ids
    at = pick_position(position, len(ids))
    places = ("embedding", "mix", "out", "down", "ffn_post_norm", "resid_post", "logits")
    trace = watch(loaded, ids, places, edit)
    logits_V = trace.kept[None, "logits"][at].astype(np.float64)
    logprobs = log_softmax(logits_V)
    kept: dict[Place, Array] = {place: array[..., at, :].astype(np.float64) for place, array in trace.kept.items()}
    direction = weights.unembedding[token.id].astype(np.float64)
    if minus is not None:
        direction = direction - weights.unembedding[minus.id]
    stream = kept[config.n_layers - 1, "resid_post"]
    contributions = [
        Contribution(kind, layer, head, float(through_norm(x, stream, weights.norm, config.norm_eps) @ direction))
        for kind, layer, head, x in _parts(loaded, kept)
    ]
    if weights.norm.bias is not None:
        contributions.append(Contribution("bias", None, None, float(weights.norm.bias.astype(np.float64) @ direction)))
    scaled = tuple(Contribution(c.kind, c.layer, c.head, c.logit * config.logit_scale) for c in contributions)
    cap = config.logit_softcap
    uncapped = logits_V if cap is None else cap * np.arctanh(logits_V / cap)
    return Attribution(
        tokens=tokens_of(loaded.tokenizer, ids),
        position=at,
        token=token,
        minus=minus,
        p=math.exp(logprobs[token.id]),
        p_minus=None if minus is None else math.exp(logprobs[minus.id]),
        contributions=scaled,
        logit=float(uncapped[token.id] - (0.0 if minus is None else uncapped[minus.id])),
        cap=cap,
    )


def through_norm(part_D: Array, whole_D: Array, norm: Norm | None, eps: float) -> Array:
    """A part of `whole_D` through the norm of the whole, its scale frozen; without the norm's bias.

    The parts' results sum to the norm of the whole, less that bias.
    """
    if norm is None:
        return part_D
    if norm.centred:
        part_D, whole_D = part_D - part_D.mean(), whole_D - whole_D.mean()
    return part_D / math.sqrt(float(whole_D @ whole_D) / len(whole_D) + eps) * norm.weight.astype(np.float64)


def _parts(loaded: "LoadedModel", kept: dict[Place, Array]) -> Iterator[tuple[str, int | None, int | None, Array]]:
    """What is added up in the stream at one position: (kind, layer, head, what it adds [D])."""
    config, scale = loaded.config, loaded.config.residual_scale
    yield "embedding", None, None, kept[None, "embedding"]
    for layer, weights in enumerate(loaded.model.weights.blocks):
        matrix_HED = weights.out.astype(np.float64).reshape(config.n_heads, config.head_dim, -1)
        written_HD = np.einsum("he,hed->hd", kept[layer, "mix"], matrix_HED)
        whole, post = kept[layer, "out"], weights.attn_post_norm
        for head, x_D in enumerate(written_HD):
            yield "head", layer, head, scale * through_norm(x_D, whole, post, config.norm_eps)
        constant: Array = np.zeros(config.dim)
        if weights.out_bias is not None:
            constant = through_norm(weights.out_bias.astype(np.float64), whole, post, config.norm_eps)
        if post is not None and post.bias is not None:
            constant = constant + post.bias
        if constant.any():
            yield "bias", layer, None, scale * constant
        yield "mlp", layer, None, scale * kept.get((layer, "ffn_post_norm"), kept[layer, "down"])
