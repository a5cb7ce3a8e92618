"""Write `llama_cpp_state.json`: the keys and values that llama.cpp keeps of helpers.one_layer, from its state dump.

python tests/cache/make_llama_cpp_state.py       (in an environment with llama-cpp-python and gguf)
"""

import base64
import ctypes
import json
import os
import struct
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
sys.path.insert(0, str(Path(__file__).parents[1]))

import llama_cpp as lib
from gguf_file import write_gguf
from helpers.one_layer import one_layer, prompt
from safetensors.numpy import save_file

HERE = Path(__file__).parent
TYPES = {"q8_0": (lib.GGML_TYPE_Q8_0, 34), "q4_0": (lib.GGML_TYPE_Q4_0, 18), "q5_1": (lib.GGML_TYPE_Q5_1, 24)}

ALL = ("q8_0", "q4_0", "q5_1", "q8_0,norot", "q4_0,norot", "q5_1,norot")
CASES = {32: ALL, 64: ALL, 128: ("q4_0",)}  # 128: keys are turned 128 channels at a time, values 64


def kept(path: Path, ids: list[int], name: str, width: int) -> dict[str, str]:
    """Keys and values of the only layer after `ids`, one row a token: 2 heads of packed cells side by side."""
    kind, cell = TYPES[name]
    model = lib.llama_model_load_from_file(str(path).encode(), lib.llama_model_default_params())
    settings = lib.llama_context_default_params()
    settings.n_ctx, settings.type_k, settings.type_v = 256, kind, kind
    settings.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_ENABLED
    context = lib.llama_init_from_model(model, settings)
    tokens = (lib.llama_token * len(ids))(*ids)
    assert lib.llama_decode(context, lib.llama_batch_get_one(tokens, len(ids))) == 0
    size = lib.llama_state_seq_get_size(context, 0)
    buffer = (ctypes.c_uint8 * size)()
    assert lib.llama_state_seq_get_data(context, buffer, size, 0) == size
    lib.llama_free(context)
    lib.llama_model_free(model)
    row = 2 * cell * width // 32
    head = struct.pack("<iQ", kind, row)  # stands before the keys, and before the values
    _, keys, values = bytes(buffer).split(head)
    assert len(keys) == row * len(ids) <= len(values)
    return {"k": _text(keys), "v": _text(values[: row * len(ids)])}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def main() -> None:
    found: dict[str, dict[str, dict[str, str]]] = {}
    for width in CASES:
        config, tensors = one_layer(width)
        found[str(width)] = {}
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            settings = {**config, "rope_theta": config["rope_parameters"]["rope_theta"]}
            (folder / "config.json").write_text(json.dumps(settings))
            save_file(tensors, folder / "model.safetensors")
            path = write_gguf(folder)
            for spec in CASES[width]:
                os.environ["LLAMA_ATTN_ROT_DISABLE"] = "1" if "norot" in spec else "0"
                found[str(width)][spec] = kept(path, prompt(config), spec.partition(",")[0], width)
    made = {
        "made_by": "tests/cache/make_llama_cpp_state.py",
        "with": f"llama.cpp of llama-cpp-python {version('llama-cpp-python')}",
        "kept": found,
    }
    (HERE / "llama_cpp_state.json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
