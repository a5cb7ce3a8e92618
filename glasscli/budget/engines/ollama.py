"""What Ollama allocates for a model that keeps every token: the context times the requests in parallel, at once.

It is a front of llama.cpp: its runner is started with `--ctx-size` OLLAMA_CONTEXT_LENGTH × OLLAMA_NUM_PARALLEL and
`--parallel`, and keeps keys and values in OLLAMA_KV_CACHE_TYPE. Cells are padded to 256.

Windows (but for models that llama.cpp loads as plain attention), latents and states are refused: for such models Ollama
has an engine of its own beside llama.cpp's, and which of the two a version takes for which model is not known here. For
a GGUF in llama.cpp itself ask `llama.cpp`.

Source: lines that versions of 2025 and 2026 logged (`KV self size`, `llama_kv_cache: size`, `memory.required.kv`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from glasscli.budget.engines.engine import Dtypes, Engine, Held, choose_dtypes, refuse, up
from glasscli.budget.engines.llama_cpp import WIDENED
from glasscli.budget.engines.option import Option
from glasscli.dtypes import dtype_named
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.attention_specs import CacheSpec, FullAttention, SlidingAttention

if TYPE_CHECKING:
    from glasscli.budget.request import Request

CACHE_DTYPES = ("f16", "q8_0", "q4_0")
PAD = 256


class Ollama(Engine):
    """Ollama's cells for one loaded model."""

    name: ClassVar[str] = "ollama"
    title: ClassVar[str] = "Ollama"
    options: ClassVar[Mapping[str, Option]] = {
        "num_parallel": Option(int, None, "OLLAMA_NUM_PARALLEL: requests it makes room for; the batch unless set")
    }
    other_dtypes = CACHE_DTYPES
    edition = "2026-06"
    spread = "pp"

    def __init__(self, request: "Request", parts: tuple[CacheSpec, ...]) -> None:
        if request.tp > 1:
            raise ConfigError("Ollama splits a cache by layers, not by heads: use pp instead of tp", "tp")
        if request.prefix_shared:
            raise ConfigError("Ollama makes room for every request's tokens: no prefix is shared", "prefix_shared")
        super().__init__(request, parts)
        widened = request.layout.model_type.removesuffix("_text") in WIDENED
        for part in parts:
            if type(part) is not FullAttention and not (widened and type(part) is SlidingAttention):
                raise refuse(self.title, request, part, "what its own engine keeps of them is not known")

    def choose_dtypes(self) -> Dtypes:
        """f16 unless OLLAMA_KV_CACHE_TYPE says otherwise, for keys and values alike."""
        request = self.request
        k = dtype_named(request.k_dtype or request.v_dtype or "f16").name
        if request.v_dtype is not None and dtype_named(request.v_dtype).name != k:
            raise ConfigError(f"Ollama keeps keys and values in one type, not {k} and {request.v_dtype}", "v_dtype")
        if k not in CACHE_DTYPES:
            raise ConfigError(f"Ollama has no {k} cache; it has {', '.join(CACHE_DTYPES)}", "k_dtype")
        return replace(choose_dtypes(request), k=k, v=k)

    @property
    def span(self) -> int:
        """Cells are rounded up to so many."""
        return PAD

    def cells(self, tokens: int, sequences: int) -> int:
        """The context of each request, times the requests. Raises UsageError for fewer than there are sequences."""
        parallel = int(self.request.option("num_parallel") or sequences)
        if parallel < sequences:
            raise UsageError(f"num_parallel is {parallel}, which is fewer than the {sequences} sequences")
        return up(tokens * parallel, PAD)

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        cells = self.cells(tokens, sequences)
        return {tensor.role: cells * self.dtypes.row(tensor) for tensor in part.tensors(1)}

    def notes(self) -> tuple[str, ...]:
        tokens, sequences = self.request.tokens, -(-self.request.batch // self.request.dp)
        parallel = self.request.option("num_parallel") or sequences
        said = [
            f"Ollama: {self.cells(tokens, sequences):,} cells: OLLAMA_CONTEXT_LENGTH={tokens} times "
            f"OLLAMA_NUM_PARALLEL={parallel}, OLLAMA_KV_CACHE_TYPE={self.dtypes.k}"
        ]
        if self.dtypes.k != "f16":
            said.append("a quantised cache needs OLLAMA_FLASH_ATTENTION=1, or a version that turns it on by itself")
        return tuple(said)
