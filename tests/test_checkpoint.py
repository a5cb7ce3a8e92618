"""Reading weights: what good folders give, and what each kind of damage is called."""

import json
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_folders import safetensors_bytes, write_bfloat16, write_folder
from random_llama import KINDS, settings, shapes
from safetensors.numpy import load_file, save_file

from glasscli.checkpoint import Tensors, expected_shapes, load_tensors
from glasscli.config import ModelConfig, load_config
from glasscli.errors import CheckpointError
from glasscli.shards import list_tensors, weight_files, weights_hash
from glasscli.weight_file import read_header

MakeFolder = Callable[..., Path]


def load(folder: Path, notes: list[str] | None = None) -> Tensors:
    return load_tensors(folder, load_config(folder), notes)


def refused(folder: Path) -> str:
    """What is said of a folder that must not load, in at most two lines."""
    with pytest.raises(CheckpointError) as caught:
        dict(load(folder))
    message = str(caught.value)
    assert len(message.splitlines()) <= 2
    assert message.isprintable() or message.replace("\n", "").isprintable()
    return message


# --- good folders -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_loads_as_the_safetensors_package_reads_it(kind: str, make_model_folder: MakeFolder) -> None:
    folder = make_model_folder(**KINDS[kind])
    loaded, file = load(folder), load_file(folder / "model.safetensors")
    assert set(loaded) == set(file)
    for name, array in loaded.items():
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, file[name])


@pytest.mark.parametrize("kind", KINDS)
def test_expected_shapes_are_those_of_the_written_model(kind: str) -> None:
    config = settings(**KINDS[kind])
    assert expected_shapes(ModelConfig.from_dict(config)) == shapes(config)


def test_float16_is_widened_exactly(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    halves = {name: array.astype(np.float16) for name, array in load(folder).items()}
    save_file(halves, folder / "model.safetensors")
    for name, array in load(folder).items():
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, halves[name].astype(np.float32))


def test_bfloat16_is_the_upper_half_of_float32(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    whole = dict(load(folder))
    write_bfloat16(folder / "model.safetensors", whole)
    for name, array in load(folder).items():
        cut = (whole[name].view(np.uint32) & 0xFFFF0000).view(np.float32)
        np.testing.assert_array_equal(array, cut)


@pytest.mark.parity
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_what_torch_writes_is_read_as_torch_reads_it(dtype: str, make_model_folder: MakeFolder) -> None:
    import torch
    from safetensors.torch import save_file as save_torch

    folder = make_model_folder()
    stored = {name: torch.from_numpy(array).to(getattr(torch, dtype)) for name, array in load(folder).items()}
    save_torch(stored, folder / "model.safetensors")
    for name, array in load(folder).items():
        np.testing.assert_array_equal(array, stored[name].float().numpy())


def test_shards_load_like_one_file(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    whole = dict(load(folder))
    shard(folder)
    assert [path.name for path in weight_files(folder)] == ["a.safetensors", "b.safetensors"]
    parts = load(folder)
    assert set(parts) == set(whole)
    for name, array in whole.items():
        np.testing.assert_array_equal(parts[name], array)


def test_hash_is_that_of_the_file(tiny_model_folder: Path) -> None:
    data = (tiny_model_folder / "model.safetensors").read_bytes()
    assert weights_hash(tiny_model_folder) == sha256(data).hexdigest()


def test_headers_alone_tell_names_types_and_sizes(tiny_model_folder: Path) -> None:
    infos = {info.name: info for info in list_tensors(tiny_model_folder)}
    info = infos["model.layers.1.self_attn.k_proj.weight"]
    assert (info.dtype, info.shape, info.n_bytes, info.n_elements) == ("F32", (16, 32), 2048, 512)
    start = (tiny_model_folder / "model.safetensors").read_bytes()[info.start : info.start + 4]
    assert np.frombuffer(start, "<f4")[0] == load(tiny_model_folder)[info.name][0, 0]


# --- the head ---------------------------------------------------------------------------------------------------


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change the tensors of a folder."""
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")
    return folder


def test_tied_head_in_the_file_and_equal_is_dropped(make_model_folder: MakeFolder) -> None:
    folder = rewrite(make_model_folder(), lambda w: w.update({"lm_head.weight": w["model.embed_tokens.weight"].copy()}))
    notes: list[str] = []
    assert "lm_head.weight" not in load(folder, notes)
    assert notes == []


def test_tied_head_in_the_file_and_different_is_used(make_model_folder: MakeFolder) -> None:
    folder = rewrite(make_model_folder(), lambda w: w.update({"lm_head.weight": w["model.embed_tokens.weight"] * 2}))
    notes: list[str] = []
    loaded = load(folder, notes)
    np.testing.assert_array_equal(loaded["lm_head.weight"], loaded["model.embed_tokens.weight"] * 2)
    assert len(notes) == 1
    assert "lm_head.weight differs" in notes[0]


def test_tied_head_alone_is_the_embedding(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    embedding = load(folder)["model.embed_tokens.weight"]
    rewrite(folder, lambda w: w.update({"lm_head.weight": w.pop("model.embed_tokens.weight")}))
    loaded = load(folder)
    assert "lm_head.weight" not in loaded
    np.testing.assert_array_equal(loaded["model.embed_tokens.weight"], embedding)


def test_untied_head_missing_is_named(make_model_folder: MakeFolder) -> None:
    folder = rewrite(make_model_folder(tie_word_embeddings=False), lambda w: w.pop("lm_head.weight"))
    message = refused(folder)
    assert "lack lm_head.weight" in message
    assert "[320, 32]" in message
    assert "not tied" in message


# --- tensors that don't fit -------------------------------------------------------------------------------------


def test_missing_tensor_is_named_with_its_shape(make_model_folder: MakeFolder) -> None:
    message = refused(rewrite(make_model_folder(), lambda w: w.pop("model.layers.2.mlp.up_proj.weight")))
    assert "lack model.layers.2.mlp.up_proj.weight, expected with shape [48, 32]" in message


def test_misshapen_tensor_is_named_with_both_shapes(make_model_folder: MakeFolder) -> None:
    name = "model.layers.0.self_attn.k_proj.weight"
    message = refused(rewrite(make_model_folder(), lambda w: w.update({name: np.zeros((32, 32), np.float32)})))
    assert f"{name} has shape [32, 32], where config.json asks for [16, 32]" in message


def test_transposed_tensor_does_not_pass_for_its_size(make_model_folder: MakeFolder) -> None:
    name = "model.layers.0.self_attn.k_proj.weight"
    message = refused(rewrite(make_model_folder(), lambda w: w.update({name: w[name].T.copy()})))
    assert "[32, 16], where config.json asks for [16, 32]" in message


def test_extra_tensors_are_ignored_with_a_note(make_model_folder: MakeFolder) -> None:
    hostile = "evil\x1b]52;c;AAAA\x07"
    folder = rewrite(make_model_folder(), lambda w: w.update({hostile: np.zeros(2, np.int8)}))
    notes: list[str] = []
    assert hostile not in load(folder, notes)
    assert len(notes) == 1
    assert notes[0].startswith("ignored 1 tensor that")
    assert notes[0].isprintable()


def test_rotary_frequencies_are_ignored_in_silence(make_model_folder: MakeFolder) -> None:
    name = "model.layers.0.self_attn.rotary_emb.inv_freq"
    notes: list[str] = []
    load(rewrite(make_model_folder(), lambda w: w.update({name: np.zeros(4, np.float32)})), notes)
    assert notes == []


@pytest.mark.parametrize(("dtype", "stored"), [("I8", np.int8), ("I64", np.int64), ("F64", np.float64)])
def test_other_types_are_refused_by_name(dtype: str, stored: Any, make_model_folder: MakeFolder) -> None:
    name = "model.norm.weight"
    message = refused(rewrite(make_model_folder(), lambda w: w.update({name: w[name].astype(stored)})))
    assert f"{name} is {dtype}; glass reads F32, F16, BF16" in message


@pytest.mark.parametrize("dtype", ["F8_E4M3", "F8_E5M2"])
def test_float8_is_refused_by_name(dtype: str, make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    header = one_tensor("model.norm.weight", dtype=dtype, shape=[32], data_offsets=[0, 32])
    split_off(folder, header, bytes(32))
    assert f"model.norm.weight is {dtype}; glass reads" in refused(folder)


@pytest.mark.parametrize(("bad", "word"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_weights_that_are_no_numbers_are_named(
    bad: float, word: str, dtype: Any, make_model_folder: MakeFolder
) -> None:
    def spoil(weights: dict[str, Any]) -> None:
        for name in weights:
            weights[name] = weights[name].astype(dtype)
        weights["model.layers.1.mlp.down_proj.weight"][3, 7] = bad

    message = refused(rewrite(make_model_folder(), spoil))
    assert (
        f"model.layers.1.mlp.down_proj.weight holds 1 value that is no finite number, the first {word} at [3, 7]"
        in message
    )


# --- files that are damaged, or something else ------------------------------------------------------------------

F32_PAIR = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 3700000\n"
HUGE = {"dtype": "F32", "shape": [10**6, 10**9], "data_offsets": [0, 4 * 10**15]}


def one_tensor(name: str = "a", **changes: Any) -> dict[str, Any]:
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


@pytest.mark.parametrize("damage", DAMAGED)
def test_each_damage_is_called_by_its_name(damage: str, make_model_folder: MakeFolder) -> None:
    data, said = DAMAGED[damage]
    folder = make_model_folder()
    (folder / "model.safetensors").write_bytes(data)
    assert said in refused(folder)


def test_no_two_damages_are_answered_alike() -> None:
    seven = ["empty", "git lfs", "web page", "cut off", "overlap", "shape ≠ bytes", "unknown dtype"]
    assert len({DAMAGED[damage][1] for damage in seven}) == 7


def test_truncated_by_eight_bytes(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    assert "8 too few" in refused(folder)


def test_hostile_names_are_escaped_and_cut(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(safetensors_bytes(one_tensor("\x1b[31m\n" + "x" * 10_000, dtype="\x1b[0m"), bytes(8)))
    with pytest.raises(CheckpointError) as caught:
        read_header(path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400 + len(str(path))


def test_a_header_past_the_limit_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(safetensors_bytes(b"{" + b" " * (17 << 20) + b"}"))
    with pytest.raises(CheckpointError, match="reads headers up to 16,777,216"):
        read_header(path)


# --- shards -----------------------------------------------------------------------------------------------------


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


def test_absent_shard_is_named(make_model_folder: MakeFolder) -> None:
    folder = shard(make_model_folder())
    (folder / "b.safetensors").unlink()
    message = refused(folder)
    assert "b.safetensors: there is no such file" in message
    assert "model.safetensors.index.json names it" in message


@pytest.mark.parametrize(
    "name", ["../x.safetensors", "/etc/passwd", "sub/a.safetensors", "..", "", "C:x\\y", "a\0b", "\x1b[0m", "x" * 300]
)
def test_shard_paths_are_refused(name: str, make_model_folder: MakeFolder) -> None:
    folder = shard(make_model_folder(), lambda placed: placed.update({"model.norm.weight": name}))
    if name == "../x.safetensors":  # a good file, were it followed
        (folder.parent / "x.safetensors").write_bytes((folder / "a.safetensors").read_bytes())
    assert "is not a plain file name" in refused(folder)


def test_shard_that_is_no_safetensors_is_refused(make_model_folder: MakeFolder) -> None:
    folder = shard(make_model_folder(), lambda placed: placed.update({"model.norm.weight": "config.json"}))
    assert "names 'config.json'" in refused(folder)


def test_tensor_in_two_shards_is_refused(make_model_folder: MakeFolder) -> None:
    folder = shard(make_model_folder())
    weights = load_file(folder / "b.safetensors")
    save_file({**weights, **load_file(folder / "a.safetensors")}, folder / "b.safetensors")
    assert "is in two files, a.safetensors and b.safetensors" in refused(folder)


def test_tensor_in_another_shard_than_the_index_says(make_model_folder: MakeFolder) -> None:
    folder = shard(make_model_folder(), lambda placed: placed.update({"model.norm.weight": "a.safetensors"}))
    (holder,) = [path.name for path in weight_files(folder) if "model.norm.weight" in load_file(path)]
    other = {"a.safetensors": "b.safetensors", "b.safetensors": "a.safetensors"}[holder]
    shard_of = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    write_index(folder, {"weight_map": {**shard_of, "model.norm.weight": other}})
    assert "'model.norm.weight', which model.safetensors.index.json does not place there" in refused(folder)


def test_tensor_that_no_shard_has(make_model_folder: MakeFolder) -> None:
    folder = shard(make_model_folder(), lambda placed: placed.update({"ghost": "a.safetensors"}))
    assert "has no tensor 'ghost', which" in refused(folder)


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ([], "has no weight_map"),
        ({}, "has no weight_map"),
        ({"weight_map": {}}, "has no weight_map"),
        ({"weight_map": {"a": 3}}, "has no weight_map"),
        ({"weight_map": ["a"]}, "has no weight_map"),
    ],
)
def test_broken_index(index: Any, said: str, make_model_folder: MakeFolder) -> None:
    folder = shard(make_model_folder())
    write_index(folder, index)
    assert said in refused(folder)


@pytest.mark.parametrize(("text", "said"), [("{", "not valid JSON"), ("[" * 100_000, "not valid JSON"), ("", "empty")])
def test_index_that_is_no_json(text: str, said: str, make_model_folder: MakeFolder) -> None:
    folder = shard(make_model_folder())
    (folder / "model.safetensors.index.json").write_text(text)
    assert said in refused(folder)


def test_damage_in_a_shard_names_the_shard(make_model_folder: MakeFolder) -> None:
    folder = shard(make_model_folder())
    (folder / "b.safetensors").write_bytes(LFS)
    assert "b.safetensors is a Git LFS pointer" in refused(folder)


# --- folders ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("present", "said"),
    [
        ("pytorch_model.bin", "only pytorch_model.bin. glass reads safetensors"),
        ("pytorch_model.bin.index.json", "only pytorch_model.bin. glass reads safetensors"),
        ("model-q4.gguf", "only GGUF. glass reads safetensors"),
        ("adapter.safetensors", "but 'adapter.safetensors'"),
        ("readme.md", "no model.safetensors and no model.safetensors.index.json"),
    ],
)
def test_other_formats_are_named(present: str, said: str, make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    (folder / "model.safetensors").unlink()
    (folder / present).write_bytes(b"x")
    assert said in refused(folder)


def test_no_folder_and_a_file_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    for path, said in ((tmp_path / "none", "does not exist"), (tmp_path / "file", "is a file")):
        with pytest.raises(CheckpointError, match=said):
            list_tensors(path)


def test_links_inside_the_folder_are_followed(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    (folder / "model.safetensors").rename(folder / "weights-2026.safetensors")
    (folder / "model.safetensors").symlink_to("weights-2026.safetensors")
    assert len(load(folder)) == len(shapes(settings()))


def test_links_out_of_the_folder_are_not_followed(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    outside = folder.parent / "outside.safetensors"
    (folder / "model.safetensors").rename(outside)
    (folder / "model.safetensors").symlink_to(outside)
    assert "link to a file outside" in refused(folder)


def test_download_cache_of_hugging_face_is_read(tmp_path: Path) -> None:
    repo = tmp_path / "models--someone--llama"
    snapshot = repo / "snapshots" / "0123abc"
    (repo / "blobs").mkdir(parents=True)
    write_folder(snapshot)
    for i, path in enumerate(sorted(snapshot.iterdir())):
        path.rename(repo / "blobs" / f"blob{i}")
        path.symlink_to(Path("../../blobs") / f"blob{i}")
    assert len(load(snapshot)) == len(shapes(settings()))

    secret = tmp_path / "secret"
    secret.write_bytes((repo / "blobs" / "blob1").read_bytes())
    (snapshot / "model.safetensors").unlink()
    (snapshot / "model.safetensors").symlink_to("../../../secret")
    assert "link to a file outside" in refused(snapshot)


def test_pipes_and_devices_are_not_opened(make_model_folder: MakeFolder) -> None:
    import os

    folder = make_model_folder()
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")  # opening it would wait for ever
    assert "is not a regular file" in refused(folder)


def test_loops_and_dead_ends_of_links(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("model.safetensors")
    assert "loop" in refused(folder) or "symbolic links" in refused(folder)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("nowhere")
    assert "there is no such file" in refused(folder)


# --- memory -----------------------------------------------------------------------------------------------------

MEMORY = """
import sys, tracemalloc
from pathlib import Path
import numpy as np
from glasscli.config import load_config
from glasscli.checkpoint import load_tensors
from glasscli.errors import GlassError
folder = Path(sys.argv[1])
config = load_config(folder)
tracemalloc.start()
try:
    kept = dict(load_tensors(folder, config))
    print(sum(array.nbytes for array in kept.values()), max(array.nbytes for array in kept.values()))
except GlassError as error:
    print(0, 0)
print(tracemalloc.get_traced_memory()[1])
"""


def peak(folder: Path) -> tuple[int, int, int]:
    """Bytes of all float32 tensors, of the largest, and of the peak while they were loaded."""
    result = subprocess.run(
        [sys.executable, "-c", MEMORY, str(folder)], capture_output=True, text=True, check=True
    ).stdout.split()
    total, largest, most = map(int, result)
    return total, largest, most


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_weights_are_never_held_twice(dtype: Any, make_model_folder: MakeFolder) -> None:
    folder = make_model_folder(hidden_size=256, intermediate_size=1024, num_hidden_layers=4, vocab_size=2000)
    rewrite(folder, lambda w: w.update({name: array.astype(dtype) for name, array in w.items()}))
    total, largest, most = peak(folder)
    assert total > 14 << 20
    assert most <= total + largest + (1 << 20)


@pytest.mark.parametrize("damage", ["10^15 elements, no room", "10^15 elements, room claimed", "absurd header"])
def test_claims_take_no_memory(damage: str, make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    (folder / "model.safetensors").write_bytes(DAMAGED[damage][0])
    assert peak(folder)[2] < 1 << 20


@pytest.mark.parametrize("unit", ["[],", '{"":0},', '"é",', "1e9,", '["a"],'])
def test_hostile_json_takes_a_bounded_multiple_of_its_size(unit: str, make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    header = ('{"a":[' + unit * (200_000 // len(unit)) + "0]}").encode()
    (folder / "model.safetensors").write_bytes(safetensors_bytes(header))
    assert peak(folder)[2] < 40 * len(header)


def test_a_config_that_claims_many_layers_takes_no_memory(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    text = (folder / "config.json").read_text().replace('"num_hidden_layers": 3', '"num_hidden_layers": 100000')
    (folder / "config.json").write_text(text)
    assert "lack model.layers.3.input_layernorm.weight" in refused(folder)
    assert peak(folder)[2] < 1 << 20


# --- files that go away or are forbidden --------------------------------------------------------------------------


def test_files_that_may_not_be_read(make_model_folder: MakeFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_model_folder()
    sharded = shard(make_model_folder())
    config, loaded = load_config(folder), load(folder)

    def forbidden(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)
    for read in (
        lambda: load_tensors(folder, config),
        lambda: load_tensors(sharded, config),
        lambda: loaded["model.norm.weight"],
    ):
        with pytest.raises(CheckpointError, match=r"can't be read \(Permission denied\)"):
            read()


def test_a_file_that_shrinks_while_it_is_read(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    loaded = load(folder)
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"ended while model\.norm\.weight was read"):
        loaded["model.norm.weight"]


def test_no_memory_for_a_tensor(make_model_folder: MakeFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise MemoryError

    loaded = load(make_model_folder())
    monkeypatch.setattr(np, "empty", full)
    with pytest.raises(CheckpointError, match=r"no memory for model\.norm\.weight \[32\] in float32"):
        loaded["model.norm.weight"]
