"""What mlx-lm's caches hold on Apple's devices: rows in steps of 256, windows that rotate, groups of 64 quantised.

A sequence is read as a prompt, `prefill_step_size` tokens at a time, but for its last token. Its caches grow by whole
steps of 256 tokens. One with a window grows freely while the prompt is read, by at most a step of that, and is cut to
its window by the first new token. A quantised cache (`mlx_q8`, `mlx_q4`) has a scale and a bias in the model's dtype
for each 64 numbers; there is none with a window, nor of latents. The keys of an index
beside latents are kept twice.

Source: mlx-lm 0.32.2, `models/cache.py` and what its own cache objects hold for models of the types below (`nbytes`,
measured with mlx 0.32.4 on a CPU); flags as its `server.py` names them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from glasscli.budget.engines.engine import Dtypes, Held, Served, Server, choose_dtypes, refuse, rule_for, up
from glasscli.budget.engines.option import Option
from glasscli.dtypes import dtype_named
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import CacheSpec, FullAttention, IndexKeys, LatentAttention, SlidingAttention
from glasscli.specs.state_specs import DeltaNet, Mamba1, Mamba2

if TYPE_CHECKING:
    from glasscli.budget.request import Request

EDITION = "0.32.2"
STEP = 256
QUANTISED = {"mlx_q8": 8, "mlx_q4": 4}  # the dtype → bits of `--kv-bits`
# Model types whose caches were measured: those whose windows rotate, and those whose layers all keep every token.
WINDOWED = frozenset(
    {"afmoe", "cohere2", "gemma3", "gemma4", "gemma4_unified", "gpt_oss", "mimo_v2_flash", "muse_glimmer", "olmo3"}
)
WHOLE = frozenset(
    {"dbrx", "deepseek_v3", "deepseek_v32", "ernie4_5_moe", "falcon_mamba", "gemma", "gemma2", "glm", "glm4"}
    | {
        "glm4_moe_lite",
        "glm_moe_dsa",
        "granitemoe",
        "helium",
        "hunyuan_v1_dense",
        "internlm3",
        "iquestcoder",
        "jamba",
        "kimi_k2",
    }
    | {
        "llama",
        "llava",
        "mamba",
        "mimo",
        "minimax_m2",
        "minimax_m3_vl",
        "mistral",
        "mistral3",
        "mistral4",
        "mixtral",
        "nanochat",
    }
    | {"nemotron", "nemotron-nas", "nemotron_h"}
    | {"olmo2", "olmo_hybrid", "olmoe", "phi", "phimoe", "qwen2", "qwen2_5_vl", "qwen2_moe", "qwen2_vl", "qwen3"}
    | {"qwen3_5", "qwen3_5_moe", "qwen3_moe", "qwen3_next", "qwen3_vl", "seed_oss", "smollm3", "starcoder2"}
)
# What each class of spec is kept as: rows in steps, rows of a window, or a state.
STEPS, WINDOW, STATE = "steps", "window", "state"
RULES: Mapping[type[CacheSpec], str] = {
    FullAttention: STEPS,
    LatentAttention: STEPS,
    IndexKeys: STEPS,
    SlidingAttention: WINDOW,
    DeltaNet: STATE,
    Mamba1: STATE,
    Mamba2: STATE,
}
OPTIONS: Mapping[str, Option] = {
    "prefill_step_size": Option(
        int,
        2048,
        "tokens of a prompt read at once, held on top of a window meanwhile",
        flag=lambda value: ["--prefill-step-size", f"{value}"],
    ),
}


class Mlx(Server):
    """mlx-lm's caches, one of each layer for each sequence."""

    name: ClassVar[str] = "mlx"
    title: ClassVar[str] = "mlx-lm"
    options = OPTIONS
    other_dtypes = ("bf16", "mlx_q8", "mlx_q4")
    loads = "MODEL"
    loads_folders = True
    too_long = "mlx-lm lets a sequence grow all the same"
    edition = EDITION

    def __init__(self, request: "Request", parts: tuple[CacheSpec, ...]) -> None:
        if max(request.tp, request.pp) > 1:
            raise ConfigError(
                "how mlx-lm's caches split over devices was not measured", "tp" if request.tp > 1 else "pp"
            )
        if request.prefix_shared:
            raise ConfigError("mlx-lm holds every sequence's tokens: no prefix is shared", "prefix_shared")
        super().__init__(request, parts)
        self.rules = {part: rule_for(RULES, part, self.title, request) for part in parts}
        self.model_type = request.layout.model_type.removesuffix("_text")
        if self.model_type and self.model_type not in WINDOWED | WHOLE:
            raise ConfigError(
                f"mlx-lm: what its caches hold of {self.model_type} was not measured, so it is not known", "model_type"
            )
        self.keeps_windows = self.model_type not in WHOLE
        self.check_quantised()

    def check_quantised(self) -> None:
        """Raises ConfigError where mlx-lm has no quantised cache."""
        if self.dtypes.k not in QUANTISED:
            return
        for part, rule in self.rules.items():
            if rule == WINDOW and self.keeps_windows:
                raise refuse(self.title, self.request, part, "it has no quantised cache with a window (k_dtype)")
            if isinstance(part, LatentAttention | IndexKeys):
                raise refuse(self.title, self.request, part, "it has no quantised cache of such (k_dtype)")
        if self.request.batch > 1:
            raise ConfigError("mlx-lm serves one sequence at a time with a quantised cache", "batch")

    def choose_dtypes(self) -> Dtypes:
        """The model's dtype, whatever the config says of a cache, or groups of 64 in 8 or 4 bits."""
        request = self.request
        base = choose_dtypes(request)
        k = dtype_named(request.k_dtype or request.v_dtype or base.model).name
        if request.v_dtype is not None and dtype_named(request.v_dtype).name != k:
            raise ConfigError(f"mlx-lm keeps keys and values in one dtype, not {k} and {request.v_dtype}", "v_dtype")
        if k != base.model and k not in QUANTISED:
            raise ConfigError(
                f"mlx-lm has no {k} cache for a model in {base.model}; it has that, mlx_q8, mlx_q4", "k_dtype"
            )
        if k in QUANTISED and base.model == "f32":
            raise ConfigError("the size of mlx-lm's quantised cache of a model in f32 is not known", "k_dtype")
        if request.state_dtype is not None:
            raise ConfigError("mlx-lm can't be told of a dtype for states", "state_dtype")
        return replace(base, k=k, v=k, index=k)

    @property
    def span(self) -> int:
        """Tokens of a step."""
        return STEP

    def rows(self, part: CacheSpec, tokens: int) -> int:
        """Rows of a cache once a prompt of `tokens` − 1 is read and one more token was made."""
        if self.rules[part] == WINDOW and self.keeps_windows:
            assert part.window is not None
            read = max(tokens - 1, 0)
            alone = read % int(self.request.option("prefill_step_size")) == 1  # a last token by itself makes room, too
            return min(part.window, read - alone + STEP) if tokens else 0
        return up(tokens, STEP)

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        held: Held = {}
        for tensor in part.tensors(1):
            copies, dtypes = self.rows(part, tokens), self.dtypes
            if self.rules[part] == STATE:
                copies, dtypes = tensor.rows, self.state_dtypes(part)
            elif tensor.role == "index" and isinstance(part, LatentAttention):
                copies *= 2
            held[tensor.role] = copies * dtypes.row(tensor) * sequences
        return held

    def state_dtypes(self, part: CacheSpec) -> Dtypes:
        """What a state is kept in: Mamba's in the model's dtype, the matrices of DeltaNet in float32."""
        return replace(self.dtypes, conv=self.dtypes.model, state=self.dtypes.model if type(part) is Mamba1 else "f32")

    def notes(self) -> tuple[str, ...]:
        request = self.request
        said = [f"mlx-lm {EDITION}: rows in steps of {STEP} tokens"]
        windows = sorted({part.window for part in self.parts if part.window is not None})
        if windows and self.keeps_windows:
            most = max(windows) - 1 + min(int(request.option("prefill_step_size")), request.tokens)
            said.append(f"a layer with a window holds up to {most:,} rows of a sequence while its prompt is read")
        elif windows:
            said.append(f"mlx-lm gives the layers with windows of {self.model_type} every token")
        if self.dtypes.k in QUANTISED:
            said.append("quantised from the first token (--quantized-kv-start 0), not only from the 5,000th")
        if any(isinstance(part, LatentAttention) and part.index_dim for part in self.parts):
            said.append("mlx-lm keeps the keys of the index beside latents twice")
        if request.batch > 1:
            said.append("sequences served together take steps of the longest: up to 255 rows more or fewer each")
        return tuple(said)

    @classmethod
    def command_line(cls, served: Served) -> list[str]:
        """The words of the command. A context is no setting of it: caches grow as the sequences do."""
        settings = served.settings
        for field in ("tp", "pp", "dp"):
            if getattr(settings, field) > 1:
                raise ConfigError("mlx-lm's server can't be told to split a model or to run copies of it", field)
        if settings.ep or settings.state_dtype is not None or settings.prefix_shared:
            field = "ep" if settings.ep else "prefix_shared" if settings.prefix_shared else "state_dtype"
            raise ConfigError(f"mlx-lm's server can't be told of {field}", field)
        said = ["mlx_lm.server", "--model", served.model, "--decode-concurrency", f"{settings.batch}"]
        if served.k in QUANTISED:
            said += ["--kv-bits", f"{QUANTISED[served.k]}", "--quantized-kv-start", "0"]
        return said + cls.flags(settings.options)
