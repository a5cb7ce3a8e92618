"""When a run gives something that is no number: find the first tensor where it began.

Costs nothing until it is needed; then the run is repeated with every layer traced.
"""

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
    found = first_bad_tensor(run.loaded.model, ids)
    if found is None:
        found = "A second run of the same tokens gave numbers only."
        if not run.choice.is_full:
            found = f"With the full cache the same tokens give numbers: {run.choice.text} can't hold them all."
    return CheckpointError(f"the model gave logits that are not numbers; no text can follow.\n{found}")


def first_bad_tensor(model: "Llama", token_ids: "Sequence[int]") -> str | None:
    """Where a NaN or an infinity first shows when `token_ids` are read, in the order of computing, if it does."""
    from glasscli.inspect.trace import FIELDS, Trace

    trace = Trace(range(model.config.n_layers), places=("embedding", "final_norm", "logits"))
    with np.errstate(all="ignore"):
        model(token_ids, trace=trace, last_only=True)
    found = [("the embedding", trace.kept[None, "embedding"])]
    for layer, kept in sorted(trace.layers.items()):
        values = {place: getattr(kept, name) for place, name in FIELDS.items() if place != "mask"}
        values["scores"] = np.where(kept.mask_TS, values["scores"], 0)  # what a window hides is −∞
        found += [(f"layer {layer}, {place}", value) for place, value in values.items() if value is not None]
    found += [("the final norm", trace.kept[None, "final_norm"]), ("the logits", trace.kept[None, "logits"])]
    for where, value in found:
        if not np.isfinite(value).all():
            bad = np.argwhere(~np.isfinite(value))[0]
            return f"First in {where}[{', '.join(map(str, bad))}] = {value[tuple(bad)]}."
    return None
