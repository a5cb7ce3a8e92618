"""The Hugging Face hub as the huggingface_hub package reaches it: files and what exists, its errors in our words.

The package comes with tokenizers. It decides where from, with which token and whether at all (HF_ENDPOINT, HF_TOKEN,
HF_HUB_OFFLINE), keeps the cache, and checks that a file is whole. Nothing else in glass uses a network.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

from glasscli.errors import CheckpointError
from glasscli.progress import Progress
from glasscli.untrusted_files import plain

SILENT = "HF_HUB_DISABLE_TELEMETRY"


class NotOnHubError(CheckpointError):
    """The model is there, and has no such file."""


class UnreachableError(CheckpointError):
    """No answer, or none that makes sense."""


def is_offline() -> bool:
    """Whether the user said that there is no network (HF_HUB_OFFLINE)."""
    return bool(_package().constants.HF_HUB_OFFLINE)


def commit_of(repo: str, file: str) -> str:
    """The commit that `main` is now, if it has the file.

    Raises:
        NotOnHubError: it has not.
        UnreachableError: there is no answer.
        CheckpointError: no such model, or one that this user may not see.
    """
    hub = _package()
    with _our_errors(repo, file):
        found = hub.get_hf_file_metadata(hub.hf_hub_url(repo, file))
    if not found.commit_hash:
        raise UnreachableError(f"{repo}: {_endpoint()} does not answer as a Hugging Face hub does")
    return str(found.commit_hash)


def fetch(repo: str, file: str, commit: str | None, progress: Progress) -> Path:
    """A file in the cache, downloaded if it is not there; of `main` if no commit is named.

    Raises:
        NotOnHubError, UnreachableError, CheckpointError: as `commit_of`; or the download broke off, or does not fit.
    """
    hub = _package()
    with _our_errors(repo, file, sent=True):
        try:
            own = "tqdm_class" in signature(hub.hf_hub_download).parameters  # before 1.0 it shows a bar of its own
            bar = {"tqdm_class": _bar(file, progress)} if own else {}
            return Path(hub.hf_hub_download(repo, file, revision=commit, **bar))
        finally:
            progress.over()


def list_files(repo: str) -> list[str]:
    """The names of all files of a model, folders included in them.

    Raises:
        UnreachableError, CheckpointError: as `commit_of`.
    """
    with _our_errors(repo, ""):
        return [sibling.rfilename for sibling in _package().HfApi().model_info(repo).siblings or ()]


def _package() -> Any:
    """huggingface_hub, which at its first import is told to count nothing: the user agreed to a download alone."""
    if "huggingface_hub" not in sys.modules and SILENT not in os.environ:
        os.environ[SILENT] = "1"
        try:
            return _package()
        finally:
            del os.environ[SILENT]
    try:
        import huggingface_hub
        import huggingface_hub.constants
        import huggingface_hub.utils
    except ImportError:
        raise CheckpointError("downloading needs the package huggingface_hub: pip install huggingface_hub") from None
    return huggingface_hub


def _endpoint() -> str:
    return plain(_package().constants.ENDPOINT)


def _bar(file: str, progress: Progress) -> type:
    """What the package tells its progress to: a class that makes one bar, or for a file in pieces two."""
    import io
    import threading

    from tqdm.std import tqdm

    made = []

    class Bar(tqdm):  # type: ignore[misc]
        monitor_interval = 0  # no thread of its own

        def __init__(self, *args: Any, **settings: Any) -> None:
            made.append(self)
            super().__init__(*args, **{**settings, "file": io.StringIO(), "leave": True, "disable": False})

        def display(self, *_: Any, **__: Any) -> None:
            if made[0] is self:
                progress.moved(file, int(self.n), self.total)

        def clear(self, *_: Any, **__: Any) -> None:
            pass

    Bar.set_lock(threading.RLock())
    return Bar


@contextmanager
def _our_errors(repo: str, file: str, sent: bool = False) -> Iterator[None]:
    """Whatever the package raises, as one of our errors that says what to do; its own warnings are not printed.

    Args:
        sent: whether the hub has answered before, so that silence is a download that broke off.
    """
    utils = _package().utils
    loud = utils.logging.get_verbosity()
    utils.logging.set_verbosity_error()
    try:
        yield
    except CheckpointError:
        raise
    except utils.LocalEntryNotFoundError as error:
        raise UnreachableError(
            f"{repo}: {_endpoint()} can't be reached ({_reason(error.__cause__ or error)})"
        ) from None
    except utils.EntryNotFoundError:
        raise NotOnHubError(f"{repo}: has no {file} on {_endpoint()}") from None
    except utils.GatedRepoError:
        raise CheckpointError(
            f"{repo}: is gated. Accept its conditions at {_endpoint()}/{repo}, and give a token of that account "
            "(HF_TOKEN, or: hf auth login)"
        ) from None
    except utils.RepositoryNotFoundError:
        raise CheckpointError(
            f"{repo}: {_endpoint()} has no such model, or it is private and needs a token (HF_TOKEN, or: hf auth login)"
        ) from None
    except Exception as error:
        raise _other(repo, file, error, sent) from None
    finally:
        utils.logging.set_verbosity(loud)


def _other(repo: str, file: str, error: Exception, sent: bool) -> CheckpointError:
    """An error without a class of its own: a status of HTTP, a broken download, a full disk."""
    what = f"{repo}/{file}" if file else repo
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status == 401:
        return CheckpointError(f"{repo}: {_endpoint()} refuses the token; see HF_TOKEN, or: hf auth login")
    if status == 404:
        return CheckpointError(f"{what}: {_endpoint()} has no such model or file")
    if status is not None:
        return UnreachableError(f"{what}: {_endpoint()} answers with the status {status}")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
        return CheckpointError(f"{what}: can't be written to Hugging Face's cache ({error.strerror})")
    if sent:
        return CheckpointError(f"{what}: the download broke off ({_reason(error)}). Run the same again")
    return UnreachableError(f"{what}: {_endpoint()} can't be reached ({_reason(error)})")


def _reason(error: BaseException) -> str:
    """The first line of an error, or its name where it says nothing."""
    return plain((str(error).strip() or type(error).__name__).splitlines()[0])
