"""The download cache: where it is, which snapshot a name means, and that no link leads out of it."""

from pathlib import Path

import pytest
from helpers.hub_cache import COMMIT, put_in_cache, share_blobs
from helpers.random_llama import settings, shapes

from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.errors import CheckpointError
from glasscli.locate.hub_cache import cache_folder, cached_snapshot, repo_of

REPO = "someone/tiny-llama"
OTHER = COMMIT[::-1]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setenv("HF_HUB_CACHE", str(folder))
    return folder


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({}, "/home/ada/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
        ({"HF_HOME": "~/hf", "XDG_CACHE_HOME": "/x"}, "/home/ada/hf/hub"),
        ({"HF_HOME": "/hf", "HUGGINGFACE_HUB_CACHE": "/old"}, "/old"),
        ({"HF_HOME": "/hf", "HUGGINGFACE_HUB_CACHE": "/old", "HF_HUB_CACHE": "$HOME/c"}, "/home/ada/c"),
    ],
)
def test_the_place_is_that_of_hugging_face(
    variables: dict[str, str], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(place)


def test_main_decides_among_revisions(cache: Path, tiny_model_folder: Path) -> None:
    put_in_cache(cache, REPO, tiny_model_folder, OTHER)
    put_in_cache(cache, REPO, tiny_model_folder, COMMIT)
    found = cached_snapshot(REPO)
    assert found is not None
    assert found.name == COMMIT


def test_without_main_the_only_revision_is_meant(cache: Path, tiny_model_folder: Path) -> None:
    snapshot = put_in_cache(cache, REPO, tiny_model_folder, main=False)
    assert cached_snapshot(REPO) == snapshot
    put_in_cache(cache, REPO, tiny_model_folder, OTHER, main=False)
    with pytest.raises(CheckpointError, match="holds 2 revisions of someone/tiny-llama"):
        cached_snapshot(REPO)


def test_main_may_name_a_revision_that_was_never_fetched(cache: Path, tiny_model_folder: Path) -> None:
    """huggingface_hub writes it when a file was asked for and is not there."""
    snapshot = put_in_cache(cache, REPO, tiny_model_folder)
    (snapshot.parent.parent / "refs" / "main").write_text(OTHER)
    assert cached_snapshot(REPO) == snapshot


def test_nothing_there(cache: Path) -> None:
    assert cached_snapshot(REPO) is None
    (cache / "models--someone--tiny-llama").mkdir()
    assert cached_snapshot(REPO) is None


def test_links_inside_the_cache_are_followed(cache: Path, tiny_model_folder: Path) -> None:
    snapshot = put_in_cache(cache, REPO, tiny_model_folder)
    assert len(open_checkpoint(snapshot).tensors()) == len(shapes(settings()))
    share_blobs(cache, snapshot)
    assert len(open_checkpoint(snapshot).tensors()) == len(shapes(settings()))


def test_files_that_lead_out_are_refused(cache: Path, tiny_model_folder: Path) -> None:
    snapshot = put_in_cache(cache, REPO, tiny_model_folder)
    (snapshot / "model.safetensors").unlink()
    (snapshot / "model.safetensors").symlink_to(tiny_model_folder / "model.safetensors")
    with pytest.raises(CheckpointError, match="link to a file outside"):
        open_checkpoint(snapshot).tensors()


@pytest.mark.parametrize("which", ["snapshot", "repo"])
def test_folders_that_lead_out_are_refused(which: str, cache: Path, tmp_path: Path, tiny_model_folder: Path) -> None:
    snapshot = put_in_cache(cache, REPO, tiny_model_folder)
    folder = snapshot if which == "snapshot" else snapshot.parent.parent
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match="link out of Hugging Face's cache"):
        cached_snapshot(REPO)


def test_the_cache_itself_may_be_a_link(cache: Path, tmp_path: Path, tiny_model_folder: Path) -> None:
    put_in_cache(cache, REPO, tiny_model_folder)
    cache.rename(tmp_path / "big-disk")
    cache.symlink_to(tmp_path / "big-disk")
    found = cached_snapshot(REPO)
    assert found is not None
    assert len(open_checkpoint(found).tensors()) == len(shapes(settings()))


@pytest.mark.parametrize("text", ["../../../../etc", "..", "", "\x00", "a/b"])
def test_a_strange_main_leads_nowhere(text: str, cache: Path, tiny_model_folder: Path) -> None:
    snapshot = put_in_cache(cache, REPO, tiny_model_folder)
    (snapshot.parent.parent / "refs" / "main").write_text(text)
    assert cached_snapshot(REPO) == snapshot


def test_models_of_the_cache_have_the_name_of_the_hub(cache: Path, tiny_model_folder: Path) -> None:
    snapshot = put_in_cache(cache, REPO, tiny_model_folder)
    assert repo_of(snapshot) == open_checkpoint(snapshot).name == REPO
    assert repo_of(snapshot / "Q4" / "x.gguf") == f"{REPO}/Q4/x.gguf"
    assert repo_of(tiny_model_folder) is None
    assert repo_of(Path("/backups/snapshots/monday")) is None
