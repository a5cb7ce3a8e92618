"""What llama.cpp allocates when a context is created: cells for the whole context, at once.

The context (`-c`) is what all sequences need together. A unified cache holds it in one stream, otherwise each
sequence has a stream of its share; either way a stream is padded to 256 cells. Sliding layers live in a second,
smaller cache. Recurrent states and convolution columns are float32, one for each sequence.

Source: llama.cpp's `llama-context.cpp`, `llama-kv-cache-iswa.cpp`, `llama-kv-cache-dsa.cpp`,
`llama-memory-recurrent.cpp`, and sizes it logged; flags as `tools/server/README.md` names them in 2026-11.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from glasscli.budget.engines.engine import Dtypes, Held, Served, Server, choose_dtypes, refuse, rule_for, total, up
from glasscli.budget.engines.llama_cpp import compressed, serve
from glasscli.budget.engines.words import state_dtypes
from glasscli.dtypes import dtype_named
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.attention_specs import (
    CacheSpec,
    ChunkedAttention,
    CompressedAttention,
    FullAttention,
    IndexKeys,
    LatentAttention,
    SlidingAttention,
    each_part,
)
from glasscli.specs.state_specs import KDA, DeltaNet, Mamba1, Mamba2, ShortConv
from glasscli.units import short_bytes

if TYPE_CHECKING:
    from glasscli.budget.questions import Settings
    from glasscli.budget.request import Request

CACHE_DTYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
EDITION = "2026-11"  # llama.cpp has builds, no versions
SLOTS = 4  # sequences that llama-server makes a context for where -np is not given, in one unified cache
# Model types whose windows llama.cpp keeps (its `swa_type` is set), and those it loads as plain full attention.
WINDOWED = frozenset(
    {"gemma2", "gemma3", "gemma3n", "gemma4", "cohere2", "olmo2", "olmo3", "exaone4", "exaone_moe", "gpt_oss"}
    | {"smallthinker", "plamo3", "mimo_v2", "mimo_v2_flash", "step3p5", "step3p7", "afmoe", "laguna", "llama4"}
)
WIDENED = frozenset(
    {"mistral", "mistral3", "ministral", "ministral3", "mixtral", "starcoder2", "phi3", "phimoe", "phi4mm"}
    | {"qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen3", "qwen3_moe"}
)
# Where each class of spec is kept: in cells of the main cache, of the smaller one for windows, as a state, or in caches
# of its own.
MAIN, WINDOWS, RECURRENT, COMPRESSED = "main", "windows", "recurrent", "compressed"
RULES: Mapping[type[CacheSpec], str] = {
    FullAttention: MAIN,
    LatentAttention: MAIN,
    SlidingAttention: WINDOWS,
    ChunkedAttention: WINDOWS,
    ShortConv: RECURRENT,
    Mamba1: RECURRENT,
    Mamba2: RECURRENT,
    DeltaNet: RECURRENT,
    KDA: RECURRENT,
    CompressedAttention: COMPRESSED,
}


class LlamaCpp(Server):
    """llama.cpp's allocation for one context."""

    name: ClassVar[str] = "llama.cpp"
    title: ClassVar[str] = "llama.cpp"
    options = serve.OPTIONS
    other_dtypes = ("f32", "f16", "q8_0", "q5_1", "q4_0")
    loads = "MODEL.gguf"
    loads_folders = False
    too_long = "llama-server lets no sequence become that long"
    edition = EDITION
    spread = "pp"

    def __init__(self, request: "Request", parts: tuple[CacheSpec, ...]) -> None:
        self.unified = bool(request.option("kv_unified"))  # all sequences share one stream of cells
        if request.tp > 1:
            raise ConfigError("llama.cpp splits a cache by layers, not by heads: use pp instead of tp", "tp")
        if request.prefix_shared and not self.unified:
            raise ConfigError("llama.cpp shares a prefix only in a unified cache", "kv_unified")
        super().__init__(request, parts)
        self.keeps_windows = self.windows_kept()
        index = next((part for part in parts if isinstance(part, IndexKeys)), None)
        if index is not None:
            why = "whether it sets aside values beside the keys of an index is not known; vllm's rule and logical's are"
            raise refuse(self.title, request, index, why)
        self.rules = {part: rule_for(RULES, part, self.title, request) for part in parts}
        for part in parts:
            if isinstance(part, LatentAttention) and part.size is not None:
                raise refuse(self.title, request, part, "how it keeps a window of latents is not known")
            if isinstance(part, CompressedAttention) and part.ratio not in compressed.RATIOS:
                raise refuse(self.title, request, part, "it compresses 4 or 128 tokens to a row")

    def choose_dtypes(self) -> Dtypes:
        """f16 unless asked for otherwise, whatever the model's dtype; states always f32."""
        request = self.request
        base = choose_dtypes(request)
        k, v = (dtype_named(name or "f16").name for name in (request.k_dtype, request.v_dtype))
        for field, name in (("k_dtype", k), ("v_dtype", v)):
            self.check_dtype(name, field)
        if request.state_dtype is not None and dtype_named(request.state_dtype).name != "f32":
            raise ConfigError(f"llama.cpp keeps states in f32, not {request.state_dtype}", "state_dtype")
        return replace(base, k=k, v=v, index=k, conv="f32", state="f32")

    @property
    def span(self) -> int:
        """Streams are rounded up to a multiple of so many cells."""
        return int(self.request.option("kv_pad"))

    @staticmethod
    def check_dtype(name: str, field: str) -> None:
        """Raises ConfigError, which names `field`, for a dtype that llama.cpp has no cache in."""
        if name not in CACHE_DTYPES:
            raise ConfigError(f"llama.cpp has no {name} cache; it has {', '.join(CACHE_DTYPES)}", field)

    def windows_kept(self) -> bool:
        """Whether this model's sliding layers get a cache of their own. Raises ConfigError when not known."""
        name = self.request.layout.model_type.removesuffix("_text")
        if name in WIDENED or all(RULES.get(type(part)) != WINDOWS for part in self.parts):
            return False
        if name in WINDOWED or not name:
            return True
        raise ConfigError(f"llama.cpp: whether it keeps the windows of {name} is not known", "model_type")

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        return self.hold_for(part, tokens, sequences, self.sequences(sequences))

    def hold_for(self, part: CacheSpec, tokens: int, sequences: int, n_seq: int) -> Held:
        """What `sequences` take in a context made for `n_seq`."""
        rule = self.rules[part]
        if rule == RECURRENT:
            copies = n_seq * (1 + self.request.option("n_rs_seq"))
            held = {tensor.role: tensor.rows * self.dtypes.row(tensor) for tensor in part.tensors(1)}
            return {role: size * copies for role, size in held.items()}
        cells = self.cells(tokens, sequences, n_seq)
        if isinstance(part, CompressedAttention):
            window = cells if self.request.option("swa_full") else part.size + self.request.option("n_ubatch")
            held = compressed.rows(part, cells, min(cells, up(window, self.span)), self.dtypes)
            states = compressed.states(part) * (1 + self.request.option("n_rs_seq"))
            return {role: n_seq * size for role, size in (held | ({"state": states} if states else {})).items()}
        if rule == WINDOWS and self.keeps_windows and part.window is not None:
            cells = self.window_cells(part.window, cells, n_seq)
        rows = cells * (1 if self.unified else n_seq)
        return {role: rows * size for role, size in self.row(part).items()}

    def row(self, part: CacheSpec) -> Held:
        """Bytes of one cell in one layer, by role."""
        if isinstance(part, LatentAttention):
            if self.request.option("mla_expanded"):
                return {tensor.role: self.dtypes.row(tensor) for tensor in part.expanded().tensors(1)}
            part = part if self.request.option("dsa_index") else replace(part, index_dim=0)
        return {tensor.role: self.dtypes.row(tensor) for tensor in part.tensors(1)}

    def sequences(self, sequences: int) -> int:
        """Sequences the context is made for (`-np`): as many as there are, unless more are asked for."""
        n_seq = int(self.request.option("n_seq_max") or sequences)
        if n_seq < sequences:
            raise UsageError(f"n_seq_max is {n_seq}, which is fewer than the {sequences} sequences")
        return n_seq

    def cells(self, tokens: int, sequences: int, n_seq: int) -> int:
        """Cells of one stream of the main cache."""
        prefix = min(self.request.prefix_shared, tokens)
        n_ctx = up(prefix + sequences * (tokens - prefix), self.span)
        return n_ctx if self.unified else up(n_ctx // n_seq, self.span)

    def window_cells(self, window: int, cells: int, n_seq: int) -> int:
        """Cells of one stream of the cache for sliding layers: the windows and one batch, padded."""
        if self.request.option("swa_full"):
            return cells
        windows = window * (n_seq if self.unified else 1)
        return min(cells, up(windows + self.request.option("n_ubatch"), self.span))

    def notes(self) -> tuple[str, ...]:
        tokens, batch = self.request.tokens, -(-self.request.batch // self.request.dp)
        n_seq = self.sequences(batch)
        cells = self.cells(tokens, batch, n_seq)
        said = []
        if COMPRESSED in self.rules.values():
            said.append(
                f"llama.cpp: {n_seq} stream{'s' * (n_seq != 1)} of {cells:,} cells, compressed rows padded to 256; "
                "what waits to be compressed in f32"
            )
        elif any(rule != RECURRENT for rule in self.rules.values()):
            streams = "one stream for all sequences" if self.unified else f"{n_seq} streams"
            said.append(f"llama.cpp: {cells:,} cells (padded to {self.span}), {streams}")
        said.extend(self.window_notes(cells, n_seq))
        states = [part for part, rule in self.rules.items() if rule == RECURRENT]
        if states:
            dtypes = state_dtypes(states, lambda part, tensor: self.dtypes.of(tensor))
            said.append(f"{dtypes}, for {n_seq:,} sequence{'s' * (n_seq != 1)}")
        if any(isinstance(part, LatentAttention) for part in self.parts) and not self.request.option("mla_expanded"):
            said.append("MLA keeps one latent row a token: the V cache is empty")
        return tuple(said)

    def warnings(self) -> tuple[str, ...]:
        """A line about the slots that llama-server opens when nobody says how many, if they cost anything."""
        tokens, batch = self.request.tokens, -(-self.request.batch // self.request.dp)
        if self.request.options.get("n_seq_max") is not None or batch >= SLOTS or not self.unified:
            return ()
        counts = Counter(each_part(self.request.layout.layers))
        own, slots = (
            sum(
                count * total(self.hold_for(part, tokens, batch, n_seq))
                for part, count in counts.items()
                if part in self.rules
            )
            for n_seq in (batch, SLOTS)
        )
        if own == slots:
            return ()
        return (f"llama-server opens {SLOTS} slots unless told (-np {batch}): then {short_bytes(slots)}",)

    def window_notes(self, cells: int, n_seq: int) -> list[str]:
        """What happens to sliding layers, in a line."""
        windows = sorted({part.window for part in self.parts if part.window is not None})
        if not windows or COMPRESSED in self.rules.values():
            return []
        if not self.keeps_windows:
            return [f"llama.cpp gives the sliding layers of {self.request.layout.model_type} the full context"]
        sizes = ", ".join(f"{self.window_cells(size, cells, n_seq):,}" for size in windows)
        batch = self.request.option("n_ubatch")
        return [f"sliding layers: {sizes} cells, for the windows of {n_seq} sequences and a batch of {batch}"]

    @classmethod
    def told(cls, settings: "Settings") -> Mapping[str, Any]:
        return {"n_seq_max": settings.batch, **settings.options}

    @classmethod
    def command_line(cls, served: Served) -> list[str]:
        for field, name in (("k_dtype", served.k), ("v_dtype", served.v)):
            cls.check_dtype(name, field)
        return serve.words(served) + cls.flags(served.settings.options)
