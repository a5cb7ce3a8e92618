"""Probes made to find induction heads, and what every head does on them.

An induction head continues what it has seen: after `A B … A` it looks at the `B`. In real text that is mixed
with meaning; in random tokens that come twice nothing else can be seen. One draw of random tokens proves little: on
some a head scores three times as much as on others. So there are many, and what counts is their mean and how far they
scatter. Each opens as a text of the model opens, with the mark that its tokenizer puts in front.

Source: Olsson et al. 2022, arXiv:2209.11895, section on the induction score.
"""

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasscli.errors import CheckpointError
from glasscli.inspect.dump import check_size, first_not_finite, trace_bytes
from glasscli.inspect.measures import HeadMeasures, measure_heads, uniform_measures
from glasscli.inspect.trace import Edit, Trace

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

PROBE_TOKENS = 24
PROBE_DRAWS = 32
PROBE_SEED = 0
AT_ONCE_BYTES = 256 * 1024**2  # of scores and patterns held by one run


@dataclass(frozen=True)
class Probed:
    """One head, or a head that ignores content, over all draws.

    Attributes:
        mean: of each measure; `strongest` is None.
        induct_sd, dup_sd: standard deviation over the draws; 0 for a single one.
    """

    mean: HeadMeasures
    induct_sd: float
    dup_sd: float
    n_draws: int

    def surely(self, mean: float | None, sd: float) -> float | None:
        """What a mean is at least, but for bad luck: two standard errors below it."""
        return None if mean is None else mean - 2 * sd / math.sqrt(self.n_draws)


def repeat_probes(loaded: "LoadedModel", n_draws: int = PROBE_DRAWS) -> list[list[int]]:
    """The probes: each 24 different random tokens, twice, behind the opening mark if there is one.

    Always the same for a model. Special tokens are left out.
    """
    left_out = loaded.tokenizer.special_ids | set(loaded.unused_ids)
    candidates = [token_id for token_id in range(loaded.config.vocab_size) if token_id not in left_out]
    mark = loaded.encode("")[:1]
    n_tokens = min(PROBE_TOKENS, len(candidates), (loaded.config.max_seq_len - len(mark)) // 2)
    draw = random.Random(PROBE_SEED)
    return [mark + draw.sample(candidates, n_tokens) * 2 for _ in range(n_draws)]


def probe_heads(loaded: "LoadedModel", probes: Sequence[Sequence[int]], edit: Edit | None = None) -> list[list[Probed]]:
    """Every head of every layer on the probes, by [layer][head].

    Raises:
        UsageError, CheckpointError: as `measure_layers`.
    """
    draws = [measure_layers(loaded, probe, edit) for probe in probes]
    layers = range(loaded.config.n_layers)
    return [[average([d[layer][head] for d in draws]) for head in range(loaded.config.n_heads)] for layer in layers]


def probe_uniform(probes: Sequence[Sequence[int]]) -> Probed:
    """The same for a head that ignores content."""
    return average([uniform_measures(0, len(probe), probe) for probe in probes])


def average(draws: Sequence[HeadMeasures]) -> Probed:
    """One head's measures over several draws. A measure that some draw could not tell is None."""

    def values(name: str) -> list[float]:
        found = [getattr(draw, name) for draw in draws]
        return [] if None in found else found

    def mean(name: str) -> float | None:
        return math.fsum(found) / len(found) if (found := values(name)) else None

    def deviation(name: str) -> float:
        return statistics.stdev(found) if len(found := values(name)) > 1 else 0.0

    means = HeadMeasures(
        head=draws[0].head,
        kv_head=draws[0].kv_head,
        entropy_bits=mean("entropy_bits"),
        entropy_share=mean("entropy_share"),
        sink=mean("sink"),
        prev=mean("prev"),
        self_weight=mean("self_weight"),
        dup=mean("dup"),
        induct=mean("induct"),
        reach=mean("reach"),
        strongest=None,
    )
    return Probed(means, deviation("induct"), deviation("dup"), len(draws))


def measure_layers(loaded: "LoadedModel", ids: Sequence[int], edit: Edit | None = None) -> list[list[HeadMeasures]]:
    """Measures of all heads, from one run, or from several where the traces of all layers would take too much.

    Raises:
        SizeError: a single layer would take more than 2 GiB.
        CheckpointError: a number is not finite.
    """
    config = loaded.config
    check_size(config, len(ids), len(ids), 1)
    at_once = max(1, AT_ONCE_BYTES // trace_bytes(config, len(ids), len(ids), 1))
    measured: list[list[HeadMeasures]] = []
    for first in range(0, config.n_layers, at_once):
        trace = Trace(range(first, min(first + at_once, config.n_layers)), edit=edit)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is named below
            loaded.model(ids, last_only=True, trace=trace)
        for layer, kept in sorted(trace.layers.items()):
            if name := first_not_finite(kept):
                raise CheckpointError(f"layer {layer}: {name} is the first step with NaN or infinity in it")
            measured.append(measure_heads(kept.pattern_HTS, 0, ids, config.n_kv_heads))
    return measured
