"""`hf:org/name`: which files of a model are fetched from the hub, and in which order.

A budget needs config.json alone; a GGUF is fetched whole, so for less than a run it must have been named. For running,
the small files come first, so that a model that glass can't run is refused before its weights are fetched. What the
cache has already is not fetched again.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

from glasscli.errors import CheckpointError
from glasscli.locate import hub
from glasscli.locate.hub_cache import in_cache
from glasscli.locate.hub_name import PREFIX, HubName
from glasscli.locate.need import Need, one_gguf
from glasscli.progress import Progress
from glasscli.untrusted_files import is_plain_name, read_limited

CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
INDEX = "model.safetensors.index.json"
QUANTIZATION = "hf_quant_config.json"  # what ModelOpt says of the cache, where config.json says nothing
BESIDE = ("generation_config.json", "tokenizer_config.json", "chat_template.jinja")
_PART = re.compile(r"-\d{5}-of-(\d{5})\.gguf$")
_MOST_PARTS = 1000


def download(name: HubName, need: Need, progress: Progress, check: Callable[[Path], object]) -> Path:
    """The folder or file in the cache, once it holds what is needed.

    Where the hub can't be reached, what the cache holds will do, with a note.

    Args:
        check: is given the folder before weights are fetched, and raises where they would be of no use.

    Raises:
        CheckpointError: there is no such model, it is not for this user, or the download broke off; the message says
            what to do.
    """
    if hub.is_offline():
        found = in_cache(name, need)
        if found is None:
            raise CheckpointError(f"{name}: is not in Hugging Face's cache, and HF_HUB_OFFLINE forbids to download it")
        return found
    try:
        return _gguf(name, progress) if name.file else _folder(name, need, progress, check)
    except hub.UnreachableError as error:
        found = in_cache(name, need)
        if found is None:
            raise
        progress.note(f"{error}; the copy in the cache is used")
        return found


def _folder(name: HubName, need: Need, progress: Progress, check: Callable[[Path], object]) -> Path:
    """A model in Hugging Face's layout, or the one GGUF that there is instead."""
    first = TOKENIZER if need is Need.tokenizer else CONFIG
    try:
        commit = hub.commit_of(name.repo, first)
    except hub.NotOnHubError:
        return _gguf_instead(name, need, progress)
    folder = hub.fetch(name.repo, first, None, progress).parent  # of main: the cache notes which commit that was
    files = _Files(name.repo, folder.name if folder.parent.name == "snapshots" else commit, progress)
    if need is Need.config:
        if "quantization_config" not in _json(folder / CONFIG):
            files.get_if_there(QUANTIZATION)
        return folder
    for file in BESIDE:
        files.get_if_there(file)
    if need is Need.tokenizer:
        return folder
    check(folder)
    files.get(TOKENIZER)
    if not files.get_if_there(WEIGHTS):
        if not files.get_if_there(INDEX):
            raise CheckpointError(_no_weights(name))
        for shard in _shards(folder / INDEX):
            files.get(shard)
    return folder


class _Files:
    """Fetches files of one commit."""

    def __init__(self, repo: str, commit: str, progress: Progress) -> None:
        self.repo, self.commit, self.progress = repo, commit, progress

    def get(self, file: str) -> Path:
        return hub.fetch(self.repo, file, self.commit, self.progress)

    def get_if_there(self, file: str) -> bool:
        try:
            self.get(file)
        except hub.NotOnHubError:
            return False
        return True


def _shards(index: Path) -> list[str]:
    """The files that an index names; whoever reads the model finds what is wrong with it."""
    placed = _json(index).get("weight_map")
    names = {name for name in placed.values() if isinstance(name, str)} if isinstance(placed, dict) else set()
    return sorted(name for name in names if is_plain_name(name) and name.endswith(".safetensors"))


def _json(path: Path) -> dict[str, object]:
    try:
        document = json.loads(read_limited(path))
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _no_weights(name: HubName) -> str:
    """Why there is nothing to run."""
    files = hub.list_files(name.repo)
    said = f"{name}: has no {WEIGHTS} on the hub"
    ggufs = [file for file in files if file.endswith(".gguf")]
    if ggufs:
        return f"{said}, but GGUF files; name one as {PREFIX}{name}/FILE, such as {PREFIX}{name}/{ggufs[0]}"
    others = [file for file in files if file.endswith((".bin", ".safetensors", ".pt", ".pth"))]
    return f"{said}, but {others[0]}, which glass does not read" if others else said


def _gguf_instead(name: HubName, need: Need, progress: Progress) -> Path:
    """Of a model without config.json: its only GGUF."""
    file = one_gguf(hub.list_files(name.repo), f"{PREFIX}{name}")
    if file is None:
        raise CheckpointError(f"{name}: has neither {need.value[0]} nor a GGUF file on the hub")
    if need is not Need.model and in_cache(HubName(name.repo, file), need) is None:
        raise CheckpointError(f"{name}: has no {need.value[0]} on the hub. {PREFIX}{name}/{file} downloads its GGUF")
    return _gguf(HubName(name.repo, file), progress)


def _gguf(name: HubName, progress: Progress) -> Path:
    """A GGUF file, and all parts of a split one."""
    path = hub.fetch(name.repo, name.file, None, progress)
    if part := _PART.search(name.file):
        stem = name.file[: part.start()]
        for i in range(1, min(int(part[1]), _MOST_PARTS) + 1):
            hub.fetch(name.repo, f"{stem}-{i:05}-of-{part[1]}.gguf", None, progress)
    return path
