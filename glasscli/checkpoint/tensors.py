"""A checkpoint to float32 tensors that fit a config: the last stop before the model.

It knows names and shapes, not which file is which nor what is done with the numbers. A folder from a
stranger can make it read nothing outside (see `folder`), run nothing, and take no more memory than: 2 times the
weight files (float16 becomes float32) and one tensor more, and 40 times the JSON texts, each of which is refused
past 16 MiB. The tests measure both.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from glasscli.checkpoint.checkpoint import Checkpoint
from glasscli.checkpoint.safetensors_file import TensorInfo
from glasscli.checkpoint.shards import FOLLOWS_FROM_CONFIG
from glasscli.config.architecture import Architecture
from glasscli.config.model_config import ModelConfig
from glasscli.config.tensor_shapes import expected_tensors, tensor_name
from glasscli.errors import CheckpointError, TensorTypeError
from glasscli.progress import Progress
from glasscli.untrusted_files import quoted, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Tensors(Mapping[str, "NDArray[np.float32]"]):
    """The tensors of a checkpoint by their names, each read from its file when it is asked for.

    Whoever builds a model from it holds the model and one tensor, never two models. Asking twice reads twice.

    Attributes:
        infos: what the headers say of each, by the architecture's names.
        not_finite: gets a sentence about each tensor that holds NaN or infinity; None refuses such a tensor.
    """

    def __init__(
        self, checkpoint: Checkpoint, infos: Mapping[str, TensorInfo], progress: Progress | None = None
    ) -> None:
        """`progress` is told how many bytes of all have been read."""
        self.checkpoint, self.infos = checkpoint, dict(infos)
        self.not_finite: list[str] | None = None
        self._progress = progress or Progress()
        self._done, self._total = 0, sum(info.n_bytes for info in self.infos.values())

    def __getitem__(self, name: str) -> "NDArray[np.float32]":
        """The tensor as a float32 array of its own.

        Raises:
            KeyError: the model has no such tensor.
            CheckpointError: it holds NaN or infinity, or the file changed.
        """
        self._progress.moved("loading", self._done, self._total)
        array = self.checkpoint.read(self.infos[name], self.not_finite)
        self._done += self.infos[name].n_bytes
        return array

    def __contains__(self, name: object) -> bool:
        return name in self.infos

    def __iter__(self) -> Iterator[str]:
        return iter(self.infos)

    def __len__(self) -> int:
        return len(self.infos)


def load_tensors(
    checkpoint: Checkpoint, config: ModelConfig, notes: list[str] | None = None, progress: Progress | None = None
) -> Tensors:
    """Every tensor that the model needs, checked against `config`; the numbers are read when asked for.

    The head is among them only if it differs from the embedding or `config` is not tied: without it, the
    embedding is the head. transformers decides alike: a tied config whose file holds both, different, is not tied.
    Where there is no head and the settings are silent, the embedding is the head too, as llama.cpp has it.

    Args:
        notes: gets a sentence for each thing worth telling that is no error (tensors that were not needed).
        progress: told how much has been read, whenever a tensor is asked for.

    Raises:
        CheckpointError: a file is missing, damaged or leads outside the folder; a tensor is missing or has another
            shape or dtype.
    """
    infos = _by_our_names(checkpoint.tensors(), config.architecture)
    needed = _needed(checkpoint, config, infos)
    if not config.tied and tensor_name(config, "head") not in needed and notes is not None:
        notes.append(
            f"the weights hold no {tensor_name(config, 'head')}, and {checkpoint.settings_name} does not say whether "
            "the head is tied: the embedding is taken for it"
        )
    extra = [name for name in infos if name not in needed and not name.endswith(FOLLOWS_FROM_CONFIG)]
    if config.tied and tensor_name(config, "head") in needed:
        _settle_head(checkpoint, config, needed, notes)
    if extra and notes is not None:
        some = ", ".join(quoted(name) for name in extra[:3]) + (", …" if len(extra) > 3 else "")
        notes.append(f"ignored {len(extra)} tensor{'s' * (len(extra) > 1)} that the model has no use for: {some}")
    return Tensors(checkpoint, needed, progress)


def _by_our_names(infos: Iterable[TensorInfo], row: Architecture) -> dict[str, TensorInfo]:
    """Tensors by the architecture's names, where a file has another, or leaves the prefix out throughout."""
    found = {_without(info.name, row.other_prefixes): info for info in infos}
    bare = row.prefix and not any(name.startswith(row.prefix) for name in found)
    head = row.names["head"] + ".weight"
    names = {name: row.prefix + name if bare and name != head else name for name in found} | dict(row.other_names)
    return {names[name]: info for name, info in found.items()}


def _without(name: str, prefixes: Mapping[str, str]) -> str:
    """The name with another beginning, if it has one of `prefixes`."""
    for theirs, ours in prefixes.items():
        if name.startswith(theirs):
            return ours + name.removeprefix(theirs)
    return name


def _needed(checkpoint: Checkpoint, config: ModelConfig, infos: Mapping[str, TensorInfo]) -> dict[str, TensorInfo]:
    """The tensors to read, checked against the config: present, of the right shape, of a dtype we read."""
    needed: dict[str, TensorInfo] = {}

    def check(name: str, shape: tuple[int, ...]) -> None:
        info = infos[name]
        if info.shape != shape:
            asked = f"{checkpoint.settings_name} asks for {list(shape)}"
            raise CheckpointError(f"{info.file}: {name} has shape {shown(list(info.shape))}, where {asked}")
        if info.dtype not in checkpoint.readable:
            raise TensorTypeError(f"{info.file}: {name} is {info.dtype}; glass reads {', '.join(checkpoint.readable)}")
        needed[name] = info

    head = tensor_name(config, "head")
    for role, name, shape, _ in expected_tensors(config):
        if name in infos:
            check(name, shape)
        elif not (role == "embedding" and config.tied and head in infos):
            if role == "head" and not config.tie_known:
                continue
            hint = (
                f"; {checkpoint.settings_name} says that the head is not tied to the embedding"
                if role == "head"
                else ""
            )
            raise CheckpointError(
                f"{checkpoint.path}: the weights lack {name}, expected with shape {list(shape)}{hint}"
            )
    if config.tied and head in infos:
        check(head, (config.vocab_size, config.dim))
    return needed


def _settle_head(
    checkpoint: Checkpoint, config: ModelConfig, needed: dict[str, TensorInfo], notes: list[str] | None
) -> None:
    """For a tied config with a head in the file: keep it only where it says something the embedding does not."""
    embedding, head = tensor_name(config, "embedding"), tensor_name(config, "head")
    if embedding not in needed:
        needed[embedding] = needed.pop(head)
    elif bool((checkpoint.read(needed[embedding]) == checkpoint.read(needed[head])).all()):
        del needed[head]
    elif notes is not None:
        notes.append(
            f"{head} differs from the embedding although {checkpoint.settings_name} ties them; it is used as it is"
        )
