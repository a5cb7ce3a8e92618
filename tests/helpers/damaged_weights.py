"""Folders whose weights are changed, split or damaged, and what is said of each damage."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save_file

from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.checkpoint.tensors import Tensors, load_tensors
from glasscli.config.model_config import load_config
from glasscli.errors import CheckpointError
from helpers.model_folders import safetensors_bytes

MakeFolder = Callable[..., Path]


def load(folder: Path, notes: list[str] | None = None) -> Tensors:
    """The checked tensors of a folder."""
    return load_tensors(open_checkpoint(folder), load_config(folder), notes)


def refused(folder: Path) -> str:
    """What is said of a folder that must not load, in at most two lines."""
    with pytest.raises(CheckpointError) as caught:
        dict(load(folder))
    message = str(caught.value)
    assert len(message.splitlines()) <= 2
    assert message.isprintable() or message.replace("\n", "").isprintable()
    return message


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change the tensors of a folder."""
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")
    return folder


def shard(folder: Path, change: Callable[[dict[str, str]], object] = dict) -> Path:
    """Split model.safetensors in two, and let `change` loose on the index's weight_map."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(weights)
    placed = {name: "a.safetensors" if i % 2 else "b.safetensors" for i, name in enumerate(names)}
    for file in ("a.safetensors", "b.safetensors"):
        save_file({name: weights[name] for name in names if placed[name] == file}, folder / file)
    change(placed)
    write_index(folder, {"metadata": {}, "weight_map": placed})
    return folder


def write_index(folder: Path, index: Any) -> None:
    """Write the index that names the shard of each tensor."""
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def split_off(folder: Path, header: dict[str, Any], data: bytes) -> None:
    """Put one hand-made tensor in a shard of its own, in place of the one of its name."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    (name,) = header
    weights.pop(name, None)
    save_file(weights, folder / "a.safetensors")
    (folder / "b.safetensors").write_bytes(safetensors_bytes(header, data))
    write_index(folder, {"weight_map": {**dict.fromkeys(weights, "a.safetensors"), name: "b.safetensors"}})


F32_PAIR = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 3700000\n"
HUGE = {"dtype": "F32", "shape": [10**6, 10**9], "data_offsets": [0, 4 * 10**15]}


def one_tensor(name: str = "a", **changes: Any) -> dict[str, Any]:
    """A header with one tensor of two float32, and what `changes` says otherwise."""
    return {name: {**F32_PAIR, **changes}}


NEST: Any = []
for _ in range(sys.getrecursionlimit() // 2):  # parses, and may be too deep to show
    NEST = [NEST]

# what the file holds: what is said of it
DAMAGED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty (0 bytes)"),
    "git lfs": (LFS, "is a Git LFS pointer (132 bytes), not the file itself.\nRun: git lfs pull"),
    "web page": (b"<!DOCTYPE html><html><body>404</body></html>", "is a web page"),
    "web page 2": (b"\n\n<html>", "is a web page"),
    "gguf": (b"GGUF" + bytes(40), "is a GGUF file"),
    "torch": (b"PK\x03\x04" + bytes(40), "is a PyTorch archive"),
    "gzip": (b"\x1f\x8b" + bytes(40), "is compressed"),
    "7 bytes": (bytes(7), "has 7 of the 8 bytes"),
    "header longer than the file": (safetensors_bytes(b"{}", length=1000), "claims 1,000 bytes, but the file has 10"),
    "nested value": (safetensors_bytes(one_tensor(shape=NEST), bytes(8)), "has the shape"),
    "absurd header": (safetensors_bytes(b"{}", length=2**63), "claims 9,223,372,036,854,775,808 bytes"),
    "not JSON": (safetensors_bytes(b'{"a": }'), "not valid JSON"),
    "not UTF-8": (safetensors_bytes(b'{"\xff": 1}'), "not valid JSON"),
    "NaN": (safetensors_bytes(b'{"a": NaN}'), "not valid JSON (NaN is not JSON)"),
    "deep": (safetensors_bytes(b"[" * 100_000), "not valid JSON (nested too deep)"),
    "long number": (safetensors_bytes(b'{"a": ' + b"9" * 5000 + b"}"), "not valid JSON"),
    "list": (safetensors_bytes(b"[]"), "the header is a list"),
    "name twice": (
        safetensors_bytes(b'{"a":%s,"a":%s}' % ((json.dumps(F32_PAIR).encode(),) * 2), bytes(8)),
        "'a' stands there twice",
    ),
    "key twice": (
        safetensors_bytes(b'{"a":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}}', bytes(8)),
        "'shape' stands there twice",
    ),
    "metadata": (safetensors_bytes({"__metadata__": {"a": 1}}), "__metadata__"),
    "no offsets": (safetensors_bytes({"a": {"dtype": "F32", "shape": [2]}}, bytes(8)), "tensor 'a' has no dtype"),
    "entry is a list": (safetensors_bytes({"a": ["F32", [2], [0, 8]]}, bytes(8)), "tensor 'a' has no dtype"),
    "unknown dtype": (safetensors_bytes(one_tensor(dtype="Q4"), bytes(8)), "unknown dtype Q4"),
    "dtype is a number": (safetensors_bytes(one_tensor(dtype=4), bytes(8)), "unknown dtype 4"),
    "negative shape": (safetensors_bytes(one_tensor(shape=[-2]), bytes(8)), "shape [-2]; expected whole numbers"),
    "two negatives": (safetensors_bytes(one_tensor(shape=[-2, -1]), bytes(8)), "expected whole numbers"),
    "float shape": (safetensors_bytes(one_tensor(shape=[2.0]), bytes(8)), "shape [2.0]; expected whole numbers"),
    "true shape": (safetensors_bytes(one_tensor(shape=[True, 2]), bytes(8)), "expected whole numbers"),
    "shape ≠ bytes": (
        safetensors_bytes(one_tensor(shape=[3]), bytes(8)),
        "shape [3] in F32 needs 12 bytes, offsets span 8",
    ),
    "10^15 elements, no room": (
        safetensors_bytes(one_tensor(shape=[10**15]), bytes(8)),
        "needs 4,000,000,000,000,000 bytes, offsets span 8",
    ),
    "10^15 elements, room claimed": (safetensors_bytes({"a": HUGE}, bytes(8)), "3,999,999,999,999,992 too few"),
    "more than any file": (safetensors_bytes(one_tensor(shape=[2**62] * 64), bytes(8)), "far more bytes"),
    "backward offsets": (safetensors_bytes(one_tensor(data_offsets=[8, 0]), bytes(8)), "data_offsets [8, 0]"),
    "three offsets": (safetensors_bytes(one_tensor(data_offsets=[0, 4, 8]), bytes(8)), "data_offsets"),
    "overlap": (
        safetensors_bytes({**one_tensor("a"), **one_tensor("b", data_offsets=[4, 12])}, bytes(12)),
        "tensors 'a' and 'b' overlap",
    ),
    "same place": (safetensors_bytes({**one_tensor("a"), **one_tensor("b")}, bytes(8)), "tensors 'a' and 'b' overlap"),
    "hole": (safetensors_bytes(one_tensor(data_offsets=[4, 12]), bytes(12)), "belong to no tensor"),
    "left over": (safetensors_bytes(one_tensor(), bytes(9)), "the last tensor ends at byte"),
    "cut off": (safetensors_bytes(one_tensor(), bytes(0)), "8 too few"),
}  # fmt: skip
