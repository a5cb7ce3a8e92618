"""Weights in several files, and what an index may not say."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.damaged_weights import LFS, MakeFolder, load, refused, shard, write_index
from safetensors.numpy import load_file, save_file

from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.checkpoint.shards import weight_files


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
    assert open_checkpoint(tiny_model_folder).weights_hash() == sha256(data).hexdigest()


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
