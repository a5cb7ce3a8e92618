"""What a model folder holds, told without running it: settings, parameters, tensors, cache, tokenizer, files.

Reads headers, never numbers, and needs no NumPy.
"""

import math
from dataclasses import dataclass
from pathlib import Path

from glasscli.cache.layout import layout_of
from glasscli.checkpoint.safetensors_file import TensorInfo
from glasscli.checkpoint.shards import INDEX, SINGLE, weight_files
from glasscli.checkpoint.tensors import HEAD, load_tensors
from glasscli.checkpoint.untrusted_files import model_folder
from glasscli.config.model_config import ModelConfig, load_config
from glasscli.errors import TokenizerError
from glasscli.tokenizer.tokenizer import TOKENIZER, Tokenizer, load_tokenizer

CACHE_ITEM_BYTES = 4  # glass keeps keys and values in float32
PARTS = ("embedding", "attention", "mlp", "norms", "head")


@dataclass(frozen=True)
class Part:
    """The parameters of one part of the model, and the bytes they take in the files."""

    name: str
    n_parameters: int
    stored_bytes: int


@dataclass(frozen=True)
class TokenizerFacts:
    """What a tokenizer.json describes.

    Attributes:
        kind: how it splits, in words.
        special: ids and names of special tokens.
        added_in_front: the ids that encoding puts around every text.
        unused_ids: rows of the embedding that no token has.
    """

    kind: str
    vocab_size: int
    special: tuple[tuple[int, str], ...]
    added_in_front: tuple[int, ...]
    unused_ids: tuple[int, ...]


@dataclass(frozen=True)
class Facts:
    """A model folder.

    Attributes:
        tied: whether the embedding is the head, as the files decide it.
        tensors: those of the model, as stored, in the order of the files.
        cache_bytes_per_token: keys and values of one token in glass's cache.
        tokenizer: None if it can't be read; `notes` says why.
        files: name and bytes of each file that glass reads.
        notes: sentences worth telling that are no errors.
    """

    folder: Path
    config: ModelConfig
    tied: bool
    tensors: tuple[TensorInfo, ...]
    parts: tuple[Part, ...]
    cache_bytes_per_token: int
    tokenizer: TokenizerFacts | None
    files: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]

    @property
    def n_parameters(self) -> int:
        """All of the model's; a tied head counts once."""
        return sum(part.n_parameters for part in self.parts)

    @property
    def stored_bytes(self) -> int:
        """What the parameters take in the files."""
        return sum(part.stored_bytes for part in self.parts)


def read_facts(folder: str | Path) -> Facts:
    """Look into a model folder.

    Raises:
        ConfigError, CheckpointError: as `load_model`, for all that can be seen without the numbers.
    """
    folder = model_folder(folder)
    config = load_config(folder)
    notes: list[str] = []
    needed = load_tensors(folder, config, notes).infos
    tensors = tuple(sorted(needed.values(), key=lambda info: (info.file.name, info.start)))
    try:
        tokenizer = _tokenizer_facts(load_tokenizer(folder), config)
    except TokenizerError as error:
        tokenizer = None
        notes.append(str(error))
    if tokenizer is not None and tokenizer.vocab_size > config.vocab_size:
        more = tokenizer.vocab_size - config.vocab_size
        notes.append(f"the tokenizer has {more:,} more tokens than the embedding has rows; a prompt can't use them")
    cached = sum(tensor.rows * tensor.width for kind in layout_of(config) for tensor in kind.tensors(1))
    return Facts(
        folder=folder,
        config=config,
        tied=HEAD not in needed,
        tensors=tensors,
        parts=_parts(tensors),
        cache_bytes_per_token=cached * CACHE_ITEM_BYTES,
        tokenizer=tokenizer,
        files=tuple((path.name, path.stat().st_size) for path in model_files(folder)),
        notes=tuple(notes),
    )


def model_files(folder: Path) -> list[Path]:
    """The files of a folder that make the model.

    Raises:
        CheckpointError: as `weight_files`.
    """
    weights = weight_files(folder)
    index = [] if weights == [folder / SINGLE] else [folder / INDEX]
    paths = [folder / "config.json", folder / "generation_config.json", *index, *weights, folder / TOKENIZER]
    return [path for path in paths if path.is_file()]


def part_of(name: str) -> str:
    """Which of `PARTS` a tensor belongs to, by its Hugging Face name."""
    if "norm" in name:
        return "norms"
    if ".self_attn." in name:
        return "attention"
    if ".mlp." in name:
        return "mlp"
    return "head" if name.startswith("lm_head") else "embedding"


def _parts(tensors: tuple[TensorInfo, ...]) -> tuple[Part, ...]:
    parts = []
    for name in PARTS:
        own = [info for info in tensors if part_of(info.name) == name]
        if own:
            parts.append(Part(name, sum(info.n_elements for info in own), sum(info.n_bytes for info in own)))
    assert sum(part.n_parameters for part in parts) == sum(math.prod(info.shape) for info in tensors)
    return tuple(parts)


def _tokenizer_facts(tokenizer: Tokenizer, config: ModelConfig) -> TokenizerFacts:
    return TokenizerFacts(
        kind=tokenizer.kind,
        vocab_size=tokenizer.vocab_size,
        special=tuple((i, tokenizer.piece_bytes(i).decode()) for i in sorted(tokenizer.special_ids)),
        added_in_front=tuple(tokenizer.encode("")),
        unused_ids=tuple(tokenizer.unused_ids(config.vocab_size)),
    )
