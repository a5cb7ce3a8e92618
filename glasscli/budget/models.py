"""Well-known models by name: exact, then as people type them, then a guess at what was meant."""

from difflib import get_close_matches

from glasscli.budget.model_facts import MODELS, Model
from glasscli.errors import UsageError

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
    raise UsageError(f"no model is called {name[:60]!r}. {suggestion(wanted)}")


def plain(name: str) -> str:
    """`name` without the publisher, case, punctuation and the endings that don't change the cache."""
    text = name.rsplit("/", 1)[-1].strip().lower().replace("_", "-").replace(" ", "-")
    for ending in ENDINGS:
        text = text.removesuffix(ending)
    text = text.removeprefix("meta-")
    return "".join(c for c in text if c.isalnum())


def suggestion(wanted: str) -> str:
    """Which names were perhaps meant."""
    names = {plain(model.name): model.name for model in MODELS}
    starts = [own for short, own in names.items() if wanted and (short.startswith(wanted) or wanted in short)]
    near = [names[short] for short in get_close_matches(wanted, names, n=3, cutoff=0.6)]
    found = list(dict.fromkeys(starts[:4] + near))[:4]
    return (
        f"Did you mean {' or '.join(found)}?" if found else f"There are {len(MODELS)} names, gpt-2 to starcoder2-15b."
    )
