"""Write `ggml_blocks.json`: what libggml makes of the numbers in helpers.numbers_to_pack.

    python tests/cache/formats/make_ggml.py path/to/libggml-base.so

Needs llama.cpp's library (llama-cpp-python brings one in `llama_cpp/lib/`) and the `gguf` package, whose bytes are
compared on the way: they must be the same, but for the sign of a zero scale.
"""

import ctypes
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

import gguf
from gguf import quants
from helpers.numbers_to_pack import Floats, blocks, digest, extremes

HERE = Path(__file__).parent
BLOCK_BYTES = {"q8_0": 34, "q5_1": 24, "q5_0": 22, "q4_1": 20, "q4_0": 18}


def quantised(lib: ctypes.CDLL, name: str, x: Floats) -> np.ndarray:
    """What `quantize_row_…_ref` writes for `x`: uint8."""
    packed = np.zeros(x.size // 32 * BLOCK_BYTES[name], np.uint8)
    _call(lib, f"quantize_row_{name}_ref", x, packed, x.size)
    return packed


def read_back(lib: ctypes.CDLL, name: str, packed: np.ndarray) -> Floats:
    """What `dequantize_row_…` makes of it."""
    x = np.zeros(packed.size // BLOCK_BYTES[name] * 32, np.float32)
    _call(lib, f"dequantize_row_{name}", packed, x, x.size)
    return x


def _call(lib: ctypes.CDLL, function: str, source: np.ndarray, target: np.ndarray, count: int) -> None:
    run = getattr(lib, function)
    run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    run.restype = None
    run(source.ctypes.data, target.ctypes.data, count)


def main(path: str) -> None:
    lib = ctypes.CDLL(path)
    lib.ggml_version.restype = ctypes.c_char_p
    many, single = {}, {}
    with np.errstate(all="ignore"):
        for name in BLOCK_BYTES:
            kind = getattr(gguf.GGMLQuantizationType, name.upper())
            many[name], single[name] = {}, {}
            for case, x in blocks().items():
                packed = quantised(lib, name, x)
                print(name, case, "bytes that gguf.quants has otherwise:", (quants.quantize(x, kind) != packed).sum())
                many[name][case] = {"packed": digest(packed), "read": digest(read_back(lib, name, packed))}
            for case, x in extremes().items():
                packed = quantised(lib, name, x)
                read = read_back(lib, name, packed)
                single[name][case] = {"packed": packed.tobytes().hex(), "read": read.tobytes().hex()}
    made = {
        "made_by": "tests/cache/formats/make_ggml.py",
        "with": f"libggml {lib.ggml_version().decode()}, x86-64 without FMA",
        "sha256": many,
        "extremes": single,
    }
    (HERE / "ggml_blocks.json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
