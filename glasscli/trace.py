"""Which intermediate values of a run to keep, and how they are handed out.

Inside the model the two coordinates of a rotated pair lie side by side (see `model.rope`). A trace hands q, k
and their rotated forms out in Hugging Face's half-split order, so that they compare with other programs.
"""

from collections.abc import Iterable
from dataclasses import dataclass

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
