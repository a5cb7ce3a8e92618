"""What TensorRT-LLM's paged cache holds: whole blocks of tokens, in every layer.

Its pool is blocks of `tokens_per_block`, which its log names with what they take (`[MemUsageChange] Allocated 1.56 GiB
for max tokens in paged KV cache (12800)`); those lines are what tests hold it to. Each key/value head is kept by one
rank, or by several where there are more ranks; latents (MLA) by all.

Windows, recurrent states and sparse indexes are refused: no public line was found whose model's geometry is known.

Source: logs of versions 0.8 to 1.3.0rc7, and the options of `trtllm-serve` and its `kv_cache_config` in 1.2.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from glasscli.budget.engines.engine import Dtypes, Engine, Held, choose_dtypes, refuse
from glasscli.budget.engines.option import BLOCK_SAYS, DRAFT, Option
from glasscli.dtypes import dtype_named
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import CacheSpec, FullAttention, LatentAttention

if TYPE_CHECKING:
    from glasscli.budget.request import Request

EDITION = "1.2"
CACHE_DTYPES = ("f32", "f16", "bf16", "fp8")


class TensorRtLlm(Engine):
    """TensorRT-LLM's blocks for the sequences of one replica."""

    name: ClassVar[str] = "tensorrt-llm"
    title: ClassVar[str] = "TensorRT-LLM"
    options: ClassVar[Mapping[str, Option]] = {"tokens_per_block": Option(int, 32, BLOCK_SAYS), "draft_layers": DRAFT}
    other_dtypes = ("f16", "fp8")
    edition = EDITION
    pool_words = "max tokens in paged KV cache ({})"

    def __init__(self, request: "Request", parts: tuple[CacheSpec, ...]) -> None:
        super().__init__(request, parts)
        for part in parts:
            if type(part) not in (FullAttention, LatentAttention) or part.window is not None:
                why = "what it keeps of them is not known: no public log of a known model shows it"
                raise refuse(self.title, request, part, why)
            if isinstance(part, LatentAttention) and part.index_dim:
                raise refuse(self.title, request, part, "how it keeps the keys of a sparse index is not known")

    def choose_dtypes(self) -> Dtypes:
        """One dtype for keys and values: as asked for, else the config's, else the model's."""
        request = self.request
        base = choose_dtypes(request)
        k = dtype_named(request.k_dtype or request.v_dtype or base.k).name
        if request.v_dtype is not None and dtype_named(request.v_dtype).name != k:
            raise ConfigError(
                f"TensorRT-LLM keeps keys and values in one dtype, not {k} and {request.v_dtype}", "v_dtype"
            )
        if k not in CACHE_DTYPES:
            raise ConfigError(
                f"the size of a {k} cache under TensorRT-LLM is not known; f16, bf16 and fp8 are", "k_dtype"
            )
        return replace(base, k=k, v=k)

    @property
    def span(self) -> int:
        """Tokens of a block."""
        return int(self.request.option("tokens_per_block"))

    def blocks(self, tokens: int, sequences: int) -> int:
        """Blocks of `sequences`; whole blocks of a common prefix are kept once."""
        each = -(-tokens // self.span)
        shared = min(self.request.prefix_shared, tokens) // self.span
        return shared + sequences * (each - shared)

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        rows = self.blocks(tokens, sequences) * self.span
        return {tensor.role: rows * self.dtypes.row(tensor) for tensor in part.tensors(1)}

    def notes(self) -> tuple[str, ...]:
        sequences = -(-self.request.batch // self.request.dp)
        blocks = self.blocks(self.request.tokens, sequences)
        return (f"TensorRT-LLM: {blocks:,} blocks of {self.span} tokens, {blocks * self.span:,} in its pool",)
