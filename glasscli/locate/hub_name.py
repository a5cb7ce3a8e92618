"""Names as the Hugging Face hub has them: `org/name`, one GGUF of many as `org/name/FILE.gguf`.

`hf:` in front asks for a download. Without it a name never leads to the network.
"""

import re
from dataclasses import dataclass

from glasscli.untrusted_files import is_plain_name

PREFIX = "hf:"
_PART = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")
_LONGEST = 96  # characters that the hub allows a name
_FILES = (".gguf", ".json", ".safetensors")


@dataclass(frozen=True)
class HubName:
    """A model on the hub.

    Attributes:
        repo: `org/name`, or a bare `name` of the hub's first years.
        file: which GGUF of it, with the folders it is in; empty for the model as such.
        download: whether the user asked for it to be fetched.
    """

    repo: str
    file: str = ""
    download: bool = False

    def __str__(self) -> str:
        return f"{self.repo}/{self.file}" if self.file else self.repo


def hub_name(text: str) -> HubName | None:
    """The name that `text` is, if it can be one; a file's name and most paths can't."""
    bare = text.removeprefix(PREFIX)
    parts = bare.split("/")
    names, inside = parts[:2], parts[2:]
    repo = "/".join(names)
    if len(repo) > _LONGEST or "--" in repo or ".." in repo or not all(_PART.fullmatch(part) for part in names):
        return None
    if names[-1].endswith(_FILES):
        return None
    if inside and not (all(is_plain_name(part) for part in inside) and inside[-1].endswith(".gguf")):
        return None
    return HubName(repo, "/".join(inside), bare != text)
