"""Which head feeds which: take one out, and see whose role in a later layer is gone.

A head that continues repeats must be told, at each place, which token stood before. If an earlier head tells it, then
without that head it no longer finds the place. What is compared is the role's score on the probes, not the text's next
token: it says what a head does, not what comes of it.

Source: Olsson et al. 2022, arXiv:2209.11895, section on K-composition; Elhage et al. 2021.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.errors import CheckpointError, UsageError
from glasscli.inspect.ablation import Part
from glasscli.inspect.measures import repeat_masks
from glasscli.inspect.probes import PROBE_DRAWS, repeat_probes
from glasscli.inspect.removed import without
from glasscli.inspect.runs import watch
from glasscli.progress import Progress, told

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

ROLES = ("induct", "dup", "prev")  # names of measures


@dataclass(frozen=True)
class Feed:
    """What head `reader` loses in a role when head `writer`, in an earlier layer, is set to zero.

    Attributes:
        role: the measure: "induct", "dup" or "prev".
        before, after: the reader's mean score on the probes, with the writer and without.
        before_sd, after_sd, change_sd: standard deviations over the probes, the last of after − before on each.
    """

    writer: Part
    reader: Part
    role: str
    before: float
    after: float
    before_sd: float
    after_sd: float
    change_sd: float

    @property
    def change(self) -> float:
        """After − before: below 0 where the writer is needed."""
        return self.after - self.before


@dataclass(frozen=True)
class Feeds:
    """All pairs of heads in different layers, the largest change first."""

    pairs: tuple[Feed, ...]
    n_draws: int


def find_feeds(loaded: "LoadedModel", n_draws: int = PROBE_DRAWS, progress: Progress | None = None) -> Feeds:
    """Take each head out in turn and measure the roles of all heads in later layers.

    Args:
        progress: hears how many are done.

    Raises:
        UsageError, CheckpointError: as `role_scores`.
    """
    config = loaded.config
    probes = repeat_probes(loaded, n_draws)
    whole = role_scores(loaded, probes)
    pairs: list[Feed] = []
    writers = [Part(layer, head) for layer in range(config.n_layers - 1) for head in range(config.n_heads)]
    for writer in told(writers, "heads taken out", progress):
        less = role_scores(without(loaded, [writer]), probes)
        for layer in range(writer.layer + 1, config.n_layers):
            for head in range(config.n_heads):
                scores = ((role, whole[role][layer, head], less[role][layer, head]) for role in ROLES)
                pairs += [_feed(writer, Part(layer, head), *each) for each in scores]
    pairs.sort(key=lambda feed: (-abs(feed.change), feed.writer.label, feed.reader.label))
    return Feeds(tuple(pairs), len(probes))


def role_scores(loaded: "LoadedModel", probes: Sequence[Sequence[int]]) -> dict[str, Array]:
    """For each role the scores of all heads, [layer, head, probe]: the measures of `measures.measure_heads`.

    Args:
        probes: texts in which tokens come again.

    Raises:
        UsageError: no token comes again, or a probe is too long.
        CheckpointError: a number is not finite.
    """
    scores: dict[str, list[Array]] = {role: [] for role in ROLES}
    for ids in probes:
        kept = watch(loaded, ids, ("softmax",), last_only=True).kept
        pattern = np.stack([kept[layer, "softmax"] for layer in range(loaded.config.n_layers)]).astype(np.float64)
        if not np.isfinite(pattern).all():
            raise CheckpointError("a pattern holds NaN or infinity; the model's weights may be damaged")
        same, after = repeat_masks(ids, 0, len(ids))
        again = same.any(axis=-1)  # never the first row
        if not again.any():
            raise UsageError("no token comes twice in a probe: there is nothing to continue")
        scores["induct"].append((pattern * after)[..., again, :].sum(axis=-1).mean(axis=-1))
        scores["dup"].append((pattern * same)[..., again, :].sum(axis=-1).mean(axis=-1))
        scores["prev"].append(np.diagonal(pattern, -1, -2, -1).mean(axis=-1))
    return {role: np.stack(found, axis=-1) for role, found in scores.items()}


def _feed(writer: Part, reader: Part, role: str, before: Array, after: Array) -> Feed:
    spread = [float(x.std(ddof=1)) if len(x) > 1 else 0.0 for x in (before, after, after - before)]
    return Feed(writer, reader, role, float(before.mean()), float(after.mean()), *spread)
