"""Turns one of the printed sizes in tests/data/kv/engine_cases.json into a request, and its answer into the unit
and the digits that the source printed."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from glasscli.budget.fit import capacity, fit
from glasscli.budget.plan import Budget, plan
from glasscli.budget.request import Request
from glasscli.budget.sizer import Sizer
from glasscli.config.families import Layout, layout
from helpers.hand_layouts import request

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "K elements": 1000}
ENGINES = {"vLLM": "vllm", "llama.cpp": "llama.cpp", "llama.cpp (V3.2 run)": "llama.cpp"}  # all others: logical
SAME_NAME = ("n_seq_max", "n_ubatch", "swa_full", "kv_unified", "max_num_batched_tokens", "block_size", "pp")
# What a log's line covers, as the kinds of layer and the roles of tensors that it counts; absent: everything.
KINDS = {
    "non-SWA cache": ("full",),
    "non-SWA": ("full",),
    "SWA cache": ("sliding",),
    "SWA": ("sliding",),
    "KV": ("full",),
    "recurrent": ("deltanet", "mamba2", "mamba1", "kda", "conv"),
    "recurrent, 6 rs_seq inferred": ("deltanet",),
    "ssm_state, 48 slots (+1)": ("mamba2",),
    "decoder self": ("full",),
    "cross": ("cross",),
    "full pool, K only": ("full",),
    "SWA pool, K only": ("sliding",),
}
ROLES = {"K only": ("k",), "ssm_state": ("state",)}


def spelled_out(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config with its abridged fields written as the model's own config.json has them."""
    text = dict(config.get("text_config") or config)
    kinds = text.get("layer_types")
    if isinstance(kinds, Mapping):
        text["layer_types"] = [kind for kind, count in kinds.items() for _ in range(count)]
    if isinstance(kinds, str):
        sliding, repeats = (int(re.search(pattern, kinds)[1]) for pattern in (r"(\d+) sliding", r"x (\d+)"))
        text["layer_types"] = (["sliding_attention"] * sliding + ["full_attention"]) * repeats
    if isinstance(text.get("block_configs"), str):
        on, off = (int(count) for count in re.findall(r"on (\d+)", text["block_configs"]))
        attends = {"attention": {"n_heads_in_group": 16, "no_op": False, "replace_with_linear": False}}
        skips = {"attention": {"n_heads_in_group": None, "no_op": True, "replace_with_linear": False}}
        text["block_configs"] = [attends] * on + [skips] * off
    return text | {"text_config": None} if "text_config" in config else text


def dtypes(words: str) -> dict[str, str]:
    """`K q8_0 / V q4_0` or one name for both."""
    words = {"16 bit": "f16", "elements": "int8", "fp32": "f32"}.get(words, words)
    both = re.fullmatch(r"K (\S+) / V (\S+)", words)
    k, v = (both[1], both[2]) if both else (words, words)
    return {"k_dtype": k, "v_dtype": v}


def request_for(case: Mapping[str, Any], **changes: Any) -> Request:
    """The request that a case's settings describe; `changes` overrides what they leave unsaid."""
    settings = case["settings"]
    engine = ENGINES.get(settings["engine"], "logical")
    config = spelled_out(case["config"]) | changes.pop("config", {})
    held = changes.pop("layout", None) or layout(config, engine)
    asked: dict[str, Any] = dtypes(settings["dtype"]) | {"engine": engine, "tp": settings["tp"]}
    asked |= {name: settings[name] for name in SAME_NAME if name in settings}
    if settings["engine"] == "whisper.cpp":
        asked["block_size"] = 256
    if settings.get("part") == "cross":
        asked["encoder_tokens"] = settings["tokens"]
    if "rs_seq" in settings:
        asked["n_rs_seq"] = settings["rs_seq"]
    if settings.get("flash_attn") == 0:
        asked["kv_pad"] = 32
    asked |= {"tokens": settings.get("tokens", settings.get("max_model_len", 1)), "batch": settings["batch"]}
    return request(held, **(asked | changes))


def covered(budget: Budget, part: str) -> int:
    """Bytes of the kinds and roles that the printed line covers, all ranks together."""
    kinds = KINDS.get(part.removesuffix(", per rank"))
    roles = next((names for words, names in ROLES.items() if words in part), None)
    lines = [line for line in budget.lines if kinds is None or line.kind in kinds]
    return sum(size for line in lines for role, size in line.held if roles is None or role in roles)


def measured(case: Mapping[str, Any], **changes: Any) -> tuple[Fraction, Fraction]:
    """What glass says in the unit of the source, as the least and the most that its inputs allow."""
    settings, unit = case["settings"], case["expected"]["unit"]
    part = changes.pop("part", settings.get("part", ""))
    asked = request_for(case, **changes)
    if "budget_gib" in settings:
        budget = Fraction(str(settings["budget_gib"]))
        ends = (int((budget + Fraction(off, 200)) * 2**30) for off in (-1, 1))
        low, high = (in_budget(asked, room, unit) for room in ends)
        return low, high
    if "num_gpu_blocks" in settings:
        return (Fraction(settings["num_gpu_blocks"], capacity(asked, 0).blocks_per_request),) * 2
    if unit == "tokens/block":
        return (Fraction(Sizer(asked).engine.span),) * 2
    size = covered(plan(asked), part)
    if "per rank" in part + settings.get("scope", ""):
        size //= asked.tp
    return (Fraction(size, UNITS[unit]),) * 2


def in_budget(request: Request, room: int, unit: str) -> Fraction:
    """Blocks, tokens or concurrent requests that vLLM finds room for in `room` bytes."""
    if unit == "tokens":
        return Fraction(fit(request, room).max_tokens or 0)
    held = capacity(request, room)
    return held.concurrency if unit == "x" else Fraction(held.n_blocks)


def agrees(case: Mapping[str, Any], low: Fraction, high: Fraction) -> bool:
    """Whether the printed value lies in low…high, to the digits that were printed."""
    printed = Fraction(str(case["expected"]["value"]))
    digits = re.fullmatch(r"rounded to ([\d.]+)", case["how_exact"])
    half = Fraction(digits[1]) / 2 if digits else Fraction(0)
    return low - half <= printed <= high + half


def model(layers: tuple[Any, ...], **known: Any) -> Layout:
    """A layout put together by hand, for sources that give no config."""
    return Layout("", layers, **known)
