"""GGUF files changed at random, and everything asked of them that the program asks.

What must hold each time: an answer or one clean error, and no more memory than the file's size allows.
"""

import json
import struct
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from helpers.formula import weights
from helpers.gguf_files import As, as_written, gguf_bytes
from helpers.mutations import HOSTILE, edited, some_edits

from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.errors import GlassError
from robust.tally import Tally

DATA = Path(__file__).parents[1] / "data" / "gguf"
NUMBERS = (0, 1, 2, 3, 7, 8, 9, 31, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**63 - 1, 2**63, 2**64 - 1)
# A file of a few KiB: its objects, a block to read, a table of types. A number in the file can be a byte and take
# forty in Python; a tensor of Q2_K takes twelve times its bytes as float32.
SLACK, TIMES = 6 << 20, 48


def try_headers(folder: Path, rng: Random, n: int) -> Tally:
    """`n` changed files, in `folder`."""
    tally = Tally("changed GGUF files")
    path = folder / "m.gguf"
    models = [_with_tokenizer(kind) for kind in ("gpt2", "llama")]
    for i in range(n):
        seed = rng.getrandbits(48)
        data = changed(Random(seed), *models[i % 2])
        path.write_bytes(data)
        end, faults = ask(path, len(data))
        tally.count(end, faults, f"seed {seed}, model {i % 2}")
    return tally


def ask(path: Path, size: int) -> tuple[str, list[str]]:
    """How it ended, and what was wrong with that."""
    tracemalloc.start()
    try:
        end, faults = "answered", _asked(path)
    except GlassError as error:
        end, faults = f"refused ({type(error).__name__})", _unclear(error)
    except Exception as error:
        end, faults = "failed", [f"{type(error).__name__}: {error}"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if peak > SLACK + TIMES * size:
        faults.append(f"took {peak:,} bytes for a file of {size:,}")
    return end, faults


def _asked(path: Path) -> list[str]:
    """Read all that a file has; refusals of one part do not keep the others from being tried."""
    checkpoint = open_checkpoint(path)
    last: GlassError | None = None
    faults = []
    for question in (checkpoint.settings, checkpoint.config, checkpoint.tokenizer, checkpoint.weights_hash):
        try:
            question()
        except GlassError as error:
            last = error
    for info in checkpoint.tensors():
        try:
            found = checkpoint.read(info)
            if found.dtype != np.float32 or found.shape != info.shape or not np.isfinite(found).all():
                faults.append(f"{info.name} came as {found.dtype} {found.shape}")
        except GlassError as error:
            last = error
    if last is not None and not faults:
        raise last
    return faults


def _unclear(error: GlassError) -> list[str]:
    lines = str(error).splitlines()
    if not 1 <= len(lines) <= 3 or not all(line.isprintable() for line in lines) or len(str(error)) > 1500:
        return [f"an unclear error: {str(error)[:200]!r}"]
    return []


def _with_tokenizer(kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A Llama with a tokenizer of a kind, whole."""
    truth = json.loads((DATA / "llama_cpp_ids.json").read_text(encoding="utf-8"))
    rows = len(truth[kind]["tokenizer.ggml.tokens"])
    metadata = as_written(truth[kind]) | {
        "tokenizer.ggml.pre": "llama-bpe", "general.name": "tiny", "llama.block_count": 1, "llama.context_length": 64,
        "llama.embedding_length": 8, "llama.feed_forward_length": 8, "llama.attention.head_count": 2,
        "llama.attention.head_count_kv": [1], "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.freq_base": 1e4,
    }  # fmt: skip
    shapes = {"token_embd": (rows, 8), "output_norm": (8,), "blk.0.attn_norm": (8,), "blk.0.ffn_norm": (8,),
              "blk.0.attn_q": (8, 8), "blk.0.attn_k": (4, 8), "blk.0.attn_v": (4, 8), "blk.0.attn_output": (8, 8),
              "blk.0.ffn_gate": (8, 8), "blk.0.ffn_up": (8, 8), "blk.0.ffn_down": (8, 8)}  # fmt: skip
    tensors = {f"{name}.weight": weights(name, shape) for name, shape in shapes.items()}
    return metadata, tensors | {"rope_freqs.weight": np.ones(2, np.float32)}


def changed(rng: Random, metadata: dict[str, Any], tensors: dict[str, Any]) -> bytes:
    """A file with something wrong in it, most often in its header."""
    way = rng.randrange(4)
    if way == 0:  # well-formed, and means something else
        metadata = dict(metadata)
        for _ in range(rng.randint(1, 3)):
            key = rng.choice(sorted(metadata))
            if rng.random() < 0.2:
                del metadata[key]
            else:
                metadata[key] = _junk(rng, metadata[key])
        tensors = {name: array for name, array in tensors.items() if rng.random() < 0.95}
        return gguf_bytes(metadata, tensors)
    data = gguf_bytes(metadata, tensors)
    header = len(data) - sum(-(-array.nbytes // 32) * 32 for array in tensors.values())
    small = rng.random() < 0.7  # the lists of tokens are most of a header; what stands around them says more
    places = [*range(1200), *range(header - 900, header)] if small else range(header)
    if way == 1:
        return edited(data, some_edits(rng), header)
    at = rng.choice(places)
    if way == 2:  # a number that means harm, wherever one may stand
        form = rng.choice("QIHB")
        number = rng.choice(NUMBERS) % (1 << 8 * struct.calcsize(form))
        packed = struct.pack(f"<{form}", number)
        return data[:at] + packed + data[at + len(packed) :]
    return data[:at] + rng.randbytes(rng.randint(1, 12)) + data[at + rng.randint(0, 12) :]


def _junk(rng: Random, value: Any) -> Any:
    draw = rng.randrange(6)
    if draw == 0:
        return rng.choice(HOSTILE).encode("utf-8", "surrogatepass")
    if draw == 1:
        return As(10, rng.choice(NUMBERS))
    if draw == 2:
        return rng.choice((True, -1.5, float("nan"), float("inf"), 1e300 * 0, [1, 2, 3], [], ["a"], [0.5]))
    if isinstance(value, As) and value.items and draw == 3:
        return As(value.kind, value.value[: rng.randrange(len(value.value) + 1)], items=True)
    if isinstance(value, list) and value:
        items = list(value)
        items[rng.randrange(len(items))] = items[rng.randrange(len(items))]
        return items
    return As(5, rng.choice((0, -1, 1, 3, 64, 2**31 - 1)))
