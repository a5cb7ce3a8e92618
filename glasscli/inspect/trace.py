"""Which intermediate values of a run to keep, and how they are handed out.

Inside the model the two coordinates of a rotated pair lie side by side (see `model.rope`). A trace hands q, k
and their rotated forms out in Hugging Face's half-split order, so that they compare with other programs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glasscli.arrays import Array, Mask
from glasscli.config.model_config import ModelConfig
from glasscli.errors import UsageError
from glasscli.inspect.columns import by_position
from glasscli.model.places import LAYER_PLACES, MODEL_PLACES, At
from glasscli.model.rope import half_split_order, pair_order

# Where the coordinates of a pair lie side by side inside the model.
PAIRED = frozenset({"q", "k", "q_norm", "k_norm", "rope_q", "rope_k", "cache_k"})
FIELDS = {
    "resid_pre": "x_TD", "attn_norm": "normed_TD", "q": "q_HTE", "k": "k_KTE", "v": "v_KTE", "q_norm": "q_norm_HTE",
    "k_norm": "k_norm_KTE", "rope_q": "rope_q_HTE", "rope_k": "rope_k_KTE", "cache_k": "cache_k_KSE",
    "cache_v": "cache_v_KSE", "scores": "scores_HTS", "softcap": "softcap_HTS", "mask": "mask_TS",
    "softmax": "pattern_HTS", "mix": "mix_HTE", "out": "out_TD", "attn_post_norm": "attn_post_norm_TD",
    "resid_mid": "resid_mid_TD", "ffn_norm": "ffn_norm_TD", "gate": "gate_TF", "up": "up_TF", "hidden": "hidden_TF",
    "down": "down_TD", "ffn_post_norm": "ffn_post_norm_TD", "resid_post": "resid_post_TD",
}  # fmt: skip


def unseen(place: str, array: Any) -> Any:
    """`untouched` for a layer of a traced run that nobody looks at: all its layers compute in the same way."""
    return array


Place = tuple[int | None, str]  # layer (None outside the blocks) and name, see `model.places`
Edit = Callable[[int | None, str, Array], Array]


@dataclass(frozen=True)
class LayerTrace:
    """Every number of one layer, float32, axes as the names end (see `model.attention`).

    T new tokens, of which the first stands at position `start`; S tokens seen, those of the cache included. A layer
    with a window keeps those from position `first_key` on: before it keys and values are 0, scores −∞, the mask false.
    What an architecture does not have is None.
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
    resid_mid_TD: Array  # x + out
    ffn_norm_TD: Array
    up_TF: Array
    hidden_TF: Array  # activation(gate) · up
    down_TD: Array
    resid_post_TD: Array  # resid_mid + down: what the next block gets
    gate_TF: Array | None = None
    q_norm_HTE: Array | None = None
    k_norm_KTE: Array | None = None
    softcap_HTS: Array | None = None
    attn_post_norm_TD: Array | None = None
    ffn_post_norm_TD: Array | None = None
    first_key: int = 0
    seen_KTS: Mask | None = None  # where key/value heads keep different tokens: which of `mask_TS` each still has

    @property
    def seen(self) -> Mask:
        """True where a query of each head may look."""
        if self.seen_KTS is None:
            return np.broadcast_to(self.mask_TS, self.pattern_HTS.shape)
        seen: Mask = self.seen_KTS.repeat(len(self.pattern_HTS) // len(self.seen_KTS), axis=0)
        return seen

    @property
    def last_scores(self) -> Array:
        """The scores that softmax reads, before the mask: capped where the model caps them."""
        return self.scores_HTS if self.softcap_HTS is None else self.softcap_HTS

    def seen_scores(self, head: int, row: int) -> Array:
        """What softmax reads of one head's row, −∞ where its query may not look: one number for each key up to it."""
        stop = self.start + row + 1
        scores: Array = np.where(self.mask_TS[row, :stop], self.last_scores[head, row, :stop], np.float32(-np.inf))
        return scores

    def _repr_html_(self) -> str:
        """What a notebook shows: a small map of each head, and the arrays by name."""
        from glasscli.export.notebook import maps_and_arrays

        return maps_and_arrays(self)


class Trace:
    """Hand one to a model's call to keep what is computed at named places, or to change it.

    A traced call computes all its tokens in one block, so its memory grows with T × S.

    Attributes:
        layers: what was kept of the wanted layers. The next call with the same trace overwrites it.
        kept: what was kept of further places, by (layer, place).
    """

    def __init__(self, layers: Iterable[int] = (), *, places: Iterable[str] = (), edit: Edit | None = None) -> None:
        """Say what to keep.

        Args:
            layers: whose every place is kept, and handed out as `layers`.
            places: further places to keep, by name: of all layers ("resid_post"), or of the model ("logits").
            edit: called as edit(layer, place, array) at every place, layer None outside the blocks; what it returns
                goes on in place of the array. It must not write into the array it is given. Queries and keys come to
                it, and are kept, in Hugging Face's half-split order.

        Raises:
            UsageError: no place has that name.
        """
        self.wanted, self.places, self.edit = frozenset(layers), frozenset(places), edit
        known = (*MODEL_PLACES, *LAYER_PLACES)
        for place in sorted(self.places):
            if place not in known:
                raise UsageError(f"there is no place {place!r} in a run. Places: {', '.join(known)}")
        self.layers: dict[int, LayerTrace] = {}
        self.kept: dict[Place, Array] = {}
        self._parts: dict[str, Any] = {}

    def begin(self, config: ModelConfig, start: int) -> None:
        """A call begins, with its first token at position `start`."""
        self._start, width = start, config.head_dim
        self._to_halves = half_split_order(width, config.rotary_dim)
        self._to_pairs = pair_order(width, config.rotary_dim)
        self._parts = {}

    def at(self, layer: int | None) -> At:
        """What the model calls at the places of a layer, or outside the blocks."""
        if self.edit is None and not self.places and layer not in self.wanted:
            return unseen
        return lambda place, array: self._visit(layer, place, array)

    def _visit(self, layer: int | None, place: str, array: Any) -> Any:
        """Keep and change what is at a place; returns what the run goes on with."""
        if place in ("mask", "positions"):
            if layer in self.wanted:
                self._parts[place] = array
            return array
        inside = array[0] if layer is not None or place == "embedding" else array  # one sequence
        shown = inside.take(self._to_halves, axis=-1) if place in PAIRED else inside
        if self.edit is not None:
            edited = self.edit(layer, place, shown)
            if edited is not shown:
                shown = np.asarray(edited, dtype=array.dtype)
                inside = shown.take(self._to_pairs, axis=-1) if place in PAIRED else shown
                array = inside[None] if array.ndim > inside.ndim else inside
        if place in self.places:
            self.kept[layer, place] = shown.copy()
        if layer is not None and layer in self.wanted:
            self._parts[place] = shown.copy()  # a copy: the run goes on in the same memory
            if place == "resid_post":
                self._finish(layer)
        return array.copy() if place in ("scores", "softcap") and self.edit is not None else array

    def _finish(self, layer: int) -> None:
        """Make a `LayerTrace` of what a layer's places showed."""
        parts, self._parts = self._parts, {}
        parts.setdefault("rope_q", parts.get("q_norm", parts["q"]))
        parts.setdefault("rope_k", parts.get("k_norm", parts["k"]))
        named = {FIELDS.get(place, place): array for place, array in by_position(parts, self._start).items()}
        self.layers[layer] = LayerTrace(layer, self._start, **named)


def row_fields(trace: LayerTrace) -> list[str]:
    """The arrays of a trace with one row a query and no axis of keys."""
    names = (name for name in FIELDS.values() if name.endswith(("_TD", "_TF", "TE")))
    return [name for name in names if getattr(trace, name) is not None]


def join_steps(steps: Sequence[LayerTrace]) -> LayerTrace:
    """Decode steps of one layer as one trace, a row for each step.

    Keys that did not exist yet at a step have no score: −∞, and a weight of 0.
    """
    last = steps[-1]
    if len(steps) == 1:
        return last
    n_seen = last.cache_k_KSE.shape[1]

    def square(name: str, fill: float | bool) -> Any:
        rows = [getattr(step, name) for step in steps]
        width = [(0, 0)] * (rows[0].ndim - 1)
        return np.concatenate(
            [np.pad(row, [*width, (0, n_seen - row.shape[-1])], constant_values=fill) for row in rows], axis=-2
        )

    joined: dict[str, Any] = {
        name: np.concatenate([getattr(step, name) for step in steps], axis=-2) for name in row_fields(last)
    }
    if last.softcap_HTS is not None:
        joined["softcap_HTS"] = square("softcap_HTS", -np.inf)
    if last.seen_KTS is not None:
        joined["seen_KTS"] = square("seen_KTS", False)
    for name in ("cache_k_KSE", "cache_v_KSE") if last.first_key else ():
        joined[name] = _all_kept(steps, name)
    return replace(
        last,
        start=steps[0].start,
        first_key=steps[0].first_key,
        scores_HTS=square("scores_HTS", -np.inf),
        mask_TS=square("mask_TS", False),
        pattern_HTS=square("pattern_HTS", 0.0),
        **joined,
    )


def _all_kept(steps: Sequence[LayerTrace], name: str) -> Array:
    """The keys or values that any of the steps looked at: a window has let go of the first by the last step."""
    kept: Array = np.zeros_like(getattr(steps[-1], name))
    for step in steps:
        seen = getattr(step, name)
        kept[:, step.first_key : seen.shape[1]] = seen[:, step.first_key :]
    return kept
