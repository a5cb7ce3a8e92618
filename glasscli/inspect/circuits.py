"""Which head feeds which: take one out, and see whose role in a later layer is gone.

A head that continues repeats must be told, at each place, which token stood before. If an earlier head tells it, then
without that head it no longer finds the place. What is compared is the role's score on the probes, not the text's next
token: it says what a head does, not what comes of it.

Source: Olsson et al. 2022, arXiv:2209.11895, section on K-composition; Elhage et al. 2021.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from glasscli.inspect.ablation import Part, remove
from glasscli.inspect.probes import PROBE_DRAWS, Probed, probe_heads, repeat_probes

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

ROLES = ("induct", "prev")  # names of measures


@dataclass(frozen=True)
class Feed:
    """What head `reader` loses in a role when head `writer`, in an earlier layer, is set to zero.

    Attributes:
        role: the measure: "induct" or "prev".
        before, after: the reader's mean score on the probes, with the writer and without.
    """

    writer: Part
    reader: Part
    role: str
    before: float
    after: float

    @property
    def change(self) -> float:
        """After − before: below 0 where the writer is needed."""
        return self.after - self.before


@dataclass(frozen=True)
class Feeds:
    """All pairs of heads in different layers, the largest change first."""

    pairs: tuple[Feed, ...]
    n_draws: int


def find_feeds(loaded: "LoadedModel", n_draws: int = PROBE_DRAWS) -> Feeds:
    """Take each head out in turn and measure the roles of all heads in later layers.

    Raises:
        UsageError, CheckpointError: as `probe_heads`.
    """
    config = loaded.config
    probes = repeat_probes(loaded, n_draws)
    whole = probe_heads(loaded, probes)
    heads = range(config.n_heads)
    pairs = []
    for writer in (Part(layer, head) for layer in range(config.n_layers - 1) for head in heads):
        without = probe_heads(loaded, probes, remove([writer]))
        for reader in (Part(layer, head) for layer in range(writer.layer + 1, config.n_layers) for head in heads):
            for role in ROLES:
                before, after = (_score(scores, reader, role) for scores in (whole, without))
                if before is not None and after is not None:
                    pairs.append(Feed(writer, reader, role, before, after))
    pairs.sort(key=lambda feed: (-abs(feed.change), feed.writer.label, feed.reader.label))
    return Feeds(tuple(pairs), len(probes))


def _score(scores: list[list[Probed]], part: Part, role: str) -> float | None:
    found: float | None = getattr(scores[part.layer][part.head or 0].mean, role)
    return found
