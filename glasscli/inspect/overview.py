"""The whole model on one page: every place from the embedding to the probabilities, its size, what it would say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array, Mask
from glasscli.inspect.checks import Check, check_layer
from glasscli.inspect.dump import Dump, dump_attention
from glasscli.inspect.predictions import Guess, guesses
from glasscli.inspect.steps import layer_steps, step_array
from glasscli.inspect.stream_checks import check_joints, check_outside, check_stream
from glasscli.inspect.stream_steps import OUTSIDE

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

# Of a layer: what is written into the stream, and the stream after it. What is read is in `--step`.
SHOWN = ("attn_norm", "softmax", "out", "attn_post_norm", "resid_mid", "ffn_norm", "hidden", "down", "ffn_post_norm",
         "resid_post")  # fmt: skip
AROUND = ("embedding", "final_norm", "logits", "probs")


@dataclass(frozen=True)
class Place:
    """One place of a run.

    Attributes:
        layer: None outside the layers.
        rms: root mean square of all its numbers.
        says: of the stream: the likeliest tokens after the last position, if the model stopped here.
        check: what was found to be true of it.
    """

    layer: int | None
    name: str
    formula: str
    shape: tuple[int, ...]
    rms: float
    says: tuple[Guess, ...] = ()
    check: Check | None = None


@dataclass(frozen=True)
class Overview:
    """All places in the order of computing, and the run they are of.

    `joined`: whether each layer was entered with what the one before left.
    """

    dump: Dump
    joined: bool
    places: tuple[Place, ...]


def read_overview(loaded: "LoadedModel", prompt: str | Sequence[int], n_top: int = 3) -> Overview:
    """Run `prompt` and look at every place.

    Raises:
        UsageError, CheckpointError: as `dump_attention`.
    """
    dump = dump_attention(loaded, prompt, range(loaded.config.n_layers), outside=AROUND)
    found = check_outside(dump, loaded.model)
    first, *last = AROUND
    around = {name: _place(loaded, None, name, dump.outside[name], found.get(name), n_top) for name in AROUND}
    inside = [place for layer in range(loaded.config.n_layers) for place in _layer(loaded, dump, layer, n_top)]
    return Overview(dump, check_joints(dump.layers), (around[first], *inside, *(around[name] for name in last)))


def _layer(loaded: "LoadedModel", dump: Dump, layer: int, n_top: int) -> Iterator[Place]:
    trace, config = dump.layers[layer], loaded.config
    checks = {**check_layer(trace, config), **check_stream(trace, config)}
    for name in layer_steps(config, layer):
        if name in SHOWN:
            yield _place(loaded, layer, name, step_array(trace, name), checks.get(name), n_top)


def _place(
    loaded: "LoadedModel", layer: int | None, name: str, values: Array | Mask, check: Check | None, n_top: int
) -> Place:
    config = loaded.config
    step = OUTSIDE[name] if layer is None else layer_steps(config, layer)[name]
    if name in ("embedding", "resid_mid", "resid_post"):
        says = guesses(loaded, loaded.model.logits(np.asarray(values[-1:], np.float32))[0], n_top)
    else:
        says = guesses(loaded, values[-1], n_top) if name == "logits" else ()
    rms = float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))
    return Place(layer, name, step.equation(config), values.shape, rms, says, check)
