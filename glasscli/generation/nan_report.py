"""When a run gives something that is no number: find the first tensor where it began.

Costs nothing until it is needed; then the run is repeated with every layer traced.
"""

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from glasscli.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glasscli.generation.loop import Generation
    from glasscli.model.llama import Llama


def bad_numbers(run: "Generation") -> CheckpointError:
    """What to raise when the logits of `run` are NaN or infinite: it names the first tensor that is."""
    ids = [*run.prompt.token_ids, *run.token_ids][: run.loaded.config.max_seq_len]
    return CheckpointError(
        f"the model gave logits that are not numbers; no text can follow.\n{first_bad_tensor(run.loaded.model, ids)}"
    )


def first_bad_tensor(model: "Llama", token_ids: "Sequence[int]") -> str:
    """Where a NaN or an infinity first shows when `token_ids` are read, in the order of computing."""
    from glasscli.inspect.trace import Trace

    trace = Trace(range(model.config.n_layers))
    with np.errstate(all="ignore"):
        model(token_ids, trace=trace, last_only=True)
    for layer, kept in sorted(trace.layers.items()):
        for field in fields(kept):
            value = getattr(kept, field.name)
            if isinstance(value, np.ndarray) and not np.isfinite(value).all():
                bad = np.argwhere(~np.isfinite(value))[0]
                name = field.name.rsplit("_", 1)[0]
                place = ", ".join(map(str, bad))
                return f"First in layer {layer}, {name}[{place}] = {value[tuple(bad)]}."
    return f"First after the attention of layer {model.config.n_layers - 1}: in its MLP, the final norm or the head."
