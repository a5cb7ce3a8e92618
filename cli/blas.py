"""How many threads NumPy's matrix products may use. Must be settled before NumPy is imported; imports no NumPy."""

import os
from pathlib import Path

from glasscli.cli.console import detail
from glasscli.errors import GlassError

# Up to here (weights of about 50 million float32 numbers) one thread is as fast as several, and gives the same
# sums whatever the machine.
SMALL_BYTES = 200_000_000
_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def pin_threads(model: str | Path | None, quiet: bool = False) -> None:
    """Give a small model one thread, whatever the environment asks for, so that a seed always gives the same text.

    For a larger one the environment decides: there the sums, and once in a million tokens perhaps a choice, depend
    on the number of threads. A model that can't be read counts as small: an error will say what is wrong with it.

    Args:
        model: what `locate` takes. It is downloaded here if that is asked for: how large it is, is then known.
        quiet: without notes and bars.

    Raises:
        GlassError: there is no such model.
    """
    if model is not None and _weight_bytes(model, quiet) > SMALL_BYTES:
        detail("matrix products: as many threads as the environment says")
        return
    detail("matrix products: one thread")
    for variable in _VARIABLES:
        os.environ[variable] = "1"


def _weight_bytes(model: str | Path, quiet: bool) -> int:
    from glasscli.checkpoint.checkpoint import open_checkpoint
    from glasscli.cli.models import model_path

    path = model_path(model, quiet=quiet)
    try:
        return open_checkpoint(path).weight_bytes()
    except GlassError:
        return 0
