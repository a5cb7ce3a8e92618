"""SGLang's own settings, and a plan as `python -m sglang.launch_server …`: flags as 0.5.23 names them."""

from collections.abc import Mapping

from glasscli.budget.engines.engine import STATE_ROLES, Served, up
from glasscli.budget.engines.option import DRAFT, Option
from glasscli.errors import ConfigError, UsageError

# How states are cached with prefixes → slots that a running sequence takes: three, and those that track it.
SLOTS = {"extra_buffer": 5, "extra_buffer_lazy": 4, "no_buffer": 3}
USUAL = "extra_buffer"
PLAIN_PAGE, INDEXED_PAGE = 1, 64  # the kernels of a sparse index work on pages of 64

OPTIONS: Mapping[str, Option] = {
    "page_size": Option(
        int,
        None,
        "tokens of a page: 1, or 64 with a sparse index; some kernels want more",
        flag=lambda value: ["--page-size", f"{value}"],
    ),
    "swa_full_tokens_ratio": Option(
        str,
        "0.8",
        "tokens of the pool for windows, as a share of the other's",
        flag=lambda value: ["--swa-full-tokens-ratio", f"{ratio(value):g}"],
    ),
    "disable_radix_cache": Option(
        bool,
        False,
        "true: no prefixes are cached, a sequence keeps one state",
        flag=lambda value: ["--disable-radix-cache"] if value else [],
    ),
    "mamba_radix_cache_strategy": Option(
        str,
        USUAL,
        "a sequence takes 5 states, 4 (lazy) or 3 (no_buffer)",
        choices=tuple(SLOTS),
        flag=lambda value: ["--mamba-radix-cache-strategy", value],
    ),
    "max_mamba_cache_size": Option(
        int,
        None,
        "states in the pool; as many as the sequences take",
        flag=lambda value: [],  # always told: `words` does
    ),
    "dsa_raw_rows": Option(
        bool, False, "true: fp8 latents beside a sparse index as the trtllm kernels want them, 576 B"
    ),
    "draft_layers": DRAFT,
}

RANKS = (("tp", "tp"), ("pp", "pp"), ("dp", "dp"))
NAMES = {"fp8": "fp8_e4m3", "fp8_ds_mla": "fp8_e4m3", "bf16": "bf16", "mxfp8": "mxfp8"}
STATE_NAMES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}


def ratio(value: str) -> float:
    """The number that `swa_full_tokens_ratio` is. Raises UsageError unless it is more than 0 and at most 1."""
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise UsageError(f"swa_full_tokens_ratio is {value[:24]!r}; it is more than 0 and at most 1, like 0.8")
    return number


def words(served: Served) -> list[str]:
    """The command, up to SGLang's own settings: pools of the plan's size, not of the memory that there is."""
    settings, k = served.settings, served.k
    if k not in NAMES and k != served.model_dtype:
        raise ConfigError(f"SGLang can't be told of a {k} cache; it has bf16, fp8, mxfp8 or the model's own", "k_dtype")
    in_replica = -(-settings.batch // settings.dp)
    said = ["python", "-m", "sglang.launch_server", "--model-path", served.model]
    said += ["--context-length", f"{settings.main}", "--max-running-requests", f"{in_replica}"]
    said += ["--kv-cache-dtype", "auto" if k == served.model_dtype else NAMES[k]]
    for flag, name in RANKS:
        ranks = getattr(settings, name)
        said += [f"--{flag}-size", f"{ranks}"] if ranks > 1 else []
    said += ["--ep-size", f"{settings.tp}"] if settings.ep else []
    if settings.state_dtype is not None:
        if settings.state_dtype not in STATE_NAMES:
            raise ConfigError(f"SGLang keeps no states in {settings.state_dtype}", "state_dtype")
        said += ["--mamba-ssm-dtype", STATE_NAMES[settings.state_dtype]]
    return said + pools(served, in_replica)


def pools(served: Served, in_replica: int) -> list[str]:
    """The sizes of the pools that `in_replica` sequences need."""
    settings, options = served.settings, served.settings.options
    if served.roles & set(STATE_ROLES):
        slots = 1 if options.get("disable_radix_cache") else SLOTS[options.get("mamba_radix_cache_strategy") or USUAL]
        states = options.get("max_mamba_cache_size") or in_replica * slots
        said = ["--max-mamba-cache-size", f"{states}"]
    else:
        said = []
    page = options.get("page_size") or (INDEXED_PAGE if "index" in served.roles else PLAIN_PAGE)
    shared = settings.prefix_shared // page * page
    tokens = shared + in_replica * (up(settings.main, page) - shared)
    return [*said, "--max-total-tokens", f"{tokens}"]
