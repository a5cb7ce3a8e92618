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
    from glasscli.cache import KVCache
    from glasscli.config import ModelConfig, RopeScaling, load_config
    from glasscli.continuation import Step
    from glasscli.errors import CheckpointError, ConfigError, GlassError, TokenizerError, UsageError
    from glasscli.generation import generate
    from glasscli.layout import layout_of
    from glasscli.load import LoadedModel, load_model
    from glasscli.model.attention import attend, attend_blocked, causal_mask
    from glasscli.model.llama import Llama
    from glasscli.sampling import SamplingParams
    from glasscli.tokenizer import Tokenizer
    from glasscli.trace import LayerTrace, Trace

_HOMES = {
    "cache": ["KVCache"],
    "config": ["ModelConfig", "RopeScaling", "load_config"],
    "errors": ["CheckpointError", "ConfigError", "GlassError", "TokenizerError", "UsageError"],
    "continuation": ["Step"],
    "generation": ["generate"],
    "layout": ["layout_of"],
    "load": ["LoadedModel", "load_model"],
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
    "RopeScaling",
    "SamplingParams",
    "Step",
    "Tokenizer",
    "TokenizerError",
    "Trace",
    "UsageError",
    "attend",
    "attend_blocked",
    "causal_mask",
    "generate",
    "layout_of",
    "load_config",
    "load_model",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'glasscli' has no attribute {name!r}")
    value = getattr(import_module(f"glasscli.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
