"""One safetensors file: what each kind of damage is called, and files that go away while they are read."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.damaged_weights import DAMAGED, MakeFolder, load, one_tensor, refused, shard
from helpers.model_folders import safetensors_bytes

from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.checkpoint.safetensors_file import read_header
from glasscli.checkpoint.shards import list_tensors
from glasscli.checkpoint.tensors import load_tensors
from glasscli.config.model_config import load_config
from glasscli.errors import CheckpointError


def test_headers_alone_tell_names_types_and_sizes(tiny_model_folder: Path) -> None:
    infos = {info.name: info for info in list_tensors(tiny_model_folder)}
    info = infos["model.layers.1.self_attn.k_proj.weight"]
    assert (info.dtype, info.shape, info.n_bytes, info.n_elements) == ("F32", (16, 32), 2048, 512)
    start = (tiny_model_folder / "model.safetensors").read_bytes()[info.start : info.start + 4]
    assert np.frombuffer(start, "<f4")[0] == load(tiny_model_folder)[info.name][0, 0]


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


def test_files_that_may_not_be_read(make_model_folder: MakeFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_model_folder()
    sharded = shard(make_model_folder())
    config, loaded = load_config(folder), load(folder)

    def forbidden(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)
    for read in (
        lambda: load_tensors(open_checkpoint(folder), config),
        lambda: load_tensors(open_checkpoint(sharded), config),
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
