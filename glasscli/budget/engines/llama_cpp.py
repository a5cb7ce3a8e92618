"""What llama.cpp allocates when a context is created: cells for the whole context, at once.

The context (`-c`) is what all sequences need together. A unified cache holds it in one stream, otherwise each
sequence has a stream of its share; either way a stream is padded to 256 cells. Sliding layers live in a second,
smaller cache. Recurrent states and convolution columns are float32, one for each sequence.

Source: llama.cpp's `llama-context.cpp`, `llama-kv-cache-iswa.cpp`, `llama-kv-cache-dsa.cpp`,
`llama-memory-recurrent.cpp`, and sizes it logged.
"""

from dataclasses import replace

from glasscli.budget.dtypes import dtype_named
from glasscli.budget.engines.engine import Dtypes, Held, choose_dtypes, refuse, up
from glasscli.budget.engines.vllm import expanded
from glasscli.budget.request import Request
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.attention_specs import (
    CacheSpec,
    FullAttention,
    LatentAttention,
    NoCache,
    WindowedAttention,
)
from glasscli.specs.state_specs import KDA, DeltaNet, Mamba1, Mamba2, ShortConv

CACHE_DTYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
# Model types whose windows llama.cpp keeps (its `swa_type` is set), and those it loads as plain full attention.
WINDOWED = frozenset(
    {"gemma2", "gemma3", "gemma3n", "gemma4", "cohere2", "olmo2", "olmo3", "exaone4", "exaone_moe", "gpt_oss"}
    | {"smallthinker", "plamo3", "mimo_v2", "mimo_v2_flash", "step3p5", "step3p7", "afmoe", "laguna", "llama4"}
)
WIDENED = frozenset(
    {"mistral", "mistral3", "ministral", "ministral3", "mixtral", "starcoder2", "phi3", "phimoe", "phi4mm"}
    | {"qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen3", "qwen3_moe"}
)
STATES = (ShortConv, Mamba1, Mamba2, DeltaNet, KDA)


class LlamaCpp:
    """llama.cpp's allocation for one context."""

    def __init__(self, request: Request, layers: tuple[CacheSpec, ...]) -> None:
        self.request = request
        self.parts = tuple(part for part in layers if not isinstance(part, NoCache))
        if request.tp > 1:
            raise ConfigError("llama.cpp splits a cache by layers, not by heads: use pp instead of tp", "tp")
        if request.prefix_shared and not self.unified:
            raise ConfigError("llama.cpp shares a prefix only in a unified cache", "kv_unified")
        self.dtypes = self.choose_dtypes()
        self.keeps_windows = self.windows_kept()
        for part in self.parts:
            self.check(part)
        self.span = self.pad

    @property
    def unified(self) -> bool:
        """Whether all sequences share one stream of cells."""
        return bool(self.request.option("kv_unified"))

    @property
    def pad(self) -> int:
        """Streams are rounded up to a multiple of so many cells."""
        return int(self.request.option("kv_pad"))

    def choose_dtypes(self) -> Dtypes:
        """f16 unless asked for otherwise, whatever the model's dtype; states always f32."""
        request = self.request
        base = choose_dtypes(request)
        k, v = (dtype_named(name or "f16").name for name in (request.k_dtype, request.v_dtype))
        for field, name in (("k_dtype", k), ("v_dtype", v)):
            if name not in CACHE_DTYPES:
                raise ConfigError(f"llama.cpp has no {name} cache; it has {', '.join(CACHE_DTYPES)}", field)
        if request.state_dtype is not None and dtype_named(request.state_dtype).name != "f32":
            raise ConfigError(f"llama.cpp keeps states in f32, not {request.state_dtype}", "state_dtype")
        return replace(base, k=k, v=v, index=k, conv="f32", state="f32")

    def windows_kept(self) -> bool:
        """Whether this model's sliding layers get a cache of their own. Raises ConfigError when not known."""
        name = self.request.layout.model_type.removesuffix("_text")
        windowed = [part for part in self.parts if isinstance(part, WindowedAttention)]
        if not windowed or name in WIDENED:
            return False
        if name in WINDOWED or not name:
            return True
        raise ConfigError(f"llama.cpp: whether it keeps the windows of {name} is not known", "model_type")

    def check(self, part: CacheSpec) -> None:
        """Raises ConfigError for a layer whose rule in llama.cpp is not known."""
        known = (FullAttention, WindowedAttention, LatentAttention)
        if not isinstance(part, known + STATES):
            raise refuse("llama.cpp", self.request, part)
        if isinstance(part, LatentAttention) and part.size is not None:
            raise refuse("llama.cpp", self.request, part, "how it keeps a window of latents is not known")

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        n_seq = self.sequences(sequences)
        if isinstance(part, STATES):
            copies = n_seq * (1 + self.request.option("n_rs_seq"))
            held = {tensor.role: tensor.rows * self.dtypes.row(tensor) for tensor in part.tensors(1)}
            return {role: size * copies for role, size in held.items()}
        cells = self.cells(tokens, sequences, n_seq)
        if self.keeps_windows and isinstance(part, WindowedAttention):
            cells = self.window_cells(part.size, cells, n_seq)
        rows = cells * (1 if self.unified else n_seq)
        return {role: rows * size for role, size in self.row(part).items()}

    def row(self, part: CacheSpec) -> Held:
        """Bytes of one cell in one layer, by role."""
        if isinstance(part, LatentAttention):
            if self.request.option("mla_expanded"):
                part = expanded(part)
            elif not self.request.option("dsa_index"):
                part = replace(part, index_dim=0)
        return {tensor.role: self.dtypes.row(tensor) for tensor in part.tensors(1)}

    def sequences(self, sequences: int) -> int:
        """Sequences the context is made for (`-np`): as many as there are, unless more are asked for."""
        n_seq = self.request.n_seq_max or sequences
        if n_seq < sequences:
            raise UsageError(f"n_seq_max is {n_seq}, which is fewer than the {sequences} sequences")
        return n_seq

    def cells(self, tokens: int, sequences: int, n_seq: int) -> int:
        """Cells of one stream of the main cache."""
        prefix = min(self.request.prefix_shared, tokens)
        n_ctx = up(prefix + sequences * (tokens - prefix), self.pad)
        return n_ctx if self.unified else up(n_ctx // n_seq, self.pad)

    def window_cells(self, window: int, cells: int, n_seq: int) -> int:
        """Cells of one stream of the cache for sliding layers: the windows and one batch, padded."""
        if self.request.option("swa_full"):
            return cells
        windows = window * (n_seq if self.unified else 1)
        return min(cells, up(windows + self.request.option("n_ubatch"), self.pad))

    def notes(self) -> tuple[str, ...]:
        tokens, batch = self.request.tokens, -(-self.request.batch // self.request.dp)
        n_seq = self.sequences(batch)
        cells = self.cells(tokens, batch, n_seq)
        said = []
        if not all(isinstance(part, STATES) for part in self.parts):
            streams = "one stream for all sequences" if self.unified else f"{n_seq} streams"
            said.append(f"llama.cpp: {cells:,} cells (padded to {self.pad}), {streams}")
        said.extend(self.window_notes(cells, n_seq))
        if any(isinstance(part, STATES) for part in self.parts):
            said.append(f"recurrent states and convolution columns are f32, for {n_seq} sequences")
        if any(isinstance(part, LatentAttention) for part in self.parts) and not self.request.mla_expanded:
            said.append("MLA keeps one latent row a token: the V cache is empty")
        return tuple(said)

    def window_notes(self, cells: int, n_seq: int) -> list[str]:
        """What happens to sliding layers, in a line."""
        windows = sorted({part.size for part in self.parts if isinstance(part, WindowedAttention)})
        if not windows:
            return []
        if not self.keeps_windows:
            return [f"llama.cpp gives the sliding layers of {self.request.layout.model_type} the full context"]
        sizes = ", ".join(f"{self.window_cells(size, cells, n_seq):,}" for size in windows)
        batch = self.request.option("n_ubatch")
        return [f"sliding layers: {sizes} cells, for the windows of {n_seq} sequences and a batch of {batch}"]
