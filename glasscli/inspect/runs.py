"""Runs of a prompt for a question: keep some places, or change something and hear the last prediction."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.errors import UsageError
from glasscli.inspect.dump import check_size
from glasscli.inspect.trace import Edit, Trace

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel


def watch(
    loaded: "LoadedModel",
    ids: Sequence[int],
    places: Sequence[str],
    edit: Edit | None = None,
    *,
    layers: Sequence[int] = (),
    last_only: bool = False,
) -> Trace:
    """Run `ids` and keep `places` of all layers, and every place of `layers`.

    Args:
        last_only: compute the logits of the last position alone.

    Raises:
        SizeError: the run would hold more than 2 GiB of scores.
    """
    check_size(loaded.config, len(ids), len(ids), max(1, len(layers)))
    trace = Trace(layers, places=places, edit=edit)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused where it is read
        loaded.model(ids, trace=trace, last_only=last_only)
    return trace


def last_logits(loaded: "LoadedModel", ids: Sequence[int], edit: Edit) -> Array:
    """What follows the last of `ids` in a run that `edit` changes: logits [V]."""
    return watch(loaded, ids, ("logits",), edit, last_only=True).kept[None, "logits"][-1]


def pick_position(position: int, n_tokens: int) -> int:
    """A position as it counts from 0.

    Raises:
        UsageError: there is none.
    """
    if not -n_tokens <= position < n_tokens:
        raise UsageError(f"there is no position {position}: the prompt has {n_tokens} tokens, 0 to {n_tokens - 1}")
    return position % n_tokens
