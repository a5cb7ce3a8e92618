"""The steps of a layer and the places of a run, by the names that --step, --rows and files use"""

from collections.abc import Iterable

from glasscli.cli.help.parts import Heading, Part, Prose, Sample, table
from glasscli.inspect.step_info import StepInfo
from glasscli.inspect.steps import STEPS
from glasscli.inspect.stream_steps import AFTER, BEFORE, OUTSIDE
from glasscli.model.places import LAYER_PLACES, MODEL_PLACES

# What stands in formulas and sentences for a model's own numbers.
LETTERS = {
    "E": "E", "half": "E/2", "H": "H", "K": "K", "D": "D", "F": "F", "row": "2·K·E", "group": "H/K share one",
    "bias": "",
}  # fmt: skip


def parts() -> list[Part]:
    """A table each for attention, what stands around it, and the model."""
    return [
        Prose(
            "glass dump-attn --step NAME prints the numbers of one; --explain tells more of each, with a model's own "
            "sizes. Some are steps of some models only. E is the width of a head, H how many query heads and K how "
            "many key/value heads there are, D the width of the stream, F that of the MLP."
        ),
        Heading("Attention, in the order of computing"),
        table(_rows(STEPS.values())),
        Heading("Around it, in every layer"),
        table(_rows([*BEFORE.values(), *AFTER.values()])),
        Heading("Of the model"),
        table(_rows(OUTSIDE.values())),
        Heading("Places, in the order of a run"),
        Prose("Where a trace may look and an edit may change a number, by the names that the library has for them."),
        table([("in a layer", ", ".join(LAYER_PLACES)), ("of the model", ", ".join(MODEL_PLACES))]),
        Heading("Examples"),
        Sample(["glass dump-attn --layer 2 --step softmax", "glass dump-attn --explain"]),
    ]


def _rows(steps: Iterable[StepInfo]) -> Iterable[tuple[str, str]]:
    for step in steps:
        first = step.explanation.split(". ")[0].rstrip(".") + "."
        yield step.name, f"{step.formula.format(**LETTERS)}: {first.format(**LETTERS)}"
