"""A GGUF as a checkpoint: settings, tensors by name, a tokenizer, files, all in Hugging Face's words."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glasscli.checkpoint.chat_files import DEFAULT, MARKS, ChatTemplates
from glasscli.checkpoint.checkpoint import Checkpoint
from glasscli.checkpoint.gguf.fields import Fields
from glasscli.checkpoint.gguf.header import Header
from glasscli.checkpoint.gguf.names import NAMES
from glasscli.checkpoint.gguf.origins import Origin
from glasscli.checkpoint.gguf.parts import read_model
from glasscli.checkpoint.gguf.read import read
from glasscli.checkpoint.gguf.settings import heads_by_layer, settings
from glasscli.checkpoint.gguf.tensor_types import READABLE
from glasscli.checkpoint.gguf.tensors import origins
from glasscli.checkpoint.gguf.values import shortest
from glasscli.checkpoint.safetensors_file import TensorInfo
from glasscli.config.writing import WritingDefaults
from glasscli.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from glasscli.tokenizer.tokenizer import Tokenizer

# generation_config.json's name of a setting: what a header calls it after `general.sampling.`.
SAMPLING = {
    "temperature": "temp",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "repetition_penalty": "penalty_repeat",
}


class GGUF(Checkpoint):
    """One model in one GGUF file, or in several that belong together: any of them may be named."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(Path(path))

    @property
    def name(self) -> str:
        return super().name.removesuffix(".gguf")

    @cached_property
    def _model(self) -> tuple[Header, list[Path]]:
        return read_model(self.path)

    @property
    def _header(self) -> Header:
        return self._model[0]

    @cached_property
    def _origins(self) -> dict[str, Origin]:
        fields = Fields(self._header)
        heads = heads_by_layer(fields) if fields.architecture in NAMES else []
        return origins(fields.architecture, self._header.tensors, heads)

    @property
    def settings_name(self) -> str:
        return "the header"

    def cache_settings(self) -> dict[str, Any]:
        """As the interface says; of an architecture that can't be sized either, its name alone."""
        from glasscli.checkpoint.gguf.cache_settings import cache_settings_of

        try:
            return cache_settings_of(self._header)
        except ConfigError:
            return {"model_type": Fields(self._header).architecture}

    def settings(self) -> dict[str, Any]:
        """As the interface says; eos_token_id lists every mark that ends a text or a turn."""
        from glasscli.tokenizer.gguf import end_ids

        said = settings(self._header)
        ends = end_ids(self._header.metadata, str(self.path))
        return said | {"eos_token_id": ends} if ends else said

    def writing(self) -> WritingDefaults:
        found = {name: self._header.metadata.get(f"general.sampling.{key}") for name, key in SAMPLING.items()}
        said = {name: shortest(value) if isinstance(value, float) else value for name, value in found.items()}
        if isinstance(said["top_k"], int) and said["top_k"] < 0:
            said["top_k"] = 0  # off, too
        return WritingDefaults.from_settings(said, str(self.path))

    def tensors(self) -> list[TensorInfo]:
        """As the interface says, by Hugging Face's names and in its shapes; types and bytes are those of the file."""
        return [source.info for source in self._origins.values()]

    def read(self, info: TensorInfo, notes: list[str] | None = None) -> "NDArray[np.float32]":
        return read(self._origins[info.name], notes)

    @property
    def readable(self) -> tuple[str, ...]:
        return READABLE

    def tokenizer(self) -> "Tokenizer":
        from glasscli.tokenizer.gguf import tokenizer_of

        return tokenizer_of(self._header.metadata, str(self.path))

    def files(self) -> list[Path]:
        return self.weight_files()

    def weight_files(self) -> list[Path]:
        return self._model[1]

    @property
    def has_chat_template(self) -> bool:
        return isinstance(self._header.metadata.get("tokenizer.chat_template"), str)

    def chat_templates(self) -> ChatTemplates | None:
        metadata, key = self._header.metadata, "tokenizer.chat_template"
        named = {name.removeprefix(f"{key}."): text for name, text in metadata.items() if name.startswith(f"{key}.")}
        found = {name: text for name, text in {DEFAULT: metadata.get(key), **named}.items() if isinstance(text, str)}
        if not any(found.values()):
            return None
        from glasscli.tokenizer.gguf import marks_of

        marks = marks_of(metadata, str(self.path), MARKS)
        return ChatTemplates(found, marks, str(self.path))
