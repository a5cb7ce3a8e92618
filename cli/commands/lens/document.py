"""`glass lens --json`."""

from collections.abc import Sequence
from typing import Any

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.commands.generate.json_view import model_fields
from glasscli.cli.guesses import guess_fields, token_fields
from glasscli.inspect.attribution import Attribution
from glasscli.inspect.lens import Lens, LensRow


def document(loaded: LoadedModel, text: str, lenses: Sequence[Lens], found: Attribution | None) -> dict[str, Any]:
    """The lens after each token that was asked about, and who writes the watched token's logit."""
    return {
        "schema": "glass.lens/1",
        "model": model_fields(loaded),
        "prompt": text,
        "tokens": [token_fields(token) for token in lenses[0].tokens],
        "lenses": [{"position": lens.position, "rows": [row_fields(row) for row in lens.rows]} for lens in lenses],
        "attribution": None if found is None else attribution_fields(found),
    }


def row_fields(row: LensRow) -> dict[str, Any]:
    """The stream at one place. `layer` is null for the embedding; `watched` where no token was asked about."""
    watched = row.watched
    return {
        "layer": row.layer,
        "place": row.place,
        "norm": row.norm,
        "entropy_bits": row.entropy_bits,
        "top": [guess_fields(guess) for guess in row.top],
        "watched": None if watched is None else {**guess_fields(watched), "rank": row.rank},
    }


def attribution_fields(found: Attribution) -> dict[str, Any]:
    """What each part writes; `sum` is theirs, `logit` the run's own."""
    return {
        "position": found.position,
        "token": token_fields(found.token),
        "not": None if found.minus is None else token_fields(found.minus),
        "p": found.p,
        "p_not": found.p_minus,
        "parts": [
            {"part": part.label, "kind": part.kind, "layer": part.layer, "head": part.head, "logit": part.logit}
            for part in found.contributions
        ],
        "sum": found.total,
        "logit": found.logit,
        "gap": found.gap,
        "ok": found.ok,
        "softcap": found.cap,
    }
