"""Run a small Llama-style model in NumPy, see every number of it, and size any model's KV cache.

    from glasscli import generate, load_model

    loaded = load_model()
    for step in generate(loaded, "Once upon a time", max_new_tokens=40, seed=1):
        print(step.text, end="", flush=True)

Names are imported when first used, so that `import glasscli` costs nothing and sizing a cache needs no NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from glasscli.batch import generate_batch
    from glasscli.budget.cache_size import cache_size
    from glasscli.cache import KVCache
    from glasscli.config import ModelConfig, RopeScaling, load_config
    from glasscli.continuation import Step
    from glasscli.dump import dump_attention, dump_decode
    from glasscli.errors import CheckpointError, ConfigError, GlassError, OutputError, TokenizerError, UsageError
    from glasscli.export import export_dump
    from glasscli.generation import generate
    from glasscli.layout import layout_of
    from glasscli.load import LoadedModel, load_model
    from glasscli.measures import measure_heads
    from glasscli.model.attention import attend, attend_blocked, causal_mask
    from glasscli.model.llama import Llama
    from glasscli.sampling import SamplingParams
    from glasscli.tokenizer import Tokenizer
    from glasscli.trace import LayerTrace, Trace

_HOMES = {
    "batch": ["generate_batch"],
    "budget.cache_size": ["cache_size"],
    "cache": ["KVCache"],
    "config": ["ModelConfig", "RopeScaling", "load_config"],
    "dump": ["dump_attention", "dump_decode"],
    "errors": ["CheckpointError", "ConfigError", "GlassError", "OutputError", "TokenizerError", "UsageError"],
    "export": ["export_dump"],
    "continuation": ["Step"],
    "generation": ["generate"],
    "layout": ["layout_of"],
    "load": ["LoadedModel", "load_model"],
    "measures": ["measure_heads"],
    "model.attention": ["attend", "attend_blocked", "causal_mask"],
    "model.llama": ["Llama"],
    "sampling": ["SamplingParams"],
    "tokenizer": ["Tokenizer"],
    "trace": ["LayerTrace", "Trace"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CheckpointError",
    "ConfigError",
    "GlassError",
    "KVCache",
    "LayerTrace",
    "Llama",
    "LoadedModel",
    "ModelConfig",
    "OutputError",
    "RopeScaling",
    "SamplingParams",
    "Step",
    "Tokenizer",
    "TokenizerError",
    "Trace",
    "UsageError",
    "attend",
    "attend_blocked",
    "cache_size",
    "causal_mask",
    "dump_attention",
    "dump_decode",
    "export_dump",
    "generate",
    "generate_batch",
    "layout_of",
    "load_config",
    "load_model",
    "measure_heads",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'glasscli' has no attribute {name!r}")
    value = getattr(import_module(f"glasscli.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
