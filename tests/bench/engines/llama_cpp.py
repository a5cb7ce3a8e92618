"""llama.cpp through llama-cpp-python's low-level functions: a GGUF, or an F32 one of a folder's weights, one thread.

Measured as it comes, with a float16 cache and flash attention, and with what computes the same as the others and
decodes fastest here: a float32 cache without flash attention.
"""

import ctypes
from importlib.metadata import version
from pathlib import Path

import llama_cpp as lib
import numpy as np

PROMPT_BLOCK = 512  # llama.cpp's own default for what is computed at once


@lib.llama_log_callback
def _silent(level: int, text: bytes, user_data: object) -> None:
    """Say nothing."""


def gguf_of(path: Path) -> Path:
    """`path` itself if it is a GGUF, else one of the folder's weights in float32."""
    if path.suffix == ".gguf":
        return path
    from gguf_file import write_gguf

    return write_gguf(path)


class Single:
    """One sequence."""

    name = f"llama.cpp ({version('llama-cpp-python')})"
    float32_cache = False

    def __init__(self, folder: Path, max_tokens: int) -> None:
        lib.llama_log_set(_silent, ctypes.c_void_p(0))
        lib.llama_backend_init()
        settings = lib.llama_model_default_params()
        settings.n_gpu_layers = 0
        self.model = lib.llama_model_load_from_file(str(gguf_of(folder)).encode(), settings)
        limits = lib.llama_context_default_params()
        limits.n_ctx, limits.n_batch, limits.n_ubatch = max_tokens, PROMPT_BLOCK, PROMPT_BLOCK
        limits.n_threads = limits.n_threads_batch = 1
        limits.no_perf = True
        if self.float32_cache:
            limits.type_k = limits.type_v = lib.GGML_TYPE_F32
            limits.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
        self.context = lib.llama_init_from_model(self.model, limits)
        assert self.context
        self.n_vocab = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(self.model))
        self.one = (lib.llama_token * 1)()
        self.one_batch = lib.llama_batch_get_one(self.one, 1)
        self.address, self.logits = 0, np.empty(0, np.float32)

    def prefill(self, token_ids: list[int]) -> int:
        """Forget what was read, read `token_ids`, and return the likeliest next token."""
        lib.llama_memory_clear(lib.llama_get_memory(self.context), False)
        for first in range(0, len(token_ids), PROMPT_BLOCK):
            ids = token_ids[first : first + PROMPT_BLOCK]
            array = (lib.llama_token * len(ids))(*ids)
            self._decode(lib.llama_batch_get_one(array, len(ids)))
        return self._likeliest()

    def step(self, token_id: int) -> int:
        """Append `token_id` and return the likeliest next token."""
        self.one[0] = token_id
        self._decode(self.one_batch)
        return self._likeliest()

    def _decode(self, batch: "lib.llama_batch") -> None:
        code = lib.llama_decode(self.context, batch)
        assert code == 0, f"llama_decode said {code}"

    def _likeliest(self) -> int:
        pointer = lib.llama_get_logits_ith(self.context, -1)
        address = ctypes.cast(pointer, ctypes.c_void_p).value or 0
        if address != self.address:  # wrapping a pointer anew costs more than the argmax
            self.address, self.logits = address, np.ctypeslib.as_array(pointer, (self.n_vocab,))
        return int(self.logits.argmax())


class Float32(Single):
    """With a float32 cache and without flash attention."""

    name = f"{Single.name}, float32 cache"
    float32_cache = True


SINGLE = [Single, Float32]
