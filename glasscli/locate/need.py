"""What a model is wanted for, and which file or folder of a snapshot serves that."""

import re
from enum import Enum
from pathlib import Path

from glasscli.errors import CheckpointError
from glasscli.untrusted_files import quoted

_LATER_PART = re.compile(r"-(?!00001)\d{5}-of-\d{5}\.gguf$")
_SHOWN = 4


class Need(Enum):
    """What a model is wanted for; the value is what its folder must hold something of, as patterns."""

    config = ("config.json",)
    tokenizer = ("tokenizer.json",)
    model = ("*.safetensors", "*.safetensors.index.json", "*.bin")


def serving(folder: Path, need: Need, name: str) -> Path | None:
    """`folder` itself, or the one GGUF in it where it holds nothing else; None if it holds neither.

    Raises:
        CheckpointError: there are several GGUF files to choose from.
    """
    if any(True for pattern in need.value for _ in folder.glob(pattern)):
        return folder
    names = [str(path.relative_to(folder)) for path in folder.rglob("*.gguf")]
    chosen = one_gguf(names, name)
    return folder / chosen if chosen else None


def one_gguf(names: list[str], name: str) -> str | None:
    """The GGUF among the files of a model; of a split one, its first part.

    Raises:
        CheckpointError: there are several.
    """
    found = sorted(file for file in names if file.endswith(".gguf") and not _LATER_PART.search(file))
    if len(found) > 1:
        some = ", ".join(map(quoted, found[:_SHOWN])) + (", …" if len(found) > _SHOWN else "")
        raise CheckpointError(f"{name}: holds {len(found)} GGUF files; name one as {name}/FILE: {some}")
    return found[0] if found else None
