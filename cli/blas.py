"""How many threads NumPy's matrix products may use. Must be settled before NumPy is imported; imports no NumPy."""

import os
from pathlib import Path

# Up to here (weights of about 50 million float32 numbers) one thread is as fast as several, and gives the same
# sums whatever the machine.
SMALL_BYTES = 200_000_000
_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def pin_threads(folder: Path | None) -> None:
    """Give a small model one thread, whatever the environment asks for, so that a seed always gives the same text.

    For a larger one the environment decides: there the sums, and once in a million tokens perhaps a choice, depend
    on the number of threads. A folder that can't be read counts as small: an error will say what is wrong with it.
    """
    if folder is not None and _weight_bytes(folder) > SMALL_BYTES:
        return
    for variable in _VARIABLES:
        os.environ[variable] = "1"


def _weight_bytes(folder: Path) -> int:
    try:
        return sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    except (OSError, ValueError):
        return 0
