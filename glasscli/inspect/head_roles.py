"""All heads of a model side by side: what each does on a text and on the probes, and what it is called for that."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glasscli.generation.prompts import read_prompt
from glasscli.inspect.measures import HeadMeasures, uniform_measures
from glasscli.inspect.probes import Probed, measure_layers, probe_heads, probe_uniform, repeat_probes

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

# Induction and duplicate, judged on the probes: a head is called so when it surely puts this many times as much
# weight there as a head that ignores content. A share is not asked for: such a head rests on the first token
# until there is something to copy.
TIMES = 3.0
# Previous, self and sink, judged on the text: of the way from a head that ignores content to one that looks nowhere
# else, it must have gone this part. Looking at content no more than chance does counts 0 whatever the text's length.
LIFT = 0.5


@dataclass(frozen=True)
class HeadReport:
    """One head: its measures on the text and on the probes, and what it is called for them, if anything."""

    layer: int
    text: HeadMeasures
    probed: Probed
    role: str | None

    @property
    def probe(self) -> HeadMeasures:
        """The means over the probes."""
        return self.probed.mean


@dataclass(frozen=True)
class Census:
    """All heads, those that continue repeats best first, and the baseline on text and probes.

    `probe_ids` has a row for each draw.
    """

    reports: tuple[HeadReport, ...]
    uniform_text: HeadMeasures
    uniform_probe: HeadMeasures
    probe_ids: tuple[tuple[int, ...], ...]


def head_census(loaded: "LoadedModel", prompt: str | Sequence[int]) -> Census:
    """Measure every head of every layer on `prompt` and on the probes.

    Raises:
        UsageError, CheckpointError: as `dump_attention`.
    """
    ids = read_prompt(loaded, prompt).token_ids
    probes = repeat_probes(loaded)
    text, uniform_text = measure_layers(loaded, ids), uniform_measures(0, len(ids), ids)
    probed, uniform_probe = probe_heads(loaded, probes), probe_uniform(probes)
    reports = [
        HeadReport(layer, on_text, on_probe, role_of(on_text, on_probe, uniform_text, uniform_probe.mean))
        for layer, heads in enumerate(zip(text, probed, strict=True))
        for on_text, on_probe in zip(*heads, strict=True)
    ]
    reports.sort(key=lambda report: (-(report.probe.induct or 0.0), report.layer, report.text.head or 0))
    return Census(tuple(reports), uniform_text, uniform_probe.mean, tuple(map(tuple, probes)))


def role_of(text: HeadMeasures, probed: Probed, uniform_text: HeadMeasures, uniform_probe: HeadMeasures) -> str | None:
    """What a head is called for its measures: the first of induction, duplicate, previous, self, sink that holds.

    Induction and duplicate are judged on the probes, the others on the text.
    """
    on_probes = (
        ("induction", probed.surely(probed.mean.induct, probed.induct_sd), uniform_probe.induct),
        ("duplicate", probed.surely(probed.mean.dup, probed.dup_sd), uniform_probe.dup),
    )
    for name, least, base in on_probes:
        if least is not None and base is not None and least > TIMES * base:
            return name
    return text_role(text, uniform_text)


def text_role(text: HeadMeasures, uniform_text: HeadMeasures) -> str | None:
    """The first of previous, self, sink that holds on a text. Without probes there is no more to say."""
    on_text = (
        ("previous", text.prev, uniform_text.prev),
        ("self", text.self_weight, uniform_text.self_weight),
        ("sink", text.sink, uniform_text.sink),
    )
    for name, value, base in on_text:
        if value is not None and base is not None and lift(value, base) >= LIFT:
            return name
    return None


def lift(share: float, base: float) -> float:
    """How far a share of weight is on the way from chance (`base`) to all: 0 at chance, 1 at all."""
    return (share - base) / (1 - base) if base < 1 else 0.0
