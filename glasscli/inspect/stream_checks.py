"""What must be true around attention: of the residual stream, the MLP, logits and loss. See `inspect.checks`."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.config.model_config import ModelConfig
from glasscli.inspect.checks import TOLERANCE, Check, bound, largest_difference
from glasscli.inspect.dump import Dump
from glasscli.inspect.gradients import MOST_TRIED, central_differences
from glasscli.inspect.trace import LayerTrace
from glasscli.model.ops import ACTIVATIONS

if TYPE_CHECKING:
    from glasscli.model.llama import Llama


def check_stream(trace: LayerTrace, config: ModelConfig) -> dict[str, Check]:
    """The checks of a layer's stream and MLP, by the name of their step."""
    out = trace.out_TD if trace.attn_post_norm_TD is None else trace.attn_post_norm_TD
    down = trace.down_TD if trace.ffn_post_norm_TD is None else trace.ffn_post_norm_TD
    factor = config.residual_scale
    hidden = ACTIVATIONS[config.activation](trace.up_TF if trace.gate_TF is None else trace.gate_TF)
    if trace.gate_TF is not None:
        hidden = hidden * trace.up_TF
    checks = (
        _same("resid_mid", "x + out", trace.resid_mid_TD, trace.x_TD + factor * out),
        _same("hidden", "recomputed", trace.hidden_TF, hidden),
        _same("resid_post", "resid_mid + down", trace.resid_post_TD, trace.resid_mid_TD + factor * down),
    )
    return {check.step: check for check in checks}


def check_outside(dump: Dump, model: "Llama") -> dict[str, Check]:
    """The checks of a dump's steps around the layers."""
    return {check.step: check for name in dump.outside for check in _CHECKS.get(name, _none)(dump, model)}


def check_joints(layers: Sequence[LayerTrace]) -> bool:
    """Whether each layer of neighbours enters with what the one before left."""
    return all(np.array_equal(a.resid_post_TD, b.x_TD) for a, b in pairwise(layers) if b.layer == a.layer + 1)


def _same(step: str, what: str, found: Array, expected: Array) -> Check:
    size = max(1.0, float(np.abs(found).max(initial=0.0)))
    gap = largest_difference(found, expected) / size
    return Check(step, gap < TOLERANCE, f"{what}, Δ {bound(gap)}")


def _embedding(dump: Dump, model: "Llama") -> Iterator[Check]:
    ids = dump.token_ids[dump.start :]
    if model.weights.positions is None:
        rows = model.weights.embedding[ids] * np.float32(model.config.embedding_scale)
        yield _same("embedding", "the tokens' rows", dump.outside["embedding"], rows)


def _logits(dump: Dump, model: "Llama") -> Iterator[Check]:
    if "final_norm" in dump.outside and model.config.logit_softcap is None:
        normed = dump.outside["final_norm"][-1:].astype(np.float64)
        again = normed @ model.weights.unembedding.T.astype(np.float64) * model.config.logit_scale
        yield _same("logits", "last row recomputed", dump.outside["logits"][-1:], again)


def _probs(dump: Dump, model: "Llama") -> Iterator[Check]:
    del model
    gap = float(np.abs(dump.outside["probs"].sum(axis=1, dtype=np.float64) - 1).max())
    yield Check("probs", gap < TOLERANCE, f"|Σ−1| {bound(gap)}")


def _grad(dump: Dump, model: "Llama") -> Iterator[Check]:
    """Each row sums to 0; the last one equals central differences of the loss."""
    del model
    rows = dump.outside["grad"].astype(np.float64)
    total = float(np.abs(rows.sum(axis=1)).max())
    text, ok = f"Σ = 0, Δ {bound(total)}", total < TOLERANCE
    if rows.shape[1] <= MOST_TRIED:
        row = rows[-1]
        came = int(row.argmin())  # the only one below 0
        p = row + (np.arange(len(row)) == came)
        logits = np.log(np.maximum(p, 1e-45))  # but for a constant, which changes nothing
        gap = float(np.abs(row - central_differences(logits, came)).max())
        text, ok = f"{text}; central differences, Δ {bound(gap)}", ok and gap < TOLERANCE
    yield Check("grad", ok, text)


def _none(dump: Dump, model: "Llama") -> Iterator[Check]:
    del dump, model
    yield from ()


_CHECKS = {"embedding": _embedding, "logits": _logits, "probs": _probs, "grad": _grad}
