"""What can be told of a model that glass does not run: its kind, its layers, its tensors, its tokenizer, its files.

Reads headers, never numbers, and needs no NumPy.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.checkpoint.facts import TokenizerFacts, tokenizer_facts
from glasscli.checkpoint.safetensors_file import TensorInfo
from glasscli.config.families import layout
from glasscli.errors import CheckpointError, ConfigError, NotRunError, TensorTypeError, TokenizerError


@dataclass(frozen=True)
class Outline:
    """A folder of a model that glass does not run.

    Attributes:
        reason: why it does not.
        model_type, class_names: what config.json calls it.
        layers: how many layers there are of each kind of attention, the first layer's kind first; empty where glass
            has no rule for the config.
        tensors: as stored, in the order of the files; empty where the weights can't be read.
        tokenizer: None if it can't be read.
        files: name and bytes of each file that glass reads.
        notes: what could not be told, and why.
    """

    folder: Path
    reason: str
    model_type: str
    class_names: tuple[str, ...]
    layers: tuple[tuple[str, int], ...]
    tensors: tuple[TensorInfo, ...]
    tokenizer: TokenizerFacts | None
    files: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]

    @property
    def n_stored(self) -> int:
        """Numbers in the files: the parameters, where none are packed."""
        return sum(info.n_elements for info in self.tensors)

    @property
    def stored_bytes(self) -> int:
        """Bytes they take there."""
        return sum(info.n_bytes for info in self.tensors)


def read_outline(folder: str | Path, refusal: NotRunError | TensorTypeError) -> Outline:
    """Look into a model folder whose config or weights were refused, though nothing may be wrong with them.

    Raises:
        ConfigError, CheckpointError: something else is wrong.
    """
    checkpoint, notes = open_checkpoint(folder), []
    settings = checkpoint.cache_settings()
    named = settings.get("architectures")
    try:
        layers = Counter(spec.label for spec in layout(settings).layers)
    except ConfigError as error:
        layers = Counter()
        notes.append(f"its layers are unknown: {error}")
    try:
        tensors = tuple(checkpoint.tensors())
    except CheckpointError as error:
        tensors = ()
        notes.append(str(error))
    try:
        tokenizer = tokenizer_facts(checkpoint.tokenizer())
    except TokenizerError as error:
        tokenizer = None
        notes.append(str(error))
    return Outline(
        folder=checkpoint.path,
        reason=str(refusal),
        model_type=str(settings.get("model_type") or ""),
        class_names=tuple(map(str, named)) if isinstance(named, list) else (),
        layers=tuple(layers.items()),
        tensors=tensors,
        tokenizer=tokenizer,
        files=tuple((path.name, path.stat().st_size) for path in checkpoint.files()),
        notes=tuple(notes),
    )
