"""Tensors in other forms than those of the converted models, and what can't be read."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.formula import weights
from helpers.gguf_files import LLAMA, Stored, write_gguf

from glasscli.checkpoint.gguf.checkpoint import GGUF
from glasscli.errors import CheckpointError


def block(tmp_path: Path, tensors: dict[str, Any], architecture: str = "llama", **more: Any) -> GGUF:
    metadata = {key.replace("llama", architecture): value for key, value in LLAMA.items()}
    metadata |= {"general.architecture": architecture} | {f"{architecture}.{key}": v for key, v in more.items()}
    return GGUF(write_gguf(tmp_path / "m.gguf", metadata, tensors))


def read_all(checkpoint: GGUF) -> dict[str, np.ndarray[Any, Any]]:
    return {info.name: checkpoint.read(info) for info in checkpoint.tensors()}


def test_q_k_and_v_that_a_converter_fused(tmp_path: Path) -> None:
    """Llama: 4 query heads and 2 key/value heads of 2 turn neighbours, which are the halves of a head."""
    fused = weights("fused", (16, 8))
    found = read_all(block(tmp_path, {"blk.0.attn_qkv.weight": fused, "blk.1.attn_qkv.bias": fused[:, 0].copy()}))
    q, k, v = (found[f"model.layers.0.self_attn.{part}_proj.weight"] for part in "qkv")
    np.testing.assert_array_equal(np.concatenate([q, k, v]), fused)  # of 2 dimensions, halves are neighbours
    assert found["model.layers.1.self_attn.k_proj.bias"].tolist() == fused[8:12, 0].tolist()
    wide = weights("wide", (32, 8))
    found = read_all(block(tmp_path, {"blk.0.attn_qkv.weight": wide}, **{"attention.key_length": 4}))
    np.testing.assert_array_equal(found["model.layers.0.self_attn.q_proj.weight"][:4], wide[[0, 2, 1, 3]])
    np.testing.assert_array_equal(found["model.layers.0.self_attn.k_proj.weight"][4:], wide[[20, 22, 21, 23]])
    np.testing.assert_array_equal(found["model.layers.0.self_attn.v_proj.weight"], wide[24:])


def test_q_k_and_v_that_hugging_face_has_in_one(tmp_path: Path) -> None:
    parts = {"q": weights("q", (8, 8)), "k": weights("k", (4, 8)).astype(np.float16), "v": weights("v", (4, 8))}
    checkpoint = block(tmp_path, {f"blk.0.attn_{part}.weight": array for part, array in parts.items()}, "phi3")
    (info,) = checkpoint.tensors()
    assert (info.name, info.shape, info.n_bytes) == (
        "model.layers.0.self_attn.qkv_proj.weight",
        (16, 8),
        256 + 64 + 128,
    )
    np.testing.assert_array_equal(checkpoint.read(info), np.concatenate(list(parts.values())))


def test_norms_a_head_each(tmp_path: Path) -> None:
    norms = weights("norms", (4, 2))
    found = read_all(block(tmp_path, {"blk.1.attn_q_norm.weight": norms}, "stablelm"))
    assert list(found) == [f"model.layers.1.self_attn.q_layernorm.norms.{head}.weight" for head in range(4)]
    np.testing.assert_array_equal(np.stack(list(found.values())), norms)


def test_what_has_no_name_keeps_the_one_it_has(tmp_path: Path) -> None:
    strange = {"blk.0.new.weight": np.ones(3, np.float32), "blk.7.attn_q.weight": np.ones(3, np.float32),
               "rope_freqs.weight": np.ones(1, np.float32)}  # fmt: skip
    assert list(read_all(block(tmp_path, strange))) == ["blk.0.new.weight", "blk.7.attn_q.weight"]


def test_rows_that_are_not_those_of_the_heads(tmp_path: Path) -> None:
    for name, shape in (("attn_q", (9, 8)), ("attn_qkv", (15, 8)), ("attn_k", ())):
        with pytest.raises(CheckpointError, match="heads"):
            block(tmp_path, {f"blk.0.{name}.weight": np.ones(shape, np.float32)}).tensors()
    parts = {"blk.0.attn_q.weight": np.ones((8, 8), np.float32), "blk.0.attn_k.weight": np.ones((4, 4), np.float32)}
    with pytest.raises(CheckpointError, match="not equally long"):
        block(tmp_path, parts, "phi3").tensors()


def test_numbers_that_are_none_are_named(tmp_path: Path) -> None:
    array = np.ones((3, 4), np.float32)
    array[1, 2] = np.nan
    checkpoint = block(tmp_path, {"blk.0.ffn_up.weight": array})
    with pytest.raises(CheckpointError, match=r"blk.0.ffn_up.weight holds .* the first nan in row 1"):
        read_all(checkpoint)
    endless = Stored(b"\x00\x7c" + bytes(32), (1, 32), 8)  # a scale of infinity
    with pytest.raises(CheckpointError, match="the first nan in row 0"):
        read_all(block(tmp_path, {"blk.0.ffn_up.weight": endless}))


def test_types_that_are_not_read_are_named(tmp_path: Path) -> None:
    checkpoint = block(tmp_path, {"blk.0.ffn_up.weight": Stored(bytes(66), (1, 256), 16)})
    assert [info.dtype for info in checkpoint.tensors()] == ["IQ2_XXS"]
    with pytest.raises(CheckpointError, match="is IQ2_XXS; glass reads F32, F16"):
        read_all(checkpoint)


def test_vectors_in_blocks_and_nothing_at_all(tmp_path: Path) -> None:
    vector = Stored(np.float16(0.5).tobytes() + bytes(range(32)), (32,), 8)
    found = read_all(
        block(tmp_path, {"blk.0.attn_norm.weight": vector, "blk.0.ffn_norm.weight": np.ones((0, 3), np.float32)})
    )
    assert found["model.layers.0.input_layernorm.weight"].tolist() == [i / 2 for i in range(32)]
    assert found["model.layers.0.post_attention_layernorm.weight"].shape == (0, 3)


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    checkpoint = block(tmp_path, {"blk.0.ffn_up.weight": np.ones((3, 4), np.float32)})
    infos = checkpoint.tensors()
    data = checkpoint.path.read_bytes()
    checkpoint.path.write_bytes(data[:-5])
    with pytest.raises(CheckpointError, match="did it change"):
        checkpoint.read(infos[0])
    checkpoint.path.unlink()
    with pytest.raises(CheckpointError, match="can't be read"):
        checkpoint.read(infos[0])


@pytest.mark.parametrize(
    ("kind", "n_numbers", "n_bytes"), [(0, 1, 4), (1, 1, 2), (8, 32, 34), (12, 256, 144), (14, 256, 210)]
)
@pytest.mark.parametrize("name", ["attn_q", "ffn_up"])
def test_reading_holds_the_result_and_no_second_copy(
    name: str, kind: int, n_numbers: int, n_bytes: int, tmp_path: Path
) -> None:
    """Of the 16 MiB tensor's stored bytes, and of rows that are put back in order, some at a time."""
    rows, columns = 4096, 1024
    stored = Stored(bytes(rows * columns // n_numbers * n_bytes), (rows, columns), kind)
    (tmp_path / "warm").mkdir()
    read_all(block(tmp_path / "warm", {f"blk.0.{name}.weight": Stored(bytes(n_bytes * 8), (8, n_numbers), kind)}))
    checkpoint = block(tmp_path, {f"blk.0.{name}.weight": stored})
    infos = checkpoint.tensors()
    tracemalloc.start()
    found = checkpoint.read(infos[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.shape == (rows, columns)
    assert found.nbytes <= peak <= found.nbytes + len(stored.data)
