"""All heads of a model side by side: what each does on a text, and on a probe made to find induction heads.

An induction head continues what it has seen: after `A B … A` it looks at the `B`. In real text that is mixed
with meaning; in random tokens that come twice nothing else can be seen.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glasscli.inspect.dump import check_size, dump_attention, trace_bytes
from glasscli.inspect.measures import HeadMeasures

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

PROBE_TOKENS = 24
PROBE_SEED = 0
AT_ONCE_BYTES = 256 * 1024**2  # of scores and patterns held by one run
# A head is named for what it does when it puts this share of its weight there, and this many times as much as a
# head that ignores content.
ENOUGH = 0.3
TIMES = 3.0


@dataclass(frozen=True)
class HeadReport:
    """One head: its measures on the text and on the probe, and what it is called for them, if anything."""

    layer: int
    text: HeadMeasures
    probe: HeadMeasures
    role: str | None


@dataclass(frozen=True)
class Census:
    """All heads, those that continue repeats best first, and the baseline on both inputs."""

    reports: tuple[HeadReport, ...]
    uniform_text: HeadMeasures
    uniform_probe: HeadMeasures
    probe_ids: tuple[int, ...]


def head_census(loaded: "LoadedModel", prompt: str | Sequence[int]) -> Census:
    """Measure every head of every layer on `prompt` and on the probe.

    Raises:
        UsageError, CheckpointError: as `dump_attention`.
    """
    probe_ids = random_repeat(loaded)
    text, uniform_text = _by_layer(loaded, prompt)
    probe, uniform_probe = _by_layer(loaded, probe_ids)
    reports = [
        HeadReport(layer, on_text, on_probe, role_of(on_text, on_probe, uniform_text, uniform_probe))
        for layer, (text_heads, probe_heads) in enumerate(zip(text, probe, strict=True))
        for on_text, on_probe in zip(text_heads, probe_heads, strict=True)
    ]
    reports.sort(key=lambda report: (-(report.probe.induct or 0.0), report.layer, report.text.head or 0))
    return Census(tuple(reports), uniform_text, uniform_probe, tuple(probe_ids))


def random_repeat(loaded: "LoadedModel") -> list[int]:
    """The probe: 24 different random tokens, twice; always the same for a model. Special tokens are left out."""
    left_out = loaded.tokenizer.special_ids | set(loaded.unused_ids)
    candidates = [token_id for token_id in range(loaded.config.vocab_size) if token_id not in left_out]
    n_tokens = min(PROBE_TOKENS, len(candidates), loaded.config.max_seq_len // 2)
    return random.Random(PROBE_SEED).sample(candidates, n_tokens) * 2


def role_of(
    text: HeadMeasures, probe: HeadMeasures, uniform_text: HeadMeasures, uniform_probe: HeadMeasures
) -> str | None:
    """What a head is called for its measures: the first of induction, duplicate, previous, self, sink that holds.

    Induction and duplicate are judged on the probe, the others on the text.
    """
    tests = (
        ("induction", probe.induct, uniform_probe.induct),
        ("duplicate", probe.dup, uniform_probe.dup),
        ("previous", text.prev, uniform_text.prev),
        ("self", text.self_weight, uniform_text.self_weight),
        ("sink", text.sink, uniform_text.sink),
    )
    for name, value, base in tests:
        if value is not None and base is not None and value >= ENOUGH and value >= min(TIMES * base, 0.9):
            return name
    return None


def _by_layer(loaded: "LoadedModel", prompt: str | Sequence[int]) -> tuple[list[list[HeadMeasures]], HeadMeasures]:
    """Measures of all heads, from one run, or from several where the traces of all layers would take too much."""
    config = loaded.config
    ids = loaded.encode(prompt) if isinstance(prompt, str) else list(prompt)
    check_size(config, len(ids), len(ids), 1)
    at_once = max(1, AT_ONCE_BYTES // trace_bytes(config, len(ids), len(ids), 1))
    measured: list[list[HeadMeasures]] = []
    for first in range(0, config.n_layers, at_once):
        dump = dump_attention(loaded, ids, range(first, min(first + at_once, config.n_layers)))
        measured += [dump.measures(trace) for trace in dump.layers]
        uniform = dump.uniform()
    return measured, uniform
