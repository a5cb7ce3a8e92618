"""The first step of a traced layer that went wrong: with a number that is NaN or infinite."""

import numpy as np

from glasscli.inspect.steps import STEPS, step_array
from glasscli.inspect.trace import LayerTrace


def first_not_finite(trace: LayerTrace) -> str | None:
    """The first step of a layer with a number that is NaN or infinite; `input` is what entered the layer."""
    if not np.isfinite(trace.x_TD).all():
        return "input"
    for name in STEPS:
        values = step_array(trace, name)
        if values is None:
            continue
        seen = np.where(trace.seen, values, 0.0) if name in ("scores", "softcap") else values
        if not np.isfinite(seen).all():
            return name
    return None
