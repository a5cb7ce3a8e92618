"""What -m and --config take, and the models that kv-budget knows by name"""

from glasscli.budget.model_facts import MODELS
from glasscli.budget.models import AS_OF
from glasscli.cli.help.parts import Heading, Part, Prose, Sample, table
from glasscli.locate.hub_name import PREFIX
from glasscli.locate.shipped import SHIPPED

FORMS = (
    ("path/to/folder", "A folder with config.json, tokenizer.json and weights in .safetensors."),
    ("path/to/FILE.gguf", "One GGUF file."),
    (SHIPPED, "The model that comes with glass, and the one that is used where none is named."),
    ("org/name", "A model in Hugging Face's cache, as other programs left it there. No network is used."),
    ("org/name/FILE.gguf", "One file of such a model."),
    (f"{PREFIX}org/name", "The same; what is missing is downloaded. Nothing else uses a network."),
)
SIZED = (
    ("config.json", "A model's settings alone, or - for stdin: enough to size a cache."),
    ("NAME", "One of the names below, as people write them: Meta-Llama-3.1-8B-Instruct is llama-3.1-8b."),
)


def parts() -> list[Part]:
    """How a model is called, then the names."""
    kinds: dict[str, list[str]] = {}
    for model in MODELS:
        kinds.setdefault(model.kind, []).append(model.name)
    return [
        Heading("Every command"),
        Prose("In this order; a path that exists comes first."),
        table(FORMS),
        Heading("kv-budget also takes"),
        table(SIZED),
        Heading(f"The {len(MODELS)} names, by how heads share keys (as of {AS_OF})"),
        table((kind, ", ".join(names)) for kind, names in kinds.items()),
        Heading("Examples"),
        Sample(["glass info -m path/to/llama", "glass kv-budget -m qwen3-32b --ctx 32k", "glass kv-budget --list"]),
    ]
