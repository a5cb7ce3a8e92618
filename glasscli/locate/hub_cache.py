"""Hugging Face's download cache, read without a network and without the package that writes it.

    HF_HUB_CACHE/models--org--name/refs/main            the commit that was `main` when it was last asked for
    HF_HUB_CACHE/models--org--name/snapshots/COMMIT/    a folder a revision; its files are links to
    HF_HUB_CACHE/models--org--name/blobs/               … which may in turn be links to HF_HUB_CACHE/blobs/

A name leads nowhere else: a folder of the cache that is really somewhere else is refused. What the links inside a
snapshot may lead to is `untrusted_files`' rule.

Source: huggingface_hub's guide "Understand caching", and its constants for the variables.
"""

import os
from pathlib import Path

from glasscli.errors import CheckpointError
from glasscli.locate.hub_name import HubName
from glasscli.locate.need import Need, serving
from glasscli.untrusted_files import file_inside, is_plain_name, read_limited, snapshot_of

REPO_PREFIX = "models--"
_REF_LIMIT = 1024  # bytes; a commit has 40


def cache_folder() -> Path:
    """Where Hugging Face's programs keep what they downloaded: HF_HUB_CACHE, else HF_HOME/hub, else the usual place."""
    home = os.environ.get("HF_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if found := os.environ.get(variable):
            return _expanded(found)
    return _expanded(home) / "hub"


def _expanded(text: str) -> Path:
    return Path(os.path.expandvars(os.path.expanduser(text)))


def cached_repos() -> list[str]:
    """The names of all models of which the cache holds anything."""
    try:
        found = sorted(path.name for path in cache_folder().glob(f"{REPO_PREFIX}*"))
    except OSError:
        return []
    return [name.removeprefix(REPO_PREFIX).replace("--", "/", 1) for name in found]


def cached_snapshot(repo: str) -> Path | None:
    """The folder of a model in the cache: of the commit that `main` was, else of the only one there is.

    Raises:
        CheckpointError: there are several and none is `main`, or the folder is a link out of the cache.
    """
    folder = cache_folder() / (REPO_PREFIX + repo.replace("/", "--"))
    if not os.path.lexists(folder):
        return None
    try:
        found = sorted(path.name for path in (folder / "snapshots").iterdir())
    except OSError:
        return None
    main = _main(folder)
    commits = [main] if main in found else found
    if len(commits) > 1:
        raise CheckpointError(
            f"{folder}: holds {len(commits)} revisions of {repo}, and no refs/main says which; name the folder of one"
        )
    return _inside(folder / "snapshots" / commits[0]) if commits else None


def in_cache(name: HubName, need: Need) -> Path | None:
    """What the cache holds of a model, if that serves the need: its folder, or a GGUF.

    Raises:
        CheckpointError: there are several to choose from, or it leads out of the cache.
    """
    snapshot = cached_snapshot(name.repo)
    if snapshot is None:
        return None
    path = snapshot / name.file if name.file else serving(snapshot, need, name.repo)
    if path is None or path == snapshot:
        return path
    return file_inside(path.parent, path.name) if os.path.lexists(path) else None


def _main(folder: Path) -> str:
    """The commit in refs/main; empty if there is none."""
    if not os.path.lexists(folder / "refs" / "main"):
        return ""
    text = read_limited(file_inside(folder / "refs", "main"), _REF_LIMIT).decode("utf-8", "replace").strip()
    return text if is_plain_name(text) else ""


def _inside(snapshot: Path) -> Path:
    """`snapshot`, seen to be a folder of the cache and no link to another."""
    try:
        home = cache_folder().resolve(strict=True)
        real = snapshot.resolve(strict=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        raise CheckpointError(f"{snapshot}: can't be opened ({getattr(error, 'strerror', None) or error})") from None
    if real != home / snapshot.relative_to(cache_folder()):
        raise CheckpointError(f"{snapshot}: is a link out of Hugging Face's cache, which glass does not follow")
    return snapshot


def repo_of(path: Path) -> str | None:
    """What the hub calls a model whose folder or file in the cache is `path`; None for any other path."""
    snapshot = snapshot_of(path)
    if snapshot is None or not snapshot.parent.parent.name.startswith(REPO_PREFIX):
        return None
    repo = snapshot.parent.parent.name.removeprefix(REPO_PREFIX).replace("--", "/")
    return repo if snapshot == path else f"{repo}/{path.relative_to(snapshot)}"
