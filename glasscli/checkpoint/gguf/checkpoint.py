"""A GGUF as a checkpoint: settings, tensors by name, a tokenizer, files, all in Hugging Face's words."""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glasscli.checkpoint.gguf.fields import Fields
from glasscli.checkpoint.gguf.origins import Origin
from glasscli.checkpoint.gguf.parts import read_model
from glasscli.checkpoint.gguf.read import read
from glasscli.checkpoint.gguf.settings import heads_by_layer, settings
from glasscli.checkpoint.gguf.tensors import origins
from glasscli.checkpoint.safetensors_file import TensorInfo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from glasscli.tokenizer.tokenizer import Tokenizer


class GGUFCheckpoint:
    """One model in one GGUF file, or in several that belong together. Only its header is read until more is asked for.

    Attributes:
        path: the file that was named.
        files: those that make the model, in order.
    """

    def __init__(self, path: str | Path) -> None:
        """Read the header.

        Raises:
            CheckpointError: the file is no GGUF, damaged, or a part is missing.
        """
        self.path = Path(path)
        self._header, self.files = read_model(self.path)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What config.json would say, ends of text included.

        Raises:
            ConfigError, CheckpointError: as `gguf.settings.settings`.
        """
        from glasscli.tokenizer.gguf import end_ids

        said = settings(self._header)
        ends = end_ids(self._header.metadata, str(self.path))
        return said | {"eos_token_id": ends} if ends else said

    @cached_property
    def _origins(self) -> dict[str, Origin]:
        fields = Fields(self._header)
        return origins(fields.architecture, self._header.tensors, heads_by_layer(fields))

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """Every tensor by its Hugging Face name, with the type and bytes that it has in the file."""
        return {name: source.info for name, source in self._origins.items()}

    def read(self, name: str) -> "NDArray[np.float32]":
        """The numbers of one tensor, in Hugging Face's layout, as an array of its own.

        Raises:
            KeyError: there is no such tensor.
            CheckpointError: as `gguf.read.read`.
        """
        return read(self._origins[name])

    def tokenizer(self) -> "Tokenizer":
        """The tokenizer in the header.

        Raises:
            TokenizerError: there is none, or one of a kind or with a pre-tokenizer that glass does not know.
        """
        from glasscli.tokenizer.gguf import tokenizer_of

        return tokenizer_of(self._header.metadata, str(self.path))

    @property
    def chat_template(self) -> str | None:
        """The template for turns of a conversation; None if the file has none."""
        found = self._header.metadata.get("tokenizer.chat_template")
        return found if isinstance(found, str) and found else None

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the bytes of the files in order, as 64 hexadecimal digits."""
        digest = hashlib.sha256()
        for path in self.files:
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        return digest.hexdigest()
