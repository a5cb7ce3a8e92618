"""Well-known models by name: exact, then as people type them, then a guess at what was meant."""

from glasscli.budget.model_facts import MODELS, Model
from glasscli.errors import UsageError
from glasscli.likeness import did_you_mean

AS_OF = "2026-11"
ENDINGS = ("-instruct", "-chat", "-it", "-base", "-hf", "-pt")


def find(name: str) -> Model:
    """The model called `name`: `llama-3.1-8b`, `Meta-Llama-3.1-8B-Instruct`, `google/gemma-3-27b-it` …

    Raises UsageError with the nearest names when nothing fits, and never picks one of several.
    """
    wanted = plain(name)
    for model in MODELS:
        if plain(model.name) == wanted:
            return model
    hint = did_you_mean(name.rsplit("/", 1)[-1], [model.name for model in MODELS], most=4)
    hint = hint or f"There are {len(MODELS)} names, gpt-2 to starcoder2-15b."
    raise UsageError(f"no model is called {name[:60]!r}. {hint}")


def plain(name: str) -> str:
    """`name` without the publisher, case, punctuation and the endings that don't change the cache."""
    text = name.rsplit("/", 1)[-1].strip().lower().replace("_", "-").replace(" ", "-")
    for ending in ENDINGS:
        text = text.removesuffix(ending)
    text = text.removeprefix("meta-")
    return "".join(c for c in text if c.isalnum())
