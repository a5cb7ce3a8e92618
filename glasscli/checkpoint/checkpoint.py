"""What a model on disk offers, whatever its format: settings, tensors by name, a tokenizer, files, a hash.

`open_checkpoint` finds the form that a path has. Everything above this door (loading, `info`, the dumps, the program)
asks a `Checkpoint` and knows no file names. A new format is one class here and a row in `open_checkpoint`'s table.
"""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glasscli.checkpoint.chat_files import ChatTemplates
from glasscli.checkpoint.safetensors_file import TensorInfo
from glasscli.config.model_config import ModelConfig
from glasscli.config.writing import WritingDefaults
from glasscli.errors import CheckpointError
from glasscli.locate.hub_cache import repo_of
from glasscli.untrusted_files import quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from glasscli.tokenizer.tokenizer import Tokenizer


class Checkpoint(ABC):
    """A model on disk. Making one reads nothing but what tells its form; each question reads what it needs.

    Attributes:
        path: the folder or file that was opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        """What to call it: the hub's name of what lies in Hugging Face's cache, else the last part of the path."""
        return repo_of(self.path) or Path(os.path.abspath(self.path)).name

    @property
    def settings_source(self) -> str:
        """Where the settings stand, as messages say it."""
        return str(self.path)

    @property
    @abstractmethod
    def settings_name(self) -> str:
        """What holds the settings, in a word or two."""

    def cache_settings(self) -> dict[str, Any]:
        """`settings` as far as the size of the cache goes, which may be told of more models.

        Raises:
            ConfigError: as `settings`.
        """
        return self.settings()

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The settings in the words of a config.json.

        Raises:
            ConfigError: they are missing or damaged.
        """

    def config(self) -> ModelConfig:
        """The settings that running it needs.

        Raises:
            ConfigError: they are missing, damaged, or describe what glass can't run.
        """
        return ModelConfig.from_dict(self.settings(), self.settings_source)

    def end_names(self) -> tuple[str, ...]:
        """Tokens that end a text, by name, beside those that `settings` has the ids of.

        Raises:
            ConfigError: what says so is damaged.
        """
        return ()

    def writing(self) -> WritingDefaults:
        """How it wants texts to be written.

        Raises:
            ConfigError: its settings for that are damaged or out of range.
        """
        return WritingDefaults()

    @abstractmethod
    def tensors(self) -> list[TensorInfo]:
        """All tensors, in the order of the files, from the headers alone.

        Raises:
            CheckpointError: files are missing, damaged, or contradict each other.
        """

    @abstractmethod
    def read(self, info: TensorInfo, notes: list[str] | None = None) -> "NDArray[np.float32]":
        """The numbers of one of `tensors`, as a float32 array of its own. All are finite, or `notes` says which is not.

        Args:
            notes: gets a sentence about NaN or infinity, which is then no error.

        Raises:
            CheckpointError: a dtype that glass does not read, NaN or infinity, no memory, or the file changed.
        """

    @property
    @abstractmethod
    def readable(self) -> tuple[str, ...]:
        """The dtypes that `read` knows."""

    @abstractmethod
    def tokenizer(self) -> "Tokenizer":
        """Its tokenizer.

        Raises:
            TokenizerError: it is missing, damaged, or of a kind that glass does not know.
        """

    def chat_templates(self) -> ChatTemplates | None:
        """The templates for the turns of a chat; None if it has none.

        Raises:
            CheckpointError, ConfigError: what should hold them is damaged.
        """
        return None

    @property
    def has_chat_template(self) -> bool:
        """Whether there are chat templates, told without reading all that they need."""
        return self.chat_templates() is not None

    @abstractmethod
    def files(self) -> list[Path]:
        """Every file that glass reads of it."""

    @abstractmethod
    def weight_files(self) -> list[Path]:
        """The files that hold tensors, by name.

        Raises:
            CheckpointError: there are none, or one is missing or leads outside.
        """

    def weight_bytes(self) -> int:
        """Bytes of the weight files by a look at the folder, 0 where that can't be told: a hint, not a check."""
        try:
            return sum(path.stat().st_size for path in self.weight_files())
        except Exception:
            return 0

    def weights_hash(self) -> str:
        """SHA-256 over the bytes of the weight files in the order of their names, as 64 hexadecimal digits."""
        import hashlib  # and OpenSSL with it: read only where it is used

        digest = hashlib.sha256()
        for path in self.weight_files():
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        return digest.hexdigest()


def open_checkpoint(path: str | Path) -> Checkpoint:
    """The model at `path`, in the form that its files have.

    Raises:
        CheckpointError: nothing is there, or nothing that glass reads.
    """
    from glasscli.checkpoint.gguf.header import is_gguf

    if is_gguf(Path(path)):
        from glasscli.checkpoint.gguf.checkpoint import GGUF

        return GGUF(path)
    from glasscli.checkpoint.hugging_face import HuggingFaceFolder

    folder = HuggingFaceFolder(path)
    inside = sorted(file.name for file in folder.path.glob("*.gguf"))
    if inside and not (folder.path / "config.json").exists():
        raise CheckpointError(f"{path}: holds GGUF files; name one of them, such as {quoted(inside[0])}")
    return folder
