"""A GGUF as a checkpoint: settings, tensors by name, a tokenizer, files, all in Hugging Face's words."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from glasscli.checkpoint.safetensors_file import TensorInfo
from glasscli.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from glasscli.tokenizer.tokenizer import Tokenizer


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

    def tensors(self) -> list[TensorInfo]:
        """As the interface says, by Hugging Face's names and in its shapes; types and bytes are those of the file."""
        return [source.info for source in self._origins.values()]

    def read(self, info: TensorInfo) -> "NDArray[np.float32]":
        return read(self._origins[info.name])

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
    def chat_template(self) -> str | None:
        """The template for turns of a conversation; None if the file has none."""
        found = self._header.metadata.get("tokenizer.chat_template")
        return found if isinstance(found, str) and found else None
