"""From what a user types to where the model lies: the one place that says what a name means."""

import re
from collections.abc import Callable
from pathlib import Path

from glasscli.errors import CheckpointError, UsageError
from glasscli.likeness import did_you_mean
from glasscli.locate.hub_cache import cache_folder, cached_repos, cached_snapshot, in_cache
from glasscli.locate.hub_name import PREFIX, HubName, hub_name
from glasscli.locate.need import Need
from glasscli.locate.shipped import SHIPPED, shipped_folder
from glasscli.progress import Progress
from glasscli.untrusted_files import quoted

LINK = re.compile(r"https?://[^/]+/([\w.-]+/[\w.-]+)")


class NotFoundError(CheckpointError):
    """Nothing on this machine is called so. The message says how to get it."""


def locate(
    model: str | Path | None,
    need: Need = Need.model,
    progress: Progress | None = None,
    check: Callable[[Path], object] = bool,
) -> Path:
    """The folder or file of a model.

    In this order: a path that exists; `glass-1m`, the shipped model; `org/name` in Hugging Face's cache, also as
    `org/name/FILE.gguf`. With `hf:` in front the hub is asked for it, and what is missing is downloaded: nothing else
    leads to a network. A path that does not exist and can be no name is given back: whoever opens it says so.

    Args:
        model: what the user calls it; a `Path` is always a path, None the shipped model.
        need: what it is wanted for: what is in the cache must serve that, and no more is downloaded.
        progress: told how far a download is.
        check: is given a folder with config.json before its weights are downloaded, to refuse it in time.

    Raises:
        NotFoundError: it could be a name, and there is nothing of that name.
        UsageError: an empty name, a link, or `hf:` with what is no name.
        CheckpointError: the cache holds several to choose from, or leads out of itself; or a download failed.
    """
    if model is None or (model == SHIPPED and not _exists(model)):
        return shipped_folder()
    if model == "":
        raise UsageError("the name of the model is empty")
    if isinstance(model, Path) or _exists(model):
        return Path(model)
    name = hub_name(model)
    if name is None:
        if link := LINK.match(model):
            raise UsageError(f"{quoted(model)} is a link; {PREFIX}{link[1]} is the name of that model")
        if model.startswith(PREFIX):
            raise UsageError(f"{quoted(model)}: expected hf:org/name, or hf:org/name/FILE.gguf")
        return Path(model)
    if name.download:
        from glasscli.locate.download import download

        return download(name, need, progress or Progress(), check)
    found = in_cache(name, need)
    if found is None:
        raise NotFoundError(absent(name))
    return found


def absent(name: HubName) -> str:
    """What to say of a name that leads nowhere: how to get the model."""
    near = did_you_mean(name.repo, [SHIPPED, *cached_repos()])
    if "/" not in name.repo:
        return (
            f"{name}: does not exist. {near or f'{SHIPPED} is the model that comes with glass;'} "
            f"{PREFIX}org/name is fetched from the Hugging Face hub"
        )
    snapshot = cached_snapshot(name.repo)
    what = "does not hold it" if snapshot is None else "does not hold all of it"
    said = f"{name}: does not exist, and Hugging Face's cache ({cache_folder()}) {what}. {PREFIX}{name} downloads it"
    return f"{said}. {near}" if near and snapshot is None else said


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long a name, a NUL in it
        return False
