"""Folders from strangers: other formats, links, pipes; nothing outside is read."""

import os
from pathlib import Path

import pytest
from helpers.damaged_weights import MakeFolder, load, refused
from helpers.model_folders import write_folder
from helpers.random_llama import settings, shapes

from glasscli.checkpoint.shards import list_tensors
from glasscli.errors import CheckpointError
from glasscli.untrusted_files import disguise


@pytest.mark.parametrize(
    ("present", "said"),
    [
        ("pytorch_model.bin", "only pytorch_model.bin. glass reads safetensors"),
        ("pytorch_model.bin.index.json", "only pytorch_model.bin. glass reads safetensors"),
        ("model-q4.gguf", "only GGUF. Name the file itself"),
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


def test_a_download_cache_leads_to_its_blobs_and_nowhere_else(tmp_path: Path) -> None:
    repo = tmp_path / "models--someone--llama"
    snapshot = write_folder(repo / "snapshots" / "0123abc")
    (repo / "refs").mkdir()
    secret = repo / "refs" / "main"
    (snapshot / "model.safetensors").rename(secret)
    (snapshot / "model.safetensors").symlink_to(secret)
    assert "link to a file outside" in refused(snapshot)


@pytest.mark.parametrize("magic", [b"\x1f\x8b\x08\x00", b"BZh9", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd\x04"])
def test_a_compressed_file_is_called_one(magic: bytes) -> None:
    """gzip, bzip2, xz and zstandard, by the numbers their formats begin with."""
    assert disguise(magic + bytes(100), 104) == "is compressed; unpack it first"
