"""Hugging Face's download cache, laid out by hand as huggingface_hub does it."""

import hashlib
import os
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def put_in_cache(cache: Path, repo: str, folder: Path, commit: str = COMMIT, *, main: bool = True) -> Path:
    """The snapshot of a model in `cache` whose files are those of `folder`, as links to blobs."""
    home = cache / f"models--{repo.replace('/', '--')}"
    snapshot = home / "snapshots" / commit
    (home / "blobs").mkdir(parents=True, exist_ok=True)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        blob = home / "blobs" / hashlib.sha256(data).hexdigest()
        blob.write_bytes(data)
        link = snapshot / path.relative_to(folder)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    if main:
        (home / "refs").mkdir(exist_ok=True)
        (home / "refs" / "main").write_text(commit)
    return snapshot


def share_blobs(cache: Path, snapshot: Path) -> None:
    """Move a snapshot's blobs to where models share them, and leave links in their place."""
    for blob in (snapshot.parent.parent / "blobs").iterdir():
        shared = cache / "blobs" / blob.name[:2] / blob.name
        shared.parent.mkdir(parents=True, exist_ok=True)
        blob.rename(shared)
        blob.symlink_to(os.path.relpath(shared, blob.parent))
