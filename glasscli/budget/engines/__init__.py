"""The engines there are, each a module (or a small package) here: a new one is such a module and a name in the list."""

from inspect import get_annotations

from glasscli.budget.engines.engine import Engine, Server
from glasscli.budget.engines.llama_cpp import LlamaCpp
from glasscli.budget.engines.logical import Logical
from glasscli.budget.engines.mlx import Mlx
from glasscli.budget.engines.ollama import Ollama
from glasscli.budget.engines.sglang import Sglang
from glasscli.budget.engines.tensorrt_llm import TensorRtLlm
from glasscli.budget.engines.transformers import Transformers
from glasscli.budget.engines.vllm import Vllm
from glasscli.errors import UsageError
from glasscli.likeness import did_you_mean

ENGINES: dict[str, type[Engine]] = {}  # by name, in the order that help and messages list them


def register(engine: type[Engine]) -> None:
    """Offer `engine` everywhere. Raises TypeError for one that leaves something unsaid, or whose name is taken."""
    declared = {name for base in engine.__mro__ for name in get_annotations(base)}
    unsaid = {name for name in declared if not hasattr(engine, name)} | engine.__abstractmethods__
    if unsaid:
        raise TypeError(f"{engine.__name__} does not say its {', '.join(sorted(unsaid))}")
    if engine.name in ENGINES:
        raise TypeError(f"there is an engine called {engine.name} already")
    ENGINES[engine.name] = engine


def engine_named(name: str) -> type[Engine]:
    """The engine called `name`. Raises UsageError, which lists those there are."""
    if name not in ENGINES:
        hint = did_you_mean(name, ENGINES) or f"There are {', '.join(ENGINES)}."
        raise UsageError(f"there is no engine {name[:40]!r}. {hint}")
    return ENGINES[name]


def servers() -> dict[str, type[Server]]:
    """The engines whose command line a plan can be written as."""
    return {name: engine for name, engine in ENGINES.items() if issubclass(engine, Server)}


for each in (Logical, Transformers, Vllm, LlamaCpp, Sglang, TensorRtLlm, Mlx, Ollama):
    register(each)
