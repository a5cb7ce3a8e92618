"""A folder in Hugging Face's layout: config.json, safetensors in one file or in shards, tokenizer.json."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glasscli.checkpoint.chat_files import (
    CHAT_TEMPLATE,
    TOKENIZER_CONFIG,
    ChatTemplates,
    folder_settings,
    folder_templates,
    token_name,
)
from glasscli.checkpoint.checkpoint import Checkpoint
from glasscli.checkpoint.safetensors_file import READABLE, TensorInfo, read_tensor
from glasscli.checkpoint.shards import INDEX, SINGLE, list_tensors, weight_files
from glasscli.config.model_config import load_settings
from glasscli.config.source import read_object
from glasscli.config.writing import WritingDefaults
from glasscli.errors import CheckpointError
from glasscli.untrusted_files import model_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from glasscli.tokenizer.tokenizer import Tokenizer


class HuggingFaceFolder(Checkpoint):
    """What transformers' `save_pretrained` writes."""

    def __init__(self, path: str | Path) -> None:
        """Raises CheckpointError where there is no such folder."""
        super().__init__(model_folder(path))

    @property
    def settings_source(self) -> str:
        return str(self.path / "config.json")

    @property
    def settings_name(self) -> str:
        return "config.json"

    def settings(self) -> dict[str, Any]:
        return load_settings(self.path)

    def end_names(self) -> tuple[str, ...]:
        name = token_name(self._tokenizer_settings.get("eos_token"))
        return () if name is None else (name,)

    def writing(self) -> WritingDefaults:
        path = self.path / "generation_config.json"
        return WritingDefaults.from_settings(read_object(path), str(path)) if path.exists() else WritingDefaults()

    def tensors(self) -> list[TensorInfo]:
        return list_tensors(self.path)

    def read(self, info: TensorInfo, notes: list[str] | None = None) -> "NDArray[np.float32]":
        return read_tensor(info, notes)

    @property
    def readable(self) -> tuple[str, ...]:
        return READABLE

    def tokenizer(self) -> "Tokenizer":
        from glasscli.tokenizer.tokenizer import load_tokenizer

        return load_tokenizer(self.path)

    @cached_property
    def _tokenizer_settings(self) -> dict[str, Any]:
        return folder_settings(self.path)

    def chat_templates(self) -> ChatTemplates | None:
        return folder_templates(self.path, self._tokenizer_settings)

    def files(self) -> list[Path]:
        try:
            weights = self.weight_files()
        except CheckpointError:  # whatever is there all the same
            weights = sorted(self.path.glob("*.safetensors"))
        index = [] if weights == [self.path / SINGLE] else [self.path / INDEX]
        before = [self.path / name for name in ("config.json", "generation_config.json")]
        after = [self.path / name for name in ("tokenizer.json", TOKENIZER_CONFIG, CHAT_TEMPLATE)]
        paths = [*before, *index, *weights, *after]
        return [path for path in paths if path.is_file()]

    def weight_files(self) -> list[Path]:
        return weight_files(self.path)

    def weight_bytes(self) -> int:
        try:
            return sum(path.stat().st_size for path in self.path.glob("*.safetensors"))
        except (OSError, ValueError):
            return 0
