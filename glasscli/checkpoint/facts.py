"""What a model folder holds, told without running it: settings, parameters, tensors, cache, tokenizer, files.

Reads headers, never numbers, and needs no NumPy.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from glasscli.cache.layout import layout_of
from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.checkpoint.load import end_ids
from glasscli.checkpoint.safetensors_file import TensorInfo
from glasscli.checkpoint.tensors import load_tensors
from glasscli.config.model_config import ModelConfig
from glasscli.config.tensor_shapes import expected_tensors, tensor_name
from glasscli.errors import TokenizerError
from glasscli.tokenizer.tokenizer import Tokenizer

CACHE_ITEM_BYTES = 4  # glass keeps keys and values in float32
PARTS = ("embedding", "attention", "mlp", "norms", "head")
PART_OF_MATRIX = {
    **dict.fromkeys(("q", "k", "v", "qkv", "out"), "attention"),
    **dict.fromkeys(("gate", "up", "gate_up", "down"), "mlp"),
    "positions": "embedding",
}


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
        cache_context_bytes: keys and values of as many tokens as the model was trained for.
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
    cache_context_bytes: int
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
    checkpoint = open_checkpoint(folder)
    config = checkpoint.config()
    notes: list[str] = []
    needed = load_tensors(checkpoint, config, notes).infos
    named = sorted(needed.items(), key=lambda item: (item[1].file.name, item[1].start))
    try:
        known = checkpoint.tokenizer()
        tokenizer = tokenizer_facts(known, config.vocab_size)
        config = replace(config, eos_ids=end_ids(checkpoint, config, known))
    except TokenizerError as error:
        tokenizer = None
        notes.append(str(error))
    if tokenizer is not None and tokenizer.vocab_size > config.vocab_size:
        more = tokenizer.vocab_size - config.vocab_size
        notes.append(f"the tokenizer has {more:,} more tokens than the embedding has rows; a prompt can't use them")
    return Facts(
        folder=checkpoint.path,
        config=config,
        tied=tensor_name(config, "head") not in needed,
        tensors=tuple(info for _, info in named),
        parts=_parts(config, named),
        cache_bytes_per_token=_cache_bytes(config, 1),
        cache_context_bytes=_cache_bytes(config, config.max_seq_len),
        tokenizer=tokenizer,
        files=tuple((path.name, path.stat().st_size) for path in checkpoint.files()),
        notes=tuple(notes),
    )


def _cache_bytes(config: ModelConfig, n_tokens: int) -> int:
    tensors = (tensor for kind in layout_of(config) for tensor in kind.tensors(n_tokens))
    return CACHE_ITEM_BYTES * sum(tensor.rows * tensor.width for tensor in tensors)


def part_of(role: str) -> str:
    """Which of `PARTS` a tensor belongs to, by its role in the architecture."""
    role = role.removesuffix(".bias")
    if role.endswith("norm"):
        return "norms"
    return PART_OF_MATRIX.get(role, role)


def _parts(config: ModelConfig, named: Sequence[tuple[str, TensorInfo]]) -> tuple[Part, ...]:
    roles = {name: role for role, name, _, _ in expected_tensors(replace(config, tied=False))}
    parts = []
    for name in PARTS:
        own = [info for tensor, info in named if part_of(roles[tensor]) == name]
        if own:
            parts.append(Part(name, sum(info.n_elements for info in own), sum(info.n_bytes for info in own)))
    assert sum(part.n_parameters for part in parts) == sum(math.prod(info.shape) for _, info in named)
    return tuple(parts)


def tokenizer_facts(tokenizer: Tokenizer, n_rows: int | None = None) -> TokenizerFacts:
    """What is worth telling of a tokenizer, beside an embedding of `n_rows` where that is known."""
    return TokenizerFacts(
        kind=tokenizer.kind,
        vocab_size=tokenizer.vocab_size,
        special=tuple((i, tokenizer.piece_bytes(i).decode()) for i in sorted(tokenizer.special_ids)),
        added_in_front=tuple(tokenizer.encode("")),
        unused_ids=() if n_rows is None else tuple(tokenizer.unused_ids(n_rows)),
    )
