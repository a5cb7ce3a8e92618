"""Run a small Llama-style model in NumPy, see every number of it, and size any model's KV cache.

    from glasscli import generate, load_model

    loaded = load_model()
    for step in generate(loaded, "Once upon a time", max_new_tokens=40, seed=1):
        print(step.text, end="", flush=True)

Names are imported when first used, so that `import glasscli` costs nothing and sizing a cache needs no NumPy.
"""

from importlib import import_module

__version__ = "0.1.0"
TYPE_CHECKING = False  # true for type checkers, as typing's own is: that module takes a tenth of `glass --help`

if TYPE_CHECKING:
    from glasscli.budget.cache_size import cache_size
    from glasscli.cache.kv_cache import KVCache
    from glasscli.cache.layout import layout_of
    from glasscli.checkpoint.load import LoadedModel, load_model
    from glasscli.config.model_config import ModelConfig, load_config
    from glasscli.config.rotary import RopeScaling
    from glasscli.errors import CheckpointError, ConfigError, GlassError, OutputError, TokenizerError, UsageError
    from glasscli.export import export_dump
    from glasscli.generation.batch import generate_batch
    from glasscli.generation.chat import chat_ids, chat_prompt
    from glasscli.generation.continuation import Step
    from glasscli.generation.loop import generate
    from glasscli.generation.sampling import SamplingParams
    from glasscli.inspect.ablation import ablate_prompt, ablate_text
    from glasscli.inspect.attribution import attribute
    from glasscli.inspect.circuits import find_feeds
    from glasscli.inspect.comparison import compare
    from glasscli.inspect.dump import dump_attention, dump_decode
    from glasscli.inspect.gradients import loss_gradient
    from glasscli.inspect.lens import read_lens
    from glasscli.inspect.measures import measure_heads, value_weighted
    from glasscli.inspect.neurons import cell_terms
    from glasscli.inspect.patching import patch_parts, patch_stream
    from glasscli.inspect.reading import with_reading
    from glasscli.inspect.scoring import score_stories, score_text
    from glasscli.inspect.trace import LayerTrace, Trace
    from glasscli.model.attention import attend, attend_blocked, causal_mask
    from glasscli.model.llama import Llama
    from glasscli.tokenizer.tokenizer import Tokenizer

_HOMES = {
    "budget.cache_size": ["cache_size"],
    "cache.kv_cache": ["KVCache"],
    "cache.layout": ["layout_of"],
    "checkpoint.load": ["LoadedModel", "load_model"],
    "config.model_config": ["ModelConfig", "load_config"],
    "config.rotary": ["RopeScaling"],
    "errors": ["CheckpointError", "ConfigError", "GlassError", "OutputError", "TokenizerError", "UsageError"],
    "export": ["export_dump"],
    "generation.batch": ["generate_batch"],
    "generation.chat": ["chat_ids", "chat_prompt"],
    "generation.continuation": ["Step"],
    "generation.loop": ["generate"],
    "generation.sampling": ["SamplingParams"],
    "inspect.ablation": ["ablate_prompt", "ablate_text"],
    "inspect.attribution": ["attribute"],
    "inspect.circuits": ["find_feeds"],
    "inspect.comparison": ["compare"],
    "inspect.dump": ["dump_attention", "dump_decode"],
    "inspect.gradients": ["loss_gradient"],
    "inspect.lens": ["read_lens"],
    "inspect.measures": ["measure_heads", "value_weighted"],
    "inspect.neurons": ["cell_terms"],
    "inspect.patching": ["patch_parts", "patch_stream"],
    "inspect.reading": ["with_reading"],
    "inspect.scoring": ["score_stories", "score_text"],
    "inspect.trace": ["LayerTrace", "Trace"],
    "model.attention": ["attend", "attend_blocked", "causal_mask"],
    "model.llama": ["Llama"],
    "tokenizer.tokenizer": ["Tokenizer"],
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
    "ablate_prompt",
    "ablate_text",
    "attend",
    "attend_blocked",
    "attribute",
    "cache_size",
    "causal_mask",
    "cell_terms",
    "chat_ids",
    "chat_prompt",
    "compare",
    "dump_attention",
    "dump_decode",
    "export_dump",
    "find_feeds",
    "generate",
    "generate_batch",
    "layout_of",
    "load_config",
    "load_model",
    "loss_gradient",
    "measure_heads",
    "patch_parts",
    "patch_stream",
    "read_lens",
    "score_stories",
    "score_text",
    "value_weighted",
    "with_reading",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'glasscli' has no attribute {name!r}")
    value = getattr(import_module(f"glasscli.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
