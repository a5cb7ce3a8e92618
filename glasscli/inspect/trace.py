"""Which intermediate values of a run to keep, and how they are handed out.

Inside the model the two coordinates of a rotated pair lie side by side (see `model.rope`). A trace hands q, k
and their rotated forms out in Hugging Face's half-split order, so that they compare with other programs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glasscli.model.block import AttentionSteps
from glasscli.model.ops import Array, Mask
from glasscli.model.rope import half_split_order


@dataclass(frozen=True)
class LayerTrace:
    """Every number of one attention layer, float32, axes as the names end (see `model.attention`).

    T new tokens, of which the first stands at position `start`; S tokens seen, those of the cache included.
    """

    layer: int
    start: int
    x_TD: Array  # the residual stream that enters the block
    normed_TD: Array
    q_HTE: Array
    k_KTE: Array
    v_KTE: Array
    rope_q_HTE: Array
    rope_k_KTE: Array
    cache_k_KSE: Array  # rotated keys of all tokens seen
    cache_v_KSE: Array
    scores_HTS: Array  # scaled by 1/√E, before the mask
    mask_TS: Mask  # true where a query may look
    pattern_HTS: Array
    mix_HTE: Array
    out_TD: Array


class Trace:
    """Hand one to a model's call to keep the attention steps of `layers`.

    A traced call computes all its tokens in one block, so its memory grows with T × S.

    Attributes:
        layers: what was kept, by layer. The next call with the same trace overwrites it.
    """

    def __init__(self, layers: Iterable[int]) -> None:
        self.wanted = frozenset(layers)
        self.layers: dict[int, LayerTrace] = {}

    def keep(self, layer: int, start: int, x_TD: Array, steps: AttentionSteps) -> None:
        """Take what a layer computed, if that layer is wanted. Cache views are copied: they will be overwritten."""
        if layer not in self.wanted:
            return
        order = half_split_order(steps.q_HTE.shape[-1])
        self.layers[layer] = LayerTrace(
            layer=layer,
            start=start,
            x_TD=x_TD,
            normed_TD=steps.normed_TD,
            q_HTE=steps.q_HTE[..., order],
            k_KTE=steps.k_KTE[..., order],
            v_KTE=steps.v_KTE,
            rope_q_HTE=steps.rope_q_HTE[..., order],
            rope_k_KTE=steps.rope_k_KTE[..., order],
            cache_k_KSE=steps.cache_k_KSE[..., order],
            cache_v_KSE=steps.cache_v_KSE.copy(),
            scores_HTS=steps.scores_HTS,
            mask_TS=steps.mask_TS,
            pattern_HTS=steps.pattern_HTS,
            mix_HTE=steps.mix_HTE,
            out_TD=steps.out_TD,
        )


def join_steps(steps: Sequence[LayerTrace]) -> LayerTrace:
    """Decode steps of one layer as one trace, a row for each step.

    Keys that did not exist yet at a step have no score: −∞, and a weight of 0.
    """
    last = steps[-1]
    n_seen = last.cache_k_KSE.shape[1]

    def square(name: str, fill: float | bool) -> Any:
        rows = [getattr(step, name) for step in steps]
        width = [(0, 0)] * (rows[0].ndim - 1)
        return np.concatenate(
            [np.pad(row, [*width, (0, n_seen - row.shape[-1])], constant_values=fill) for row in rows], axis=-2
        )

    vectors = ("x_TD", "normed_TD", "q_HTE", "k_KTE", "v_KTE", "rope_q_HTE", "rope_k_KTE", "mix_HTE", "out_TD")
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(step, name) for step in steps], axis=-2) for name in vectors
    }
    return replace(
        last,
        start=steps[0].start,
        scores_HTS=square("scores_HTS", -np.inf),
        mask_TS=square("mask_TS", False),
        pattern_HTS=square("pattern_HTS", 0.0),
        **joined,
    )
