"""A score for machines: one JSON document, or a CSV table with a line a token."""

import csv
import io
import math
from typing import Any

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.commands.generate.json_view import model_fields
from glasscli.cli.commands.score.options import Options
from glasscli.cli.console import write_bytes
from glasscli.cli.guesses import guess_fields, token_fields
from glasscli.csv_cell import cell
from glasscli.inspect.scoring import ScoredToken, TextScore

COLUMNS = ("text", "position", "window", "id", "token", "bytes", "p", "logprob", "bits", "rank")


def document(loaded: LoadedModel, score: TextScore, source: str, options: Options) -> dict[str, Any]:
    """All of a score. `text` of a token is null where it is no whole character by itself; `bytes` is hexadecimal."""
    return {
        "schema": "glass.score/1",
        "model": model_fields(loaded),
        "source": source or None,
        "n_texts": score.n_texts,
        "context": score.context,
        "stride": score.stride,
        "n_tokens": len(score.tokens),
        "n_bytes": score.n_bytes,
        "nats": score.nats,
        "nats_per_token": score.nats_per_token,
        "perplexity": score.perplexity if math.isfinite(score.perplexity) else None,
        "bits_per_byte": score.bits_per_byte,
        "top1_share": score.top1_share,
        "opening": [token_fields(token) for token in score.opening],
        "tokens": [scored_fields(token, options.n_top) for token in score.tokens],
    }


def scored_fields(scored: ScoredToken, n_top: int) -> dict[str, Any]:
    """A scored token; `text_index` says which story it is of."""
    fields = {
        "text_index": scored.text,
        "position": scored.position,
        "window": scored.window,
        **token_fields(scored.token),
        "logprob": scored.logprob,
        "bits": scored.bits,
        "rank": scored.rank,
    }
    if n_top:
        fields["top"] = [guess_fields(guess) for guess in scored.top]
    return fields


def write_csv(score: TextScore, n_top: int) -> None:
    """A line a token on stdout; the likeliest tokens, where they are told, in columns behind."""
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow((*COLUMNS, *(name for i in range(1, n_top + 1) for name in (f"top{i}", f"top{i}_p"))))
    for scored in score.tokens:
        others = [x for guess in scored.top for x in (cell(guess.token.label), f"{guess.p:.9g}")]
        token, where = scored.token, (scored.text, scored.position, scored.window)
        figures = (f"{scored.p:.9g}", f"{scored.logprob:.9g}", f"{scored.bits:.9g}", scored.rank)
        writer.writerow((*where, token.id, cell(token.label), token.raw.hex(), *figures, *others))
    write_bytes(table.getvalue().encode("utf-8", "surrogatepass"))
