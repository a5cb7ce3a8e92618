"""Weights to the byte: what the headers of a model's files say that an engine loads, without reading their numbers.

Not loaded are copies of what a config says already (rotary frequencies), the head's own matrix where the head is the
embedding, and layers past the model's last, which only draft tokens. Of a GGUF llama.cpp keeps the embedding in the
machine's memory, unless it is the head too.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glasscli.checkpoint.safetensors_file import TensorInfo


LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.")
BLOCK = re.compile(r"^blk\.(\d+)\.")
DRAFT = re.compile(r"(?:^|\.)mtp\.")
TOWER = re.compile(r"vis|image|audio|encoder")
GGUF_EMBEDDING, GGUF_HEAD = "token_embd.weight", "output.weight"


@dataclass(frozen=True)
class Files:
    """The tensors of a model's files.

    Attributes:
        tensors: those that an engine loads.
        n_files: how many files hold them.
        left_out: bytes of the tensors that are not loaded, for drafts, copies and the like.
        gguf: whether they are a GGUF's.
    """

    tensors: "tuple[TensorInfo, ...]"
    n_files: int
    left_out: int
    gguf: bool

    @property
    def n_bytes(self) -> int:
        """What is loaded, on no more than one device."""
        return sum(info.n_bytes for info in self.tensors)

    def stages(self, counts: Iterable[int]) -> tuple[int, ...]:
        """A GGUF's bytes by stages of so many layers: each its blocks, the last the head too."""
        ends, end = [], 0
        for count in counts:
            end += count
            ends.append(end)
        held = [0] * len(ends)
        for info in self.tensors:
            found = BLOCK.match(info.name)
            place = len(ends) - 1
            if found is not None:
                place = next((stage for stage, end in enumerate(ends) if int(found[1]) < end), place)
            held[place] += info.n_bytes
        return tuple(held)


def files_at(where: Path, config: Mapping[str, Any], n_layers: int) -> Files | None:
    """What the files at `where` hold: a folder with safetensors, or a GGUF; None where there are no weights.

    Raises CheckpointError for files that are damaged or contradict each other.
    """
    from glasscli.checkpoint.gguf.header import is_gguf
    from glasscli.checkpoint.gguf.parts import read_model
    from glasscli.checkpoint.shards import FOLLOWS_FROM_CONFIG, INDEX, SINGLE, list_tensors

    if is_gguf(where):
        header, parts = read_model(where)
        return chosen(
            tuple(header.tensors.values()), len(parts), lambda name: not on_device(name, header.tensors), True
        )
    if not where.is_dir() or not any((where / name).is_file() for name in (SINGLE, INDEX)):
        return None
    tensors = tuple(list_tensors(where))
    tied = config.get("tie_word_embeddings") is True
    return chosen(
        tensors,
        len({info.file for info in tensors}),
        lambda name: (
            drafts(name, n_layers) or name.endswith(FOLLOWS_FROM_CONFIG) or (tied and name.endswith("lm_head.weight"))
        ),
        False,
    )


def chosen(tensors: "Sequence[TensorInfo]", n_files: int, leave: Callable[[str], bool], gguf: bool) -> Files:
    """The tensors but those to `leave`."""
    kept = tuple(info for info in tensors if not leave(info.name))
    left_out = sum(info.n_bytes for info in tensors) - sum(info.n_bytes for info in kept)
    return Files(kept, n_files, left_out, gguf)


def drafts(name: str, n_layers: int) -> bool:
    """Whether a tensor of a safetensors file only drafts tokens."""
    if DRAFT.search(name):
        return True
    layer = LAYER.search(name)
    return layer is not None and int(layer[1]) >= n_layers and not TOWER.search(name)


def on_device(name: str, tensors: "Mapping[str, TensorInfo]") -> bool:
    """Whether llama.cpp puts a tensor on a GPU when it puts all layers there."""
    return name != GGUF_EMBEDDING or GGUF_HEAD not in tensors
