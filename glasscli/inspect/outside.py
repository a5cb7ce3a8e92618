"""The numbers of a run around its layers: embedding, last norm, logits, probabilities, the gradient of the loss."""

from collections.abc import Sequence

import numpy as np

from glasscli.arrays import Array
from glasscli.errors import CheckpointError, UsageError
from glasscli.inspect.trace import Trace
from glasscli.model.ops import softmax
from glasscli.model.places import MODEL_PLACES


def outside_arrays(names: Sequence[str], traces: Sequence[Trace], next_ids: Sequence[int]) -> dict[str, Array]:
    """The arrays of steps around the layers, from traces of one query or more each.

    Args:
        next_ids: what came after each query, as far as it is known.

    Raises:
        UsageError: the gradient is wanted, and nothing came after any query.
        CheckpointError: a number is not finite.
    """
    found: dict[str, Array] = {}
    for name in names:
        place = name if name in MODEL_PLACES else "logits"
        rows: Array = np.concatenate([trace.kept[None, place] for trace in traces])
        if not np.isfinite(rows).all():
            raise CheckpointError(f"{place} holds NaN or infinity; look for the first layer that does")
        if name == "probs":
            rows = softmax(rows)
        elif name == "grad":
            known = min(len(rows), len(next_ids))
            if not known:
                raise UsageError("nothing follows the last token: there is no loss to take a gradient of")
            rows = softmax(rows[:known])
            rows[range(known), next_ids[:known]] -= 1
        found[name] = rows
    return found
