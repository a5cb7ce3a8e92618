"""What the numbers were taken on: a speed without it is a rumour."""

import os
import platform
from pathlib import Path

# Must stand in the environment before NumPy or torch is imported.
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


def describe() -> str:
    """Processor, operating system, Python, NumPy and its BLAS, one line each."""
    import numpy as np

    lines = [
        f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}, NumPy {np.__version__}, {blas()}",
    ]
    forced = [
        f"{name}={value}" for name, value in os.environ.items() if name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    ]
    if forced:
        lines.append(f"{', '.join(forced)}: OpenBLAS is not free to choose its kernels")
    return "\n".join(lines)


def processor() -> str:
    """The processor's name, where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def blas() -> str:
    """The BLAS that NumPy uses, its kernels and its threads."""
    from threadpoolctl import threadpool_info

    for pool in threadpool_info():
        if pool["user_api"] == "blas" and "numpy" in pool["filepath"]:
            return (
                f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', '?')} kernels), "
                f"{pool['num_threads']} thread{'s' if pool['num_threads'] != 1 else ''}"
            )
    return "BLAS unknown"
