"""What a page tells of a run besides its attention: what each layer would say after each token, and heads' roles.

A dump holds the residual stream and no model; here the stream is read with the model, as `lens` reads it, once for
all rows, so that a file can show it without a model.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from glasscli.arrays import Array
from glasscli.errors import CheckpointError
from glasscli.inspect.dump import Dump, SizeError
from glasscli.inspect.head_roles import head_census
from glasscli.inspect.predictions import Guess, guesses_of_rows, log_softmax, ranks_of
from glasscli.inspect.probes import PROBE_DRAWS, PROBE_TOKENS

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

N_TOP = 6
MAX_LOGITS = 100_000_000  # of all places and rows together: a second or two
MAX_ROWS = 1_024
MAX_PROBED = 10**12  # parameters × tokens of the probes: about half a minute


@dataclass(frozen=True)
class Said:
    """The stream at one place, row by row: its length, and what the model would say if it stopped there.

    Attributes:
        layer: None for the embedding.
        place: "embedding", "resid_mid" (after attention) or "resid_post" (after the MLP).
        norms: length of each row's vector.
        top: each row's likeliest tokens.
    """

    layer: int | None
    place: str
    norms: tuple[float, ...]
    top: tuple[tuple[Guess, ...], ...]


@dataclass(frozen=True)
class Reading:
    """What was read off the last rows of a dump.

    Attributes:
        start: position of the first row that was read.
        places: in the order of computing; those of traced layers.
        next: each row's p and rank of the token that came next, as far as it is known; nothing where the last layer
            was not traced.
        roles: what heads are called, by (layer, head), see `head_roles`; None where nobody looked.
    """

    start: int
    places: tuple[Said, ...]
    next: tuple[tuple[float, int], ...] = ()
    roles: Mapping[tuple[int, int], str] | None = None

    @property
    def n_rows(self) -> int:
        """How many rows were read."""
        return len(self.places[0].norms)


def with_reading(loaded: "LoadedModel", dump: Dump, n_top: int = N_TOP) -> Dump:
    """The dump, with what each of its layers would say after each of its last rows, and what its heads are called.

    Rows are as many as make 100 million logits, at most 1,024. Heads of a large model are not probed.

    Raises:
        CheckpointError: a prediction is not finite.
    """
    places = list(_streams(dump))
    n_rows = min(dump.n_queries, MAX_ROWS, max(1, MAX_LOGITS // (len(places) * loaded.config.vocab_size)))
    said: list[Said] = []
    follows: tuple[tuple[float, int], ...] = ()
    for layer, place, x_TD in places:
        x_TD = x_TD[-n_rows:]
        logits_TV = loaded.model.logits(x_TD)
        logprobs_TV = log_softmax(logits_TV)
        norms = tuple(np.linalg.norm(x_TD.astype(np.float64), axis=-1).tolist())
        said.append(Said(layer, place, norms, tuple(guesses_of_rows(loaded, logprobs_TV, n_top))))
        if (layer, place) == (loaded.config.n_layers - 1, "resid_post"):
            follows = _next(dump, n_rows, logits_TV, logprobs_TV)
    reading = Reading(dump.start + dump.n_queries - n_rows, tuple(said), follows, _roles(loaded, dump))
    return replace(dump, reading=reading)


def _streams(dump: Dump) -> Iterator[tuple[int | None, str, Array]]:
    for trace in dump.layers:
        if trace.layer == 0:
            yield None, "embedding", trace.x_TD
        yield trace.layer, "resid_mid", trace.resid_mid_TD
        yield trace.layer, "resid_post", trace.resid_post_TD


def _next(dump: Dump, n_rows: int, logits_TV: Array, logprobs_TV: Array) -> tuple[tuple[float, int], ...]:
    """p and rank of what came after each row: what its step chose, or the text's next token."""
    after = dump.chosen or dump.tokens[dump.start + 1 :]
    ids = [token.id for token in after[dump.n_queries - n_rows : dump.n_queries]]
    p = np.exp(logprobs_TV[range(len(ids)), ids])
    return tuple(zip(p.tolist(), ranks_of(logits_TV[: len(ids)], ids), strict=True))


def _roles(loaded: "LoadedModel", dump: Dump) -> dict[tuple[int, int], str] | None:
    if loaded.config.n_parameters * PROBE_DRAWS * 2 * PROBE_TOKENS > MAX_PROBED:
        return None
    try:
        census = head_census(loaded, dump.token_ids)
    except (SizeError, CheckpointError):  # a page can do without
        return None
    return {(report.layer, report.text.head or 0): report.role for report in census.reports if report.role}
