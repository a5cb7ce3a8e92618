"""A checkpoint to something that can run: config, weights and tokenizer, checked against each other."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from glasscli.checkpoint.checkpoint import Checkpoint, open_checkpoint
from glasscli.checkpoint.tensors import load_tensors
from glasscli.config.model_config import ModelConfig
from glasscli.config.tensor_shapes import tensor_name
from glasscli.config.writing import WritingDefaults
from glasscli.errors import TokenizerError, UsageError
from glasscli.locate.locate import locate
from glasscli.progress import Progress
from glasscli.tokenizer.tokenizer import Tokenizer
from glasscli.untrusted_files import quoted

if TYPE_CHECKING:
    from glasscli.model.llama import Llama


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to run.

    Attributes:
        checkpoint: where it came from.
        unused_ids: rows of the embedding that no token has. They pad it to a round size; never sample them.
        notes: sentences about the folder that are worth telling and no errors.
        removed: parts that were taken out of it, see `inspect.removed`: `3.2` or `mlp 1=mean`.
        defaults: how its own files want texts to be written.
    """

    checkpoint: Checkpoint
    config: ModelConfig
    model: "Llama"
    tokenizer: Tokenizer
    unused_ids: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    defaults: WritingDefaults = field(default_factory=WritingDefaults)

    @property
    def folder(self) -> Path:
        """The folder or file it was loaded from."""
        return self.checkpoint.path

    def encode(self, text: str, *, parse_special: bool = False) -> list[int]:
        """The ids of `text` (see `Tokenizer.encode`), each of which the model has an embedding for.

        Raises:
            UsageError: the text is not valid Unicode.
            TokenizerError: a token of the text has no row in the embedding.
        """
        token_ids = self.tokenizer.encode(text, parse_special=parse_special)
        self.check_ids(token_ids)
        return token_ids

    def check_ids(self, token_ids: Iterable[int]) -> None:
        """See that the model can embed each id.

        Raises:
            TokenizerError: the tokenizer made an id past the embedding.
            UsageError: an id is negative or past the embedding, and no token at all.
        """
        for token_id in token_ids:
            if 0 <= token_id < self.config.vocab_size:
                continue
            rows = f"the model has {self.config.vocab_size:,} tokens (ids 0 to {self.config.vocab_size - 1:,})"
            try:
                label = quoted(self.tokenizer.label(token_id))
            except TokenizerError:
                raise UsageError(f"there is no token with the id {token_id}: {rows}") from None
            raise TokenizerError(f"token {token_id} ({label}) can't be used: {rows}, its tokenizer has more")


def load_model(
    model: str | Path | None = None, *, progress: Progress | None = None, any_numbers: bool = False
) -> LoadedModel:
    """Load a model: a path, such as a folder in Hugging Face layout, or a name (see `locate`).

    None is the one that comes with glass.

    Args:
        progress: told how much of the weights has been read; with `hf:org/name`, how much of a file is there.
        any_numbers: NaN and infinity in the weights get a note, and are no error: for looking at what is sound of it.

    Raises:
        ConfigError: config.json is missing, damaged, or describes what glass can't run.
        CheckpointError: there is no such model; its weights are missing, damaged, or don't fit the config.
        TokenizerError: tokenizer.json is missing or damaged.
    """
    progress = progress or Progress()
    path = locate(model, progress=progress, check=lambda folder: open_checkpoint(folder).config())
    try:
        return _load(open_checkpoint(path), progress, any_numbers)
    finally:
        progress.over()


def _load(checkpoint: Checkpoint, progress: Progress, any_numbers: bool) -> LoadedModel:
    from glasscli.model.llama import Llama

    progress.moved("loading", 0, None)
    config = checkpoint.config()
    tokenizer = checkpoint.tokenizer()
    config = replace(config, eos_ids=end_ids(checkpoint, config, tokenizer))
    notes: list[str] = []
    tensors = load_tensors(checkpoint, config, notes, progress)
    if any_numbers:
        tensors.not_finite = notes
    config = replace(config, tied=tensor_name(config, "head") not in tensors)
    unused = tuple(tokenizer.unused_ids(config.vocab_size))
    if unused:
        rows = f"{len(unused):,} of {config.vocab_size:,} rows of the embedding"
        notes.append(f"{rows} belong to no token and are never sampled")
    made = Llama(config, tensors)
    return LoadedModel(checkpoint, config, made, tokenizer, unused, tuple(notes), defaults=checkpoint.writing())


def end_ids(checkpoint: Checkpoint, config: ModelConfig, tokenizer: Tokenizer) -> tuple[int, ...]:
    """All ids that end a text: those of the settings, and those that other files name, if the model can write them."""
    named = [tokenizer.id_of(name) for name in checkpoint.end_names()]
    return tuple(dict.fromkeys([*config.eos_ids, *(i for i in named if i is not None and i < config.vocab_size)]))
