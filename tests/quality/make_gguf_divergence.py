"""Write `gguf_divergence.json`: how far glass and llama.cpp are apart on packed weights, beside what llama.cpp rounds.

    python tests/quality/make_gguf_divergence.py FILE.gguf…

In an environment with llama-cpp-python and gguf. Three programs read the first tokens of `weights/held-out`: glass the
packed weights as float32, llama.cpp the packed weights, and llama.cpp the same weights unpacked into a GGUF of float32
by the gguf package. llama.cpp has a float32 cache and no flash attention, so that only its matrix products differ: on
packed weights they round activations to 8 bits.
"""

import ctypes
import json
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from itertools import permutations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import gguf
import llama_cpp as lib
import numpy as np

from glasscli import load_model
from glasscli.quality.divergence import kl_divergence

HERE = Path(__file__).parent / "gguf_divergence.json"
TEXT = Path(__file__).parents[2] / "weights" / "held-out" / "stories.txt"
CHUNK, N_CHUNKS = 256, 5
GLASS, PACKED, FLOAT32 = "glass", "llama.cpp packed", "llama.cpp float32"


@lib.llama_log_callback
def _silent(level: int, text: bytes, user_data: object) -> None:
    """Say nothing."""


def in_float32(path: Path, target: Path) -> None:
    """The same settings and weights with every tensor in float32, by the gguf package alone."""
    reader = gguf.GGUFReader(path)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        kind, items = field.types[0], field.types[1] if len(field.types) > 1 else None
        writer.add_key_value(name, field.contents(), kind, items)
    for tensor in reader.tensors:
        shape = [int(n) for n in reversed(tensor.shape)]
        rows = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(shape).astype(np.float32)
        writer.add_tensor(tensor.name, rows)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def llama_logits(path: Path, chunks: list[list[int]]) -> list[np.ndarray]:
    """llama.cpp's logits at every position of each chunk, [T, V]."""
    settings = lib.llama_model_default_params()
    settings.n_gpu_layers = 0
    model = lib.llama_model_load_from_file(str(path).encode(), settings)
    limits = lib.llama_context_default_params()
    limits.n_ctx = limits.n_batch = limits.n_ubatch = CHUNK
    limits.n_threads = limits.n_threads_batch = 1
    limits.type_k = limits.type_v = lib.GGML_TYPE_F32
    limits.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
    limits.swa_full = True
    context = lib.llama_init_from_model(model, limits)
    width = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
    batch, found = lib.llama_batch_init(CHUNK, 0, 1), []
    for ids in chunks:
        lib.llama_memory_clear(lib.llama_get_memory(context), True)
        batch.n_tokens = len(ids)
        for i, token_id in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0] = token_id, i, 1, 0
            batch.logits[i] = True
        assert lib.llama_decode(context, batch) == 0
        rows = [np.ctypeslib.as_array(lib.llama_get_logits_ith(context, i), (width,)) for i in range(len(ids))]
        found.append(np.array(rows))
    lib.llama_batch_free(batch)
    lib.llama_free(context)
    lib.llama_model_free(model)
    return found


def measured(path: Path) -> dict[str, Any]:
    """Mean KL divergence of every pair, in nats, the first being the one that is taken for true."""
    loaded = load_model(path)
    ids, step = loaded.tokenizer.encode(TEXT.read_text("utf-8")), CHUNK - 1
    marks = loaded.config.bos_ids[:1]
    chunks = [[*marks, *ids[first : first + step]] for first in range(0, N_CHUNKS * step, step)]
    with tempfile.TemporaryDirectory() as place:
        unpacked = Path(place) / "float32.gguf"
        in_float32(path, unpacked)
        klds: dict[str, list[float]] = {}
        same: dict[str, list[bool]] = {}
        for ids in chunks:  # a chunk at a time: logits of 262,144 tokens are large
            rows = {
                GLASS: loaded.model(ids),
                PACKED: llama_logits(path, [ids])[0],
                FLOAT32: llama_logits(unpacked, [ids])[0],
            }
            add_pairs(rows, klds, same)
    return {
        "positions": sum(map(len, chunks)),
        "mean_kld": {pair: float(np.mean(found)) for pair, found in klds.items()},
        "same_top": {pair: float(np.mean(found)) for pair, found in same.items()},
    }


def add_pairs(rows: Mapping[str, np.ndarray], klds: dict[str, list[float]], same: dict[str, list[bool]]) -> None:
    """Add to `klds` and `same` what every two programs give at each position."""
    for one, other in permutations(rows, 2):
        pair = f"{one} ‖ {other}"
        klds.setdefault(pair, []).extend(kl_divergence(rows[one], rows[other]).tolist())
        same.setdefault(pair, []).extend((rows[one].argmax(1) == rows[other].argmax(1)).tolist())


def main() -> None:
    lib.llama_log_set(_silent, ctypes.c_void_p(0))
    lib.llama_backend_init()
    made = json.loads(HERE.read_text()) if HERE.exists() else {}
    made |= {
        "made_by": "tests/quality/make_gguf_divergence.py",
        "with": f"llama.cpp of llama-cpp-python {version('llama-cpp-python')}, gguf {version('gguf')}",
        "text": "weights/held-out/stories.txt",
        "chunk": CHUNK,
    }
    files = made.setdefault("files", {})
    for path in map(Path, sys.argv[1:]):
        files[path.name] = measured(path)
        HERE.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
