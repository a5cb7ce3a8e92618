"""The dtypes a config names: the model's own, and the cache's where quantisation touches it.

Only `kv_cache_scheme` and `kv_cache_quant_algo` change what the cache holds. Weight quantisation does not.
"""

from collections.abc import Mapping
from typing import Any

from glasscli.config.families.fields import Fields, shown

NAMES = {
    "float32": "f32", "float": "f32", "float16": "f16", "half": "f16", "bfloat16": "bf16", "float64": "f64",
}  # fmt: skip


def named(read: Fields, field: str) -> str:
    """The dtype that `field` names, in glass's spelling."""
    value = read.config[field]
    name = NAMES.get(value.removeprefix("torch.")) if isinstance(value, str) else None
    if name is None:
        read.refuse(field, f"is {shown(value)}: expected one of {', '.join(NAMES)}")
    return name


def model_dtype(*configs: Fields) -> str:
    """The dtype of the first config that has one; bfloat16, and a note, where none has."""
    for read in configs:
        for field in ("dtype", "torch_dtype"):
            value = read.config.get(field)
            if isinstance(value, Mapping):
                continue
            if isinstance(value, str) and value.removeprefix("torch.").startswith("float8"):
                read.note(f"{field} {value} is how weights are stored: the model runs in bfloat16")
                return "bf16"
            if value is not None and value != "auto":
                return named(read, field)
    configs[0].note("dtype is not given: bfloat16 is assumed")
    return "bf16"


def state_hint(read: Fields) -> str | None:
    """The dtype a config wants its recurrent states in; None where it says none. SGLang reads one of two fields."""
    fields = ("mamba_ssm_dtype",) if read.engine == "sglang" else ("mamba_ssm_cache_dtype", "mamba_ssm_dtype")
    return next((named(read, field) for field in fields if read.has(field)), None)


def state_dtype(read: Fields) -> str:
    """What a recurrent state is kept in: what the config says, else float32; transformers' classes don't ask."""
    return "f32" if read.engine == "transformers" else state_hint(read) or "f32"


def cache_dtype(*configs: Fields) -> str | None:
    """What the checkpoint's quantisation says the cache holds; None where it says nothing of the cache.

    It stands at the root or in the text part; compressed-tensors called it compression_config at first, and
    ModelOpt puts what matters one level deeper.
    """
    for config in configs:
        for name in ("quantization_config", "compression_config"):
            read = config.nested(name)
            found = _cache_dtype(read) or _cache_dtype(read.nested("quantization"))
            if found:
                return found
    return None


def _cache_dtype(read: Fields) -> str | None:
    algo = read.config.get("kv_cache_quant_algo")
    scheme = read.config.get("kv_cache_scheme")
    if scheme is not None:
        return _scheme(read, scheme)
    return None if algo is None else _algorithm(read, "kv_cache_quant_algo", algo)


def _algorithm(read: Fields, field: str, value: Any) -> str:
    known = {"FP8": "fp8", "INT8": "int8", "NVFP4": "nvfp4"}
    if not isinstance(value, str) or value.upper() not in known:
        read.refuse(field, f"is {shown(value)}: expected one of {', '.join(known)}")
    return known[value.upper()]


def _scheme(read: Fields, scheme: Any) -> str:
    """compressed-tensors' scheme: an object with num_bits and type; some producers write a bare word."""
    if not isinstance(scheme, Mapping):
        return _algorithm(read, "kv_cache_scheme", scheme)
    bits, kind = scheme.get("num_bits"), scheme.get("type")
    known = {(8, "float"): "fp8", (8, "int"): "int8", (4, "float"): "nvfp4"}
    if isinstance(bits, bool) or not isinstance(bits, int) or not isinstance(kind, str):
        read.refuse("kv_cache_scheme", "says no num_bits and type: expected both")
    if (bits, kind) not in known:
        read.refuse("kv_cache_scheme", f"is {bits}-bit {kind}: expected 8-bit float, 8-bit int or 4-bit float")
    return known[bits, kind]
